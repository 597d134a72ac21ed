#include "kernels/norm_f32/norm_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/norm_f32/norm_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/norm_f32/norm_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_NORM_X, 1, offsetof(hn_norm_f32, rows), offsetof(hn_norm_f32, x_row)},
    {HN_NORM_X, 1, offsetof(hn_norm_f32, n), HN_ADJACENT},
    {HN_NORM_R, 1, offsetof(hn_norm_f32, rows), offsetof(hn_norm_f32, r_row)},
    {HN_NORM_R, 1, offsetof(hn_norm_f32, n), HN_ADJACENT},
    {HN_NORM_Y, 1, offsetof(hn_norm_f32, rows), offsetof(hn_norm_f32, y_row)},
    {HN_NORM_Y, 1, offsetof(hn_norm_f32, n), HN_ADJACENT},
    {HN_NORM_SUM, 1, offsetof(hn_norm_f32, rows), offsetof(hn_norm_f32, sum_row)},
    {HN_NORM_SUM, 1, offsetof(hn_norm_f32, n), HN_ADJACENT},
};

const hn_family hn_norm_f32_family = {
    .name = "norm_f32",
    .help = "layer and RMS normalisation along adjacent elements, after a sum",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};
