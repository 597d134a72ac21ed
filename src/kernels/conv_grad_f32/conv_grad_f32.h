/* conv_grad_f32: the gradient of a convolution over channels-last images by its weights.
 *
 *   dw[o][i][ky][kx] = sum over b, oy, ox of dy[b][oy][ox][o]
 *                          * x[b][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl][g*c/groups + i]
 *
 * with x = 0 outside the image, g the group of o. The images dy are where `y_*` say; channels of x
 * and dy are adjacent. dw is written wherever w_* say.
 *
 * The gradient of a product [m][k] x [k][n] by its right side is the problem with batch = h = oh =
 * kh = kw = 1 and w = ow = m.
 *
 * Error: as a sum of batch*oh*ow products in f32, in the order the row names.
 */
#ifndef HN_KERNELS_CONV_GRAD_F32_H
#define HN_KERNELS_CONV_GRAD_F32_H

#include "kernels/kernel.h"
#include "kernels/window.h"

typedef struct hn_conv_grad_f32 {
    HN_WINDOWS;
    int64_t w_o, w_i, w_y, w_x; /* strides of dw */
} hn_conv_grad_f32;

enum { HN_CONV_GRAD_X, HN_CONV_GRAD_DY, HN_CONV_GRAD_DW, HN_CONV_GRAD_OPERANDS_ };

extern const hn_family hn_conv_grad_f32_family;

#endif
