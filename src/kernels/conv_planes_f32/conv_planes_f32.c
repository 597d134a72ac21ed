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
    return (hn_conv_planes_f32){.batch = p->batch,
                                .c = p->c,
                                .h = p->h,
                                .w = p->w,
                                .n = p->n,
                                .oh = p->oh,
                                .ow = p->ow,
                                .kh = p->kh,
                                .kw = p->kw,
                                .sh = p->sh,
                                .sw = p->sw,
                                .dh = p->dh,
                                .dw = p->dw,
                                .pt = p->pt,
                                .pl = p->pl,
                                .groups = p->groups,
                                .x_image = p->x_image,
                                .x_channel = p->x_channel,
                                .x_row = p->x_row,
                                .y_image = p->y_image,
                                .y_channel = y_channel,
                                .y_row = p->y_row,
                                .y_pixel = p->y_pixel,
                                .w_o = p->w_o,
                                .w_i = p->w_i,
                                .w_y = p->w_y,
                                .w_x = p->w_x,
                                .act = p->act};
}
