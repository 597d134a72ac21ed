#include "kernels/mean_planes_q8/mean_planes_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/mean_planes_q8/mean_planes_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/mean_planes_q8/mean_planes_q8.def"
#undef HN_KERNEL
};

const hn_family hn_mean_planes_q8_family = {
    .name = "mean_planes_q8",
    .help = "mean of each plane of 8-bit integers",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .integers = true,
};
