/* conv_f32: convolution over channels-last images, and with it every product of an activation by a
 * constant matrix.
 *
 *   y[b][oy][ox][o] = act(bias[o] + r[b][oy][ox][o]
 *                         + sum over ky, kx, i of w[o][i][ky][kx]
 *                               * x[b][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl][g*c/groups + i])
 *
 * with x = 0 outside the image, g the group of o. A matrix product [m][k] x [k][n] is the problem
 * batch = h = oh = kh = kw = 1, w = ow = m, c = k, with the row pitch as x_pixel.
 *
 * Strides are in elements, so a problem may read a slice of channels or of pixels, and write one:
 * the pieces of a concatenation, or one phase of a transposed convolution. Channels are adjacent in
 * y and r (stride 1); x_channel is 1 but for images that come planar. x, y and r may have any
 * alignment of their type. y may be r itself (same place, same strides), and overlaps nothing else.
 *
 * x, r and y are each stored as f32 or bf16; bias and plain weights are f32. What becomes bf16 is
 * rounded to the nearest, to even in between, and NaN stays NaN.
 *
 * Error: as a sum of K products in f32, K = c/groups*kh*kw, in the order the row names; then
 * as y is rounded.
 */
#ifndef HN_KERNELS_CONV_F32_H
#define HN_KERNELS_CONV_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"
#include "kernels/window.h"

typedef struct hn_conv_f32 {
    HN_WINDOWS;
    int64_t w_o, w_i, w_y, w_x; /* strides of the plain weights */
    hn_float x_type, r_type, y_type;
    hn_float w_fits;  /* a type that holds every plain weight exactly, as far as is known */
    int64_t w_zeros;  /* plain weights that are 0, as far as is known */
    int32_t w_values; /* so many different numbers plain weights are at most; 0: not known */
    hn_act act;
} hn_conv_f32;

/* With up to so many pixels, products take most of their time to read weights. */
enum { HN_CONV_FEW_PIXELS = 8 };

/* Operands, in the order of hn_call.ptr. The weights are the constant operand: packed if the row
 * packs. bias and residual may be NULL. */
enum { HN_CONV_X, HN_CONV_W, HN_CONV_BIAS, HN_CONV_R, HN_CONV_Y, HN_CONV_OPERANDS_ };

extern const hn_family hn_conv_f32_family;

/* Whether x, r and y are all f32, which most rows want; else *why says so. */
bool hn_conv_stored_f32(const hn_conv_f32 *p, const char **why);

/* Outputs [first, end) of an axis whose windows reach the same taps [tap, tap_end) inside the
 * image. Where they all reach none, a tap that lies in the padding stands for them. */
typedef struct hn_conv_span {
    int64_t first, end, tap, tap_end;
} hn_conv_span;

/* How a window moves along an axis. */
typedef struct hn_conv_slide {
    int64_t in, out, taps, stride, dilation, pad;
} hn_conv_slide;

/* Cuts an axis into spans; returns how many there are, or 0: more than `most`. */
int hn_conv_spans(const hn_conv_slide *a, hn_conv_span *spans, int most);

/* The share of all taps that reach inside the image, 1 where few miss it: it is looked at for
 * dilated windows alone. */
double hn_conv_share_inside(const hn_conv_f32 *p);

/* A matrix product [m][k] x [k][n] with dense operands, as a problem of this family. */
hn_conv_f32 hn_conv_of_gemm(int64_t m, int64_t n, int64_t k);

#endif
