#include "kernels/reduce_f32/reduce_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/reduce_f32/reduce_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/reduce_f32/reduce_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_REDUCE_X, 2, offsetof(hn_reduce_f32, outer), offsetof(hn_reduce_f32, x_outer)},
    {HN_REDUCE_X, 1, offsetof(hn_reduce_f32, inner), HN_ADJACENT},
    {HN_REDUCE_Y, 1, offsetof(hn_reduce_f32, outer), offsetof(hn_reduce_f32, y_outer)},
    {HN_REDUCE_Y, 1, offsetof(hn_reduce_f32, inner), HN_ADJACENT},
};

const hn_family hn_reduce_f32_family = {
    .name = "reduce_f32",
    .help = "sums, means, extremes, products and logarithms of sums along an axis",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};
