#include "kernels/recurrent_f32/recurrent_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/recurrent_f32/recurrent_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/recurrent_f32/recurrent_f32.def"
#undef HN_KERNEL
};

/* Not those of yh and yc: their strides are the same fields. */
static const hn_axes axes[] = {
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, steps), offsetof(hn_recurrent_f32, y_step)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, dirs), offsetof(hn_recurrent_f32, y_dir)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, batch), offsetof(hn_recurrent_f32, y_row)},
    {HN_RECURRENT_Y, 1, offsetof(hn_recurrent_f32, hidden), HN_ADJACENT},
};

const hn_family hn_recurrent_f32_family = {
    .name = "recurrent_f32",
    .help = "the recurrence of RNN, GRU and LSTM layers",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .weights = HN_RECURRENT_R,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .multiplies = true,
};
