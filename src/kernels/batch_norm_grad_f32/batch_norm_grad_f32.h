/* batch_norm_grad_f32: the gradient of batch normalization, of pixels with adjacent channels.
 *
 *   r = 1 / sqrt(var + epsilon)        xhat = (x - mean) * r
 *   db = sum over pixels of dy         ds = sum over pixels of dy * xhat
 *   dx = scale * r * (dy - db / n - xhat * ds / n)
 *
 * with mean and var those of the n pixels. If there is a gate, dy counts only where the gate is
 * above 0 and, with a limit above 0, not at or above that: the gradient of what a Relu or a Clip
 * followed. dx, ds, db and the gate may be NULL; dx may be dy (same place, same stride).
 *
 * Error: that of sums of n numbers in f32, then of the operations above.
 */
#ifndef HN_KERNELS_BATCH_NORM_GRAD_F32_H
#define HN_KERNELS_BATCH_NORM_GRAD_F32_H

#include "kernels/kernel.h"

typedef struct hn_batch_norm_grad_f32 {
    int64_t n, c;                                    /* pixels, channels */
    int64_t x_pixel, dy_pixel, gate_pixel, dx_pixel; /* strides in elements */
    float epsilon, limit;
} hn_batch_norm_grad_f32;

enum {
    HN_BNG_DY,
    HN_BNG_X,
    HN_BNG_SCALE,
    HN_BNG_MEAN,
    HN_BNG_VAR,
    HN_BNG_GATE,
    HN_BNG_DX,
    HN_BNG_DS,
    HN_BNG_DB,
    HN_BNG_OPERANDS_
};

extern const hn_family hn_batch_norm_grad_f32_family;

#endif
