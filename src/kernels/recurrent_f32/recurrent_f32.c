#include "kernels/recurrent_f32/recurrent_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/recurrent_f32/recurrent_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/recurrent_f32/recurrent_f32.def"
#undef HN_KERNEL
};

const hn_family hn_recurrent_f32_family = {
    .name = "recurrent_f32",
    .help = "the recurrence of RNN, GRU and LSTM layers",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .weights = HN_RECURRENT_R,
};
