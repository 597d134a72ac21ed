#include "kernels/norm_f32/norm_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/norm_f32/norm_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/norm_f32/norm_f32.def"
#undef HN_KERNEL
};

const hn_family hn_norm_f32_family = {
    .name = "norm_f32",
    .help = "layer and RMS normalisation along adjacent elements, after a sum",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};
