#include "kernels/col2im_f32/col2im_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/col2im_f32/col2im_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/col2im_f32/col2im_f32.def"
#undef HN_KERNEL
};

const hn_family hn_col2im_f32_family = {
    .name = "col2im_f32",
    .help = "windows added up into planar images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};
