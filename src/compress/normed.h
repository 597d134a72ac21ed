/* Normalizations and the products that read them: where inputs of products can be scaled channel by
 * channel, since what makes them takes the factors back.
 *
 *     h = LayerNormalization (x, g, b)            h = LayerNormalization (x, g/s, b/s)
 *     q = MatMul (h, Q)              becomes      q = MatMul (h, s*Q)     rows of the weights
 *     k = MatMul (h, K)                           k = MatMul (h, s*K)
 *
 * Where something else reads h too (what is added to the output of the block, in models that
 * normalize after it) the normalization is made twice, and only the products read the second one.
 */
#ifndef HN_COMPRESS_NORMED_H
#define HN_COMPRESS_NORMED_H

#include "compress/weighted.h"

typedef struct hn_normed {
    hn_node *norm; /* LayerNormalization or RMSNormalization over the last axis */
    int64_t channels;
    int n;
    hn_weighted *products; /* MatMul and Gemm, each with a weight of its own */
} hn_normed;

/* Those of the model whose products are of one of the kinds [first, last], in order. In the arena.
 */
hone_status hn_normed_find(hn_normed **out, int *n, hn_model *m, const hn_scheme *s,
                           hn_layer_kind first, hn_layer_kind last, hn_arena *arena, hn_error *err);
/* The channel that element i of a product's weight is multiplied by. */
int64_t hn_normed_channel(const hn_weighted *product, int64_t i);
/* Multiplies the weights by[channel], and divides what they read; what is made is named with the
 * suffix. */
hone_status hn_normed_scale(const hn_normed *of, const double *by, const char *suffix,
                            hn_error *err);

#endif
