/* norm_grad_f32: the gradient of layer and RMS normalization along rows of adjacent elements.
 *
 *   r = 1 / sqrt(mean of (x - m)^2 + epsilon)      m: the mean of the row, 0 of rms
 *   xhat = (x - m) * r        g = dy * scale
 *   dx = r * (g - mean of g - xhat * mean of g * xhat)      rms: without the mean of g
 *   ds = sum over rows of dy * xhat        db = sum over rows of dy
 *
 * dx, ds and db may be NULL. dx may be dy (same place, same stride).
 *
 * Error: that of sums of n, and of as many as there are rows, in f32.
 */
#ifndef HN_KERNELS_NORM_GRAD_F32_H
#define HN_KERNELS_NORM_GRAD_F32_H

#include "kernels/kernel.h"

typedef struct hn_norm_grad_f32 {
    int64_t rows, n;
    int64_t x_row, dy_row, dx_row; /* strides in elements */
    float epsilon;
    bool rms;
} hn_norm_grad_f32;

enum {
    HN_NORM_GRAD_DY,
    HN_NORM_GRAD_X,
    HN_NORM_GRAD_SCALE,
    HN_NORM_GRAD_DX,
    HN_NORM_GRAD_DS,
    HN_NORM_GRAD_DB,
    HN_NORM_GRAD_OPERANDS_
};

extern const hn_family hn_norm_grad_f32_family;

#endif
