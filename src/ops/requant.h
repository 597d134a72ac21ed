/* Quantized sums back to a quantized type: the last step of the QLinear operators.
 *
 *     y = saturate(rne((float)sum * m) + zero),   m = (sx * sw) / sy
 *
 * Each float operation is rounded on its own, those that make m too, so every machine gives the
 * same bits. ONNX Runtime computes m in the same order: a factor that differs in its last bit puts
 * sums near the middle of two integers on the other side, and a deep network makes much of one. */
#ifndef HN_OPS_REQUANT_H
#define HN_OPS_REQUANT_H

#include "ops/quantize.h"

static inline float hn_requant_scale(double sx, double sw, double sy) {
    return (float)sx * (float)sw / (float)sy;
}

static inline int64_t hn_requant(hone_dtype t, int64_t sum, float m, int64_t zero) {
    return hn_quantize(t, (double)((float)sum * m), (double)zero);
}

/* What the codes 0 to 255 of 8-bit integers become in another scale, of 8 bits too (QLinearConcat):
 *
 *     y = saturate(rne((float)(x - zx) * sx / sy) + zy)
 *
 * with each float operation rounded on its own. */
void hn_requant_table(hone_dtype from, float sx, int64_t zx, hone_dtype to, float sy, int64_t zy,
                      uint8_t table[256]);

/* Inference: input i is absent, a scalar, [1] or, unless `n` is NULL, [n]: a scale or a zero point
 * for the whole tensor or for each of n channels. */
hone_status hn_want_per_channel(const hn_infer *c, int i, hn_dim n, hn_error *err);
/* Element `channel` of such an input. */
static inline double hn_channel_f64(const hn_tensor *t, int64_t channel) {
    return hn_tensor_f64(t, t->n == 1 ? 0 : channel);
}

#endif
