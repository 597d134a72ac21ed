/* softmax_f32: softmax and its logarithm along adjacent elements.
 *
 *   v[i] = scale * x[i] + mask[i]        y[i] = exp(v[i]) / sum of exp(v)
 *                                        or, with log, v[i] - log(sum of exp(v))
 *
 * for every row of n elements; rows form a space of up to four axes. Strides are in floats;
 * elements of a row are adjacent. A mask broadcasts along an axis of rows by stride 0. y may be x
 * (same place, same strides), and overlaps nothing else. A row of which every v is -inf, or one
 * +inf, gives NaN, as the formula does.
 *
 * Error: 2e-6 of an element, and 1e-7*abs(v) for the rounding of v itself.
 */
#ifndef HN_KERNELS_SOFTMAX_F32_H
#define HN_KERNELS_SOFTMAX_F32_H

#include "kernels/kernel.h"

enum { HN_SOFTMAX_AXES = 4 };

typedef struct hn_softmax_f32 {
    int64_t n;
    int64_t rows[HN_SOFTMAX_AXES]; /* 1 for axes there are not */
    int64_t x_stride[HN_SOFTMAX_AXES], y_stride[HN_SOFTMAX_AXES], mask_stride[HN_SOFTMAX_AXES];
    float scale;
    bool log;
} hn_softmax_f32;

/* Operands; the mask may be NULL. */
enum { HN_SOFTMAX_X, HN_SOFTMAX_MASK, HN_SOFTMAX_Y, HN_SOFTMAX_OPERANDS_ };

extern const hn_family hn_softmax_f32_family;

#endif
