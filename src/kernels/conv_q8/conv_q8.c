#include "kernels/conv_q8/conv_q8.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/conv_q8/conv_q8.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/conv_q8/conv_q8.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_CONV_Q8_X, 1, offsetof(hn_conv_q8, batch), offsetof(hn_conv_q8, x_image)},
    {HN_CONV_Q8_X, 2, offsetof(hn_conv_q8, h), offsetof(hn_conv_q8, x_row)},
    {HN_CONV_Q8_X, 1, offsetof(hn_conv_q8, c), HN_ADJACENT},
    {HN_CONV_Q8_R, 1, offsetof(hn_conv_q8, batch), offsetof(hn_conv_q8, r_image)},
    {HN_CONV_Q8_R, 2, offsetof(hn_conv_q8, oh), offsetof(hn_conv_q8, r_row)},
    {HN_CONV_Q8_R, 1, offsetof(hn_conv_q8, n), HN_ADJACENT},
    {HN_CONV_Q8_Y, 1, offsetof(hn_conv_q8, batch), offsetof(hn_conv_q8, y_image)},
    {HN_CONV_Q8_Y, 2, offsetof(hn_conv_q8, oh), offsetof(hn_conv_q8, y_row)},
    {HN_CONV_Q8_Y, 1, offsetof(hn_conv_q8, n), HN_ADJACENT},
};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_conv_q8 *p = problem;
    return operand == HN_CONV_Q8_R && p->r_type == p->y &&
           hn_axes_agree(3, (int64_t[]){p->batch, p->oh, p->ow},
                         (int64_t[]){p->r_image, p->r_row, p->r_pixel},
                         (int64_t[]){p->y_image, p->y_row, p->y_pixel});
}

static int64_t *weights_zeros(void *problem, int64_t *n, int *zero) {
    hn_conv_q8 *p = problem;
    if (p->groups != 1 || p->w_zero_points) return NULL;
    *n = p->kh * p->kw * p->c * p->n;
    *zero = p->w_type == HN_Q8_U8 ? 128 : 0;
    return &p->w_zeros;
}

static size_t bytes(const void *problem, int operand) {
    const hn_conv_q8 *p = problem;
    hn_q8_type type = operand == HN_CONV_Q8_X ? p->x : operand == HN_CONV_Q8_R ? p->r_type : p->y;
    return type == HN_Q8_U8 || type == HN_Q8_S8 ? 1 : 4;
}

static const hn_images images = {HN_CONV_Q8_X, HN_CONV_Q8_R, HN_CONV_Q8_Y, bytes};

static bool end(void *problem, hn_epilogue *out) {
    hn_conv_q8 *p = problem;
    *out = (hn_epilogue){.act = &p->act,
                         .bias = HN_CONV_Q8_FBIAS,
                         .residual = HN_CONV_Q8_R,
                         .rank = 4,
                         .dims = {p->batch, p->oh, p->ow, p->n},
                         .strides = {p->y_image, p->y_row, p->y_pixel, 1},
                         .r_strides = &p->r_image,
                         .n_r = 3,
                         .bias_constant = true};
    return p->y == HN_Q8_F32;
}

const hn_family hn_conv_q8_family = {
    .name = "conv_q8",
    .help = "convolution of 8-bit integers over channels-last images; matrix product by a constant",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .weights = HN_CONV_Q8_W,
    .multiplies = true,
    .integers = true,
    .may_replace = may_replace,
    .result = HN_CONV_Q8_Y,
    .images = &images,
    .end = end,
    .weights_zeros = weights_zeros,
};

hn_conv_q8 hn_conv_q8_of_gemm(int64_t m, int64_t n, int64_t k) {
    return (hn_conv_q8){
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
