/* Quantized sums back to a quantized type: the last step of the QLinear operators.
 *
 *     y = saturate(rne((float)sum * m) + zero),   m = (float)((double)sx * sw / sy)
 *
 * The product is one float operation and the rounding is exact, so every machine gives the same
 * bits. A result that is no number becomes the lowest value of the type. */
#ifndef HN_OPS_REQUANT_H
#define HN_OPS_REQUANT_H

#include <math.h>

#include "ops/op.h"

static inline float hn_requant_scale(double sx, double sw, double sy) {
    return (float)(sx * sw / sy);
}

/* lo, hi: range of the type, small enough for float to hold every value of it. */
static inline int64_t hn_requant(int32_t sum, float m, int64_t zero, int64_t lo, int64_t hi) {
    double v = (double)rintf((float)sum * m) + (double)zero;
    return !(v > (double)lo) ? lo : v > (double)hi ? hi : (int64_t)v;
}

/* The u8 quantization of numbers in [lo, hi], as DynamicQuantizeLinear chooses it: 0 is among them
 * and has a code of its own. */
static inline void hn_dynamic_u8(float lo, float hi, float *scale, int64_t *zero) {
    lo = lo < 0 ? lo : 0;
    hi = hi > 0 ? hi : 0;
    *scale = hi == lo ? 1 : (hi - lo) / 255;
    float z = rintf(-lo / *scale);
    *zero = !(z > 0) ? 0 : z > 255 ? 255 : (int64_t)z;
}

/* Inference: input i is absent, a scalar, [1] or, unless `n` is NULL, [n]: a scale or a zero point
 * for the whole tensor or for each of n channels. */
hone_status hn_want_per_channel(const hn_infer *c, int i, hn_dim n, hn_error *err);
/* Element `channel` of such an input. */
static inline double hn_channel_f64(const hn_tensor *t, int64_t channel) {
    return hn_tensor_f64(t, t->n == 1 ? 0 : channel);
}

#endif
