/* What the quantizing operators share. Their integers are the same bits on every machine: nothing
 * here calls a function of libm that is not exact. */
#ifndef HN_OPS_QUANTIZE_H
#define HN_OPS_QUANTIZE_H

#include <math.h>

#include "ops/op.h"

/* saturate(round to nearest even (v) + zero_point) for integer type t of at most 32 bits. NaN
 * becomes the lowest value. */
static inline int64_t hn_quantize(hone_dtype t, double v, double zero_point) {
    double q = rint(v) + zero_point;
    double lo = (double)hn_dtype_min(t), hi = (double)hn_dtype_max(t);
    return (int64_t)(!(q > lo) ? lo : q > hi ? hi : q);
}

/* Which element of the scale, and of the zero point, belongs to which of x, seen as [outer, size,
 * inner] around the axis: element (o, a, k) has number
 *
 *     o * outer_step + a / block * axis_step + k * inner_step */
typedef struct hn_scaling {
    int64_t size, inner; /* of x: positions on the axis, elements after it */
    int64_t block;
    int64_t outer_step, axis_step, inner_step;
} hn_scaling;

/* Of QuantizeLinear and DequantizeLinear. Inference has checked the shapes. */
hn_scaling hn_scaling_of(const hn_node *n, const hn_tensor *x, const hn_tensor *scale);

/* Scale and zero point of DynamicQuantizeLinear for n numbers: the range that holds them and 0 is
 * cut into 255 steps. All 0 (or none): scale 1. */
typedef struct hn_quant_params {
    float scale;
    uint8_t zero_point;
} hn_quant_params;

hn_quant_params hn_dynamic_range(const float *x, int64_t n);

#endif
