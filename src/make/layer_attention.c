/* Self-attention of several heads, without the product behind it (a layer linear).
 *
 *     q, k, v = x Wq + bq, x Wk + bk, x Wv + bv      [N, S, D], seen as [N, heads, S, D / heads]
 *     y = softmax(q k^T / sqrt(D / heads) + mask) v
 */
#include <math.h>

#include "make/layer.h"

/* What tokens that do not count are given, so that softmax leaves nothing of them. */
#define OUT_OF_SIGHT (-10000.0f)

/* 0 for each token that counts and OUT_OF_SIGHT for the others, [N, 1, 1, S]. All layers share it. */
static hone_status make_added(hn_maker *m) {
    hn_value *axes, *one, *low, *x;
    hn_node *n;
    HN_TRY(HN_MAKE_INTEGERS(m, &axes, 1, 2));
    HN_TRY(hn_make_scalar(m, 1, &one));
    HN_TRY(hn_make_scalar(m, OUT_OF_SIGHT, &low));
    HN_TRY(HN_MAKE_OP(m, "Cast", "mask", &n, &x, m->mask));
    HN_TRY(hn_node_set_i(n, "to", HONE_DTYPE_F32, m->err));
    HN_TRY(HN_MAKE_OP(m, "Unsqueeze", "mask_rows", NULL, &x, x, axes));
    HN_TRY(HN_MAKE_OP(m, "Sub", "mask_others", NULL, &x, one, x));
    return HN_MAKE_OP(m, "Mul", "mask_added", NULL, &m->added, x, low);
}

/* One of q, k and v: [N, heads, S, size], k with its last axes exchanged. */
static hone_status heads_of(hn_maker *m, const char *part, const char *parts[2], hn_value *shape,
                            bool turned, hn_value **out) {
    static const int64_t perm[2][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}};
    hn_node *n;
    hn_value *x;
    HN_TRY(hn_make_product(m, part, m->flow.value, m->flow.channels, m->flow.channels, true, &x));
    HN_TRY(HN_MAKE_OP(m, "Reshape", parts[0], NULL, &x, x, shape));
    HN_TRY(HN_MAKE_OP(m, "Transpose", parts[1], &n, out, x));
    return hn_node_set_ints(n, "perm", perm[turned], 4, m->err);
}

static hone_status weigh(hn_maker *m, hn_value *q, hn_value *k, int64_t size, hn_value **out) {
    hn_value *scale, *x;
    hn_node *n;
    HN_TRY(hn_make_scalar(m, (float)(1 / sqrt((double)size)), &scale));
    HN_TRY(HN_MAKE_OP(m, "MatMul", "scores", NULL, &x, q, k));
    HN_TRY(HN_MAKE_OP(m, "Mul", "scaled", NULL, &x, x, scale));
    if (m->mask != NULL && m->added == NULL) HN_TRY(make_added(m));
    if (m->mask != NULL) HN_TRY(HN_MAKE_OP(m, "Add", "masked", NULL, &x, x, m->added));
    HN_TRY(HN_MAKE_OP(m, "Softmax", "softmax", &n, out, x));
    return hn_node_set_i(n, "axis", -1, m->err);
}

static hone_status attention(hn_maker *m, const double *v) {
    int64_t heads = (int64_t)v[0], d = m->flow.channels;
    HN_CHECK(m->err, d % heads == 0, HONE_E_SHAPE,
             "'%s': %lld features, wanted a multiple of the %lld heads", m->at, (long long)d,
             (long long)heads);
    hn_value *apart, *whole, *q, *k, *value, *y;
    hn_node *n;
    HN_TRY(HN_MAKE_INTEGERS(m, &apart, 0, 0, heads, d / heads));
    HN_TRY(HN_MAKE_INTEGERS(m, &whole, 0, 0, d));
    HN_TRY(heads_of(m, "query", (const char *[]){"query.heads", "query.turned"}, apart, false, &q));
    HN_TRY(heads_of(m, "key", (const char *[]){"key.heads", "key.turned"}, apart, true, &k));
    HN_TRY(heads_of(m, "value", (const char *[]){"value.heads", "value.turned"}, apart, false,
                    &value));
    HN_TRY(weigh(m, q, k, d / heads, &y));
    HN_TRY(HN_MAKE_OP(m, "MatMul", "context", NULL, &y, y, value));
    HN_TRY(HN_MAKE_OP(m, "Transpose", "tokens", &n, &y, y));
    HN_TRY(hn_node_set_ints(n, "perm", (int64_t[]){0, 2, 1, 3}, 4, m->err));
    return HN_MAKE_OP(m, "Reshape", NULL, NULL, &m->flow.value, y, whole);
}

const hn_layer hn_layer_attention = {
    .name = "attention",
    .takes = HN_FLOW_TOKENS,
    .params = {{.name = "heads", .least = 1, .most = 65536, .required = true}},
    .make = attention,
};
