#include "kernels/resize_f64/resize_f64.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/resize_f64/resize_f64.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/resize_f64/resize_f64.def"
#undef HN_KERNEL
};

const hn_family hn_resize_f64_family = {
    .name = "resize_f64",
    .help = "images sampled anew: f64 and integers",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = hn_resize_axes,
    .n_axes = HN_RESIZE_PLACES,
};
