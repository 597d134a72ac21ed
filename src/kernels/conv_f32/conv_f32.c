#include "kernels/conv_f32/conv_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/conv_f32/conv_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/conv_f32/conv_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_CONV_X, 4, offsetof(hn_conv_f32, batch), offsetof(hn_conv_f32, x_image)},
    {HN_CONV_R, 1, offsetof(hn_conv_f32, batch), offsetof(hn_conv_f32, r_image)},
    {HN_CONV_R, 2, offsetof(hn_conv_f32, oh), offsetof(hn_conv_f32, r_row)},
    {HN_CONV_R, 1, offsetof(hn_conv_f32, n), HN_ADJACENT},
    {HN_CONV_Y, 1, offsetof(hn_conv_f32, batch), offsetof(hn_conv_f32, y_image)},
    {HN_CONV_Y, 2, offsetof(hn_conv_f32, oh), offsetof(hn_conv_f32, y_row)},
    {HN_CONV_Y, 1, offsetof(hn_conv_f32, n), HN_ADJACENT},
};

const hn_family hn_conv_f32_family = {
    .name = "conv_f32",
    .help = "convolution over channels-last images; matrix product by a constant",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .weights = HN_CONV_W,
};

bool hn_conv_stored_f32(const hn_conv_f32 *p, const char **why) {
    if (p->x_type == HN_FLOAT_F32 && p->r_type == HN_FLOAT_F32 && p->y_type == HN_FLOAT_F32)
        return true;
    return *why = "operands of bf16", false;
}

hn_conv_f32 hn_conv_of_gemm(int64_t m, int64_t n, int64_t k) {
    return (hn_conv_f32){
        .batch = 1,
        .h = 1,
        .w = m,
        .c = k,
        .oh = 1,
        .ow = m,
        .n = n,
        .kh = 1,
        .kw = 1,
        .sh = 1,
        .sw = 1,
        .dh = 1,
        .dw = 1,
        .groups = 1,
        .x_image = m * k,
        .x_row = m * k,
        .x_pixel = k,
        .x_channel = 1,
        .y_image = m * n,
        .y_row = m * n,
        .y_pixel = n,
        .r_image = m * n,
        .r_row = m * n,
        .r_pixel = n,
        .w_o = 1,
        .w_i = n,
        .w_y = 1,
        .w_x = 1,
    };
}
