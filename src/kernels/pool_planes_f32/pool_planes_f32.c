#include "kernels/pool_planes_f32/pool_planes_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/pool_planes_f32/pool_planes_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/pool_planes_f32/pool_planes_f32.def"
#undef HN_KERNEL
};

const hn_family hn_pool_planes_f32_family = {
    .name = "pool_planes_f32",
    .help = "largest, mean or sum of windows of planar images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};
