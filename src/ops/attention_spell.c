#include "ops/attention_spell.h"

static const int64_t heads_first[] = {0, 2, 1, 3};

hn_value *hn_emit_heads(hn_grad *g, hn_value *v, int64_t samples, int64_t positions, int64_t heads,
                        int64_t size) {
    const int64_t dims[] = {samples, positions, heads, size};
    return hn_emit_transposed(g, hn_emit_reshape(g, v, 4, dims), 4, heads_first);
}

hn_value *hn_emit_joined(hn_grad *g, hn_value *v, int64_t samples, int64_t positions,
                         int64_t width) {
    const int64_t dims[] = {samples, positions, width};
    return hn_emit_reshape(g, hn_emit_transposed(g, v, 4, heads_first), 3, dims);
}

hn_value *hn_emit_distances(hn_grad *g, int64_t queries, int64_t total, int64_t offset) {
    hn_tensor *t;
    hn_value *v = hn_emit_table(g, 2, (const int64_t[]){queries, total}, &t);
    for (int64_t q = 0; v != NULL && q < queries; q++)
        for (int64_t k = 0; k < total; k++)
            hn_store_f64(t->dtype, t->data, q * total + k, (double)(k - q - offset));
    return v;
}

hn_value *hn_emit_both(hn_grad *g, hn_value *a, hn_value *b) {
    return a == NULL ? b : b == NULL ? a : HN_EMIT2(g, "Mul", a, b);
}

void hn_spell_attention(hn_grad *g, hn_spelled_attention *a) {
    int64_t shared = a->kv_heads > 0 ? a->heads / a->kv_heads : 1;
    const int64_t q[] = {a->samples, a->kv_heads, shared, a->queries, a->size};
    const int64_t k[] = {a->samples, a->kv_heads, 1, a->total, a->size};
    const int64_t v[] = {a->samples, a->kv_heads, 1, a->total, a->v_size};
    const int64_t s[] = {a->samples, a->heads, a->queries, a->total};
    const int64_t w[] = {a->samples, a->kv_heads, shared, a->queries, a->total};
    const int64_t y[] = {a->samples, a->heads, a->queries, a->v_size};
    hn_value *scaled = HN_EMIT2(g, "Mul", a->q, hn_emit_number(g, a->scale)), *keys = a->k;
    if (shared > 1) {
        scaled = hn_emit_reshape(g, scaled, 5, q);
        keys = hn_emit_reshape(g, keys, 5, k);
    }
    a->scores = HN_EMIT2(g, "MatMul", scaled, hn_emit_swapped(g, keys, shared > 1 ? 5 : 4));
    if (shared > 1) a->scores = hn_emit_reshape(g, a->scores, 4, s);
    a->capped = a->scores;
    if (a->softcap > 0)
        a->capped = HN_TEXT(g, "b * Tanh(a / b)", a->scores, hn_emit_number(g, a->softcap));
    a->biased = a->bias != NULL ? HN_EMIT2(g, "Add", a->capped, a->bias) : a->capped;
    /* A key that is not seen gets a score so low that its weight is 0, not -inf: a row without any
     * key would be NaN. */
    if (a->keep != NULL)
        a->biased = HN_TEXT(g, "Where(a > 0, b, c)", a->keep, a->biased, hn_emit_number(g, -1e30));
    a->weights = HN_EMIT1(g, "Softmax", a->biased);
    if (a->keep != NULL && !a->some) a->weights = HN_EMIT2(g, "Mul", a->weights, a->keep);
    hn_value *weights = shared > 1 ? hn_emit_reshape(g, a->weights, 5, w) : a->weights;
    hn_value *values = shared > 1 ? hn_emit_reshape(g, a->v, 5, v) : a->v;
    a->y = HN_EMIT2(g, "MatMul", weights, values);
    if (shared > 1) a->y = hn_emit_reshape(g, a->y, 4, y);
}
