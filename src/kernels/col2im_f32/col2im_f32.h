/* col2im_f32: adds up the windows of planar images.
 *
 *   y[plane][iy][ix] = act(bias[plane % channels] + the sum of x[plane][ky*kw + kx][oy*ow + ox]
 *                      over all with oy*sh + ky*dh - pt = iy and ox*sw + kx*dw - pl = ix)
 *
 * in the order of ky, kx. x and y are dense and do not overlap.
 *
 * Error: of a sum of at most kh*kw numbers in f32.
 */
#ifndef HN_KERNELS_COL2IM_F32_H
#define HN_KERNELS_COL2IM_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"

typedef struct hn_col2im_f32 {
    int64_t planes, h, w; /* of y */
    int64_t oh, ow;       /* windows */
    int64_t kh, kw, sh, sw, dh, dw, pt, pl;
    int64_t channels; /* planes of an image, where there is a bias */
    hn_act act;
} hn_col2im_f32;

/* Operands. bias may be NULL. */
enum { HN_COL2IM_X, HN_COL2IM_Y, HN_COL2IM_BIAS, HN_COL2IM_OPERANDS_ };

extern const hn_family hn_col2im_f32_family;

#endif
