/* conv_planes_f32: conv_f32 over images that are planar, one plane per channel, on both sides.
 *
 *   y[b][o][oy][ox] = act(bias[o] + sum over i, ky, kx of w[o][i][ky][kx]
 *                             * x[b][g*c/groups + i][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl])
 *
 * with x = 0 outside the image, g the group of o. Columns of x are adjacent, other strides are in
 * floats: those of y may be apart too, as the outputs of one phase of a transposed convolution. y
 * overlaps nothing.
 *
 * Error: as a sum of K products in f32, K = c/groups*kh*kw, in the order i, ky, kx.
 */
#ifndef HN_KERNELS_CONV_PLANES_F32_H
#define HN_KERNELS_CONV_PLANES_F32_H

#include "kernels/conv_f32/conv_f32.h"

typedef struct hn_conv_planes_f32 {
    HN_WINDOWS; /* x_pixel is 1; r is not used */
    int64_t y_channel;
    int64_t w_o, w_i, w_y, w_x; /* strides of the plain weights */
    hn_act act;
} hn_conv_planes_f32;

/* The operands are those of conv_f32; there is no residual. */

extern const hn_family hn_conv_planes_f32_family;

/* A problem of conv_f32 whose x has adjacent columns, with channels of y that far apart. */
hn_conv_planes_f32 hn_conv_planes_of(const hn_conv_f32 *p, int64_t y_channel);

#endif
