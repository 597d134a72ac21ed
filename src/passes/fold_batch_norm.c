/* BatchNormalization at inference is a scale and a shift per channel, which the weights before it
 * can hold.
 *
 *     h = Conv (x, W, B)
 *     y = BatchNormalization (h, scale, bias, mean, var)
 *   becomes
 *     y = Conv (x, W * f, (B - mean) * f + bias)         f = scale / sqrt(var + epsilon)
 *
 * Fires after Conv, ConvTranspose and Gemm with constant weights, dequantized or not (affine.c),
 * whose output nothing else uses, when all four parameters are constants and it is not in training
 * mode. A BatchNormalization behind anything else stays.
 */
#include <math.h>

#include "passes/affine.h"

static hn_node *weighted_input(const hn_node *n) {
    static const char *const ops[] = {"Conv", "ConvTranspose", "Gemm"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        hn_node *p = hn_feeds_only(n, 0, ops[i]);
        if (p != NULL) return p;
    }
    return NULL;
}

static hone_status fold(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    int64_t channels;
    hn_node *p = hn_is(n, "BatchNormalization") ? weighted_input(n) : NULL;
    if (p == NULL || n->n_outputs > 1 || hn_attr_i(n, "training_mode") != 0 ||
        !hn_affine_fits(p, &channels))
        return HONE_OK;
    const hn_tensor *t[5];
    for (int i = 1; i < 5; i++) {
        t[i] = hn_const_in(n, i);
        if (t[i] == NULL || t[i]->n != channels) return HONE_OK;
    }
    double *scale = hn_arena_array(&c->scratch, (size_t)channels, sizeof *scale);
    double *shift = hn_arena_array(&c->scratch, (size_t)channels, sizeof *shift);
    if (scale == NULL || shift == NULL) return HN_NOMEM(err);
    double epsilon = hn_attr_f(n, "epsilon");
    for (int64_t k = 0; k < channels; k++) {
        scale[k] = hn_tensor_f64(t[1], k) / sqrt(hn_tensor_f64(t[4], k) + epsilon);
        shift[k] = hn_tensor_f64(t[2], k) - hn_tensor_f64(t[3], k) * scale[k];
        if (!isfinite(scale[k]) || !isfinite(shift[k])) return HONE_OK;
    }
    return hn_affine_fold(c, n, p, scale, shift, err);
}

hone_status hn_pass_fold_batch_norm(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, fold, err);
}
