#include "kernels/deform_f32/deform_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/deform_f32/deform_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/deform_f32/deform_f32.def"
#undef HN_KERNEL
};

const hn_family hn_deform_f32_family = {
    .name = "deform_f32",
    .help = "what the taps of a deformable convolution see",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};
