#include "kernels/conv_planes_f32/conv_planes_f32.h"

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/conv_planes_f32/conv_planes_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/conv_planes_f32/conv_planes_f32.def"
#undef HN_KERNEL
};

const hn_family hn_conv_planes_f32_family = {
    .name = "conv_planes_f32",
    .help = "convolution over planar images",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .weights = HN_CONV_W,
    .multiplies = true,
};

hn_conv_planes_f32 hn_conv_planes_of(const hn_conv_f32 *p, int64_t y_channel) {
    return (hn_conv_planes_f32){.windows = p->windows,
                                .y_channel = y_channel,
                                .w_o = p->w_o,
                                .w_i = p->w_i,
                                .w_y = p->w_y,
                                .w_x = p->w_x,
                                .act = p->act};
}
