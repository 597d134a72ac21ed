#include "kernels/roi_align_f32/roi_align_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/roi_align_f32/roi_align_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/roi_align_f32/roi_align_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_ROI_ALIGN_Y, 4, offsetof(hn_roi_align_f32, regions), offsetof(hn_roi_align_f32, y_region)},
};

const hn_family hn_roi_align_f32_family = {
    .name = "roi_align_f32",
    .help = "regions of images, averages or largest values over a grid of bins",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
};
