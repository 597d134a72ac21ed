#include "kernels/resize_f32/resize_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/resize_f32/resize_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/resize_f32/resize_f32.def"
#undef HN_KERNEL
};

const hn_axes hn_resize_axes[HN_RESIZE_PLACES] = {
    {HN_RESIZE_X, HN_RESIZE_AXES, offsetof(hn_resize_f32, images),
     offsetof(hn_resize_f32, x_image)},
    {HN_RESIZE_X, 2, offsetof(hn_resize_f32, h), offsetof(hn_resize_f32, x_row)},
    {HN_RESIZE_X, 1, offsetof(hn_resize_f32, c), HN_ADJACENT},
    {HN_RESIZE_Y, HN_RESIZE_AXES, offsetof(hn_resize_f32, images),
     offsetof(hn_resize_f32, y_image)},
    {HN_RESIZE_Y, 2, offsetof(hn_resize_f32, oh), offsetof(hn_resize_f32, y_row)},
    {HN_RESIZE_Y, 1, offsetof(hn_resize_f32, c), HN_ADJACENT},
};

const hn_family hn_resize_f32_family = {
    .name = "resize_f32",
    .help = "images sampled anew: nearest, linear, cubic",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = hn_resize_axes,
    .n_axes = HN_RESIZE_PLACES,
};
