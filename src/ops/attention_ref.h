/* The one reference attention. For each sample, query head and query
 *
 *     score[j] = scale * sum q[e] * k[j][e]            over the keys j, past ones first
 *     p = row(score)                                   masks, bias, softmax: the operator's own
 *     y[e] = sum p[j] * v[j][e]
 *
 * in double; y is rounded once. Several query heads may share a key and value head. The products
 * are hn_gemm_ref's; scores are made in pieces of bounded size, never whole.
 */
#ifndef HN_OPS_ATTENTION_REF_H
#define HN_OPS_ATTENTION_REF_H

#include "ops/gemm_ref.h"

/* Elements seen as [sample, head, position, element]; the strides of the first three, the elements
 * of a head are neighbours. */
typedef struct hn_heads {
    hone_dtype dtype;
    void *data;
    int64_t at; /* the first element */
    int64_t sample, head, position;
    const double *bias; /* [head, element], added to what is read; or NULL */
    int64_t size;       /* elements of a head */
} hn_heads;

/* Heads of a tensor [samples, heads, positions, size] / [samples, positions, heads * size]. */
hn_heads hn_heads_first(const hn_tensor *t, int64_t n_heads, int64_t n_positions, int64_t size);
hn_heads hn_heads_inside(const hn_tensor *t, int64_t n_heads, int64_t n_positions, int64_t size);

typedef struct hn_attention {
    int64_t samples, heads, kv_heads; /* heads is a multiple of kv_heads */
    int64_t queries, past, keys;      /* positions of q, of past_k and past_v, of k and v */
    hn_heads q, past_k, past_v, k, v, y;
    double scale;
    /* Turns the scores of one query, past + keys of them, into weights. Called from any thread. */
    void (*row)(const void *ctx, int64_t sample, int64_t head, int64_t query, double *scores);
    const void *ctx;
} hn_attention;

/* The count of scores, or that of elements of y, fits in 63 bits. */
hone_status hn_attention_ref(hn_eval *e, const hn_attention *a, hn_error *err);

/* Writes past positions, then the others, as [samples, kv_heads, past + keys, size] to elements
 * from `at` on of a tensor, which may be NULL. */
void hn_attention_present(const hn_attention *a, const hn_heads *past, const hn_heads *now,
                          hn_tensor *present, int64_t at);
/* Multiply-accumulates: both products. */
void hn_attention_cost(hn_dims *t, hn_dim samples, hn_dim heads, hn_dim queries, hn_dim keys,
                       hn_dim size, hn_dim v_size, hn_cost *cost);

#endif
