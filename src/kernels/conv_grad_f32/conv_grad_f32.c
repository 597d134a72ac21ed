#include "kernels/conv_grad_f32/conv_grad_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/conv_grad_f32/conv_grad_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/conv_grad_f32/conv_grad_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_CONV_GRAD_X, 3, offsetof(hn_conv_grad_f32, batch), offsetof(hn_conv_grad_f32, x_image)},
    {HN_CONV_GRAD_X, 1, offsetof(hn_conv_grad_f32, c), HN_ADJACENT},
    {HN_CONV_GRAD_DY, 1, offsetof(hn_conv_grad_f32, batch), offsetof(hn_conv_grad_f32, y_image)},
    {HN_CONV_GRAD_DY, 2, offsetof(hn_conv_grad_f32, oh), offsetof(hn_conv_grad_f32, y_row)},
    {HN_CONV_GRAD_DY, 1, offsetof(hn_conv_grad_f32, n), HN_ADJACENT},
};

const hn_family hn_conv_grad_f32_family = {
    .name = "conv_grad_f32",
    .help = "gradient of convolutions and matrix products by their weights",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .multiplies = true,
};
