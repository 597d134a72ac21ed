#include "kernels/recurrent_q8/recurrent_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/recurrent_q8/recurrent_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/recurrent_q8/recurrent_q8.def"
#undef HN_KERNEL
};

/* Not those of yh and yc: their strides are the same fields. */
static const hn_axes axes[] = {
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, steps), offsetof(hn_recurrent_f32, y_step)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, dirs), offsetof(hn_recurrent_f32, y_dir)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, batch), offsetof(hn_recurrent_f32, y_row)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, hidden), HN_ADJACENT},
};

const hn_family hn_recurrent_q8_family = {
    .name = "recurrent_q8",
    .help = "the recurrence of RNN, GRU and LSTM layers with 8-bit weights",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .weights = HN_RECURRENT_R,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .multiplies = true,
    .integers = true,
};
