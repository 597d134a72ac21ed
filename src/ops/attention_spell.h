/* Attention as simpler nodes, for what is differentiated: products, a softmax and what is added to
 * the scores before it. All attention operators share it; each brings its operands into this form. */
#ifndef HN_OPS_ATTENTION_SPELL_H
#define HN_OPS_ATTENTION_SPELL_H

#include "ops/grad.h"

typedef struct hn_spelled_attention {
    int64_t samples, heads, kv_heads; /* heads is a multiple of kv_heads */
    int64_t queries, total;           /* total: keys, past ones included */
    int64_t size, v_size;             /* elements of a head */
    hn_value *q, *k, *v;              /* [samples, heads or kv_heads, positions, size or v_size] */
    double scale, softcap;            /* softcap 0: none */
    /* Both broadcast to [samples, heads, queries, total]; NULL: none. */
    hn_value *bias; /* is added to the scores */
    hn_value *keep; /* 1, or 0 for a key that a query does not see */
    bool some;      /* every query sees one key at least */
    /* What is made: */
    hn_value *scores, *capped, *biased, *weights;
    hn_value *y; /* [samples, heads, queries, v_size] */
} hn_spelled_attention;

void hn_spell_attention(hn_grad *g, hn_spelled_attention *a);

/* [samples, positions, heads * size] as [samples, heads, positions, size], and back. */
hn_value *hn_emit_heads(hn_grad *g, hn_value *v, int64_t samples, int64_t positions, int64_t heads,
                        int64_t size);
hn_value *hn_emit_joined(hn_grad *g, hn_value *v, int64_t samples, int64_t positions,
                         int64_t width);
/* A table [queries, total] of k - q, where key k and query q - offset are. */
hn_value *hn_emit_distances(hn_grad *g, int64_t queries, int64_t total, int64_t offset);
/* Both of two conditions of 1 and 0; NULL: always. */
hn_value *hn_emit_both(hn_grad *g, hn_value *a, hn_value *b);

#endif
