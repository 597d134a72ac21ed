#include "kernels/grid_sample_f32/grid_sample_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/grid_sample_f32/grid_sample_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/grid_sample_f32/grid_sample_f32.def"
#undef HN_KERNEL
};

const hn_family hn_grid_sample_f32_family = {
    .name = "grid_sample_f32",
    .help = "images looked up at the positions of a grid",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};
