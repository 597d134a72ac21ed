/* Attention: scaled dot products of queries and keys, soft cap, bias, softmax, weighted values.
 *
 * Q, K, V are [samples, heads, positions, size] or, heads counted by attributes, [samples,
 * positions, heads * size]. The bias of query i and key j is the sum of
 *     attn_mask      broadcast, a shorter last axis continued with -inf; bool: 0 or -inf
 *     is_causal      -inf where j > p           p = i + offset, the place of the query in the
 *     windows        -inf where j < p - left or j > p + right          sequence of the keys
 *     nonpad_kv_seqlen   -inf from there on
 * where offset counts the keys before the first query: the past ones, or those that are not padding
 * less the queries. A query with a bias of -inf for every key has weights of 0.
 */
#include <math.h>

#include "ops/attention_ref.h"
#include "ops/attention_spell.h"
#include "ops/softmax_ref.h"

enum { Q, K, V, MASK, PAST_K, PAST_V, NONPAD }; /* inputs */
enum { Y, PRESENT_K, PRESENT_V, QK };           /* outputs */

/* ---- inference ---- */

typedef struct sizes {
    hn_dim samples, heads, kv_heads, queries, past, keys, total, size, v_size;
} sizes;

/* [samples, heads, positions, size] of input i. */
static hone_status split(const hn_infer *c, int i, const char *heads_attr, hn_dim dims[4],
                         hn_error *err) {
    const hn_shape *s = hn_in_shape(c, i);
    if (s->rank == 4) {
        memcpy(dims, s->dim, 4 * sizeof *dims);
        return HONE_OK;
    }
    const hn_attr *a = hn_node_attr(c->node, heads_attr);
    int64_t width;
    HN_CHECK(err, a != NULL, HONE_E_MODEL, "input %d has rank 3, which needs attribute '%s'", i,
             heads_attr);
    HN_CHECK(err, a->u.i > 0, HONE_E_ARG, "%s is %lld, expected 1 or more", heads_attr,
             (long long)a->u.i);
    if (hn_dim_is_const(s->dim[2], &width))
        HN_CHECK(err, width % a->u.i == 0, HONE_E_SHAPE,
                 "input %d has %lld elements per position, which %lld heads cannot share", i,
                 (long long)width, (long long)a->u.i);
    hn_dim heads = hn_dim_const(c->dims, a->u.i);
    dims[0] = s->dim[0];
    dims[1] = heads;
    dims[2] = s->dim[1];
    dims[3] = hn_dim_div(c->dims, s->dim[2], heads);
    return HONE_OK;
}

static hone_status check_past(const hn_infer *c, int i, const hn_dim now[4], hn_dim past,
                              hn_error *err) {
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    const hn_dim *d = hn_in_shape(c, i)->dim;
    HN_TRY(hn_want_equal(d[0], now[0], "samples of the past and the present", err));
    HN_TRY(hn_want_equal(d[1], now[1], "heads of the past and the present", err));
    HN_TRY(hn_want_equal(d[2], past, "positions of past_key and past_value", err));
    return hn_want_equal(d[3], now[3], "head sizes of the past and the present", err);
}

/* All sizes, checked against each other. */
static hone_status sizes_of(const hn_infer *c, sizes *z, hn_error *err) {
    hn_dim q[4], k[4], v[4];
    int64_t heads, kv_heads;
    HN_TRY(split(c, Q, "q_num_heads", q, err));
    HN_TRY(split(c, K, "kv_num_heads", k, err));
    HN_TRY(split(c, V, "kv_num_heads", v, err));
    HN_TRY(hn_want_equal(q[0], k[0], "samples of Q and K", err));
    HN_TRY(hn_want_equal(q[0], v[0], "samples of Q and V", err));
    HN_TRY(hn_want_equal(k[1], v[1], "heads of K and V", err));
    HN_TRY(hn_want_equal(k[2], v[2], "positions of K and V", err));
    HN_TRY(hn_want_equal(q[3], k[3], "head sizes of Q and K", err));
    if (hn_dim_is_const(q[1], &heads) && hn_dim_is_const(k[1], &kv_heads))
        HN_CHECK(err, kv_heads > 0 && heads % kv_heads == 0, HONE_E_SHAPE,
                 "%lld query heads cannot share %lld key heads", (long long)heads,
                 (long long)kv_heads);
    hn_dim past = hn_dim_const(c->dims, 0);
    if (hn_has_in(c, PAST_K)) {
        bool known = hn_in_rank(c, PAST_K) >= 0;
        past = known ? hn_in_shape(c, PAST_K)->dim[2] : hn_dim_fresh(c->dims, -1);
        HN_TRY(check_past(c, PAST_K, k, past, err));
        HN_TRY(check_past(c, PAST_V, v, past, err));
    }
    *z = (sizes){q[0], q[1], k[1], q[2], past, k[2], hn_dim_add(c->dims, past, k[2]), q[3], v[3]};
    return HONE_OK;
}

/* The mask broadcasts to the scores; only its last axis may be shorter. */
static hone_status check_mask(const hn_infer *c, const sizes *z, hn_error *err) {
    const hn_shape *m = hn_in_shape(c, MASK);
    const hn_dim to[4] = {z->samples, z->heads, z->queries, z->total};
    char text[256];
    for (int k = 0; k < m->rank; k++) {
        int64_t found, wanted;
        if (!hn_dim_is_const(m->dim[k], &found) || !hn_dim_is_const(to[4 - m->rank + k], &wanted))
            continue;
        bool last = k == m->rank - 1;
        HN_CHECK(err, last ? found <= wanted : found == wanted || found == 1, HONE_E_SHAPE,
                 "attn_mask of shape %s: axis %d has %lld, expected %s%lld",
                 hn_shape_text(m, text, sizeof text), k, (long long)found,
                 last ? "at most " : "1 or ", (long long)wanted);
    }
    return HONE_OK;
}

static hone_status check_attrs(const hn_infer *c, hn_error *err) {
    static const char *const windows[] = {"left_window_size", "right_window_size"};
    for (int i = 0; i < 2; i++) {
        int64_t w = hn_attr_i(c->node, windows[i]);
        HN_CHECK(err, w >= -1, HONE_E_ARG, "%s is %lld, expected -1 or more", windows[i],
                 (long long)w);
    }
    int64_t mode = hn_attr_i(c->node, "qk_matmul_output_mode");
    HN_CHECK(err, mode >= 0 && mode <= 3, HONE_E_ARG,
             "qk_matmul_output_mode is %lld, expected 0 to 3", (long long)mode);
    const hn_attr *precision = hn_node_attr(c->node, "softmax_precision");
    HN_CHECK(err,
             precision == NULL || (precision->u.i > 0 && precision->u.i < HONE_DTYPE_COUNT_ &&
                                   hn_dtype_in((hone_dtype)precision->u.i, HN_DTYPES_FLOAT)),
             HONE_E_ARG, "softmax_precision is %lld, expected 1, 10, 11 or 16",
             (long long)precision->u.i);
    HN_CHECK(err, hn_has_in(c, PAST_K) == hn_has_in(c, PAST_V), HONE_E_MODEL,
             "past_key and past_value go together");
    HN_CHECK(err, !hn_has_in(c, PAST_K) || !hn_has_in(c, NONPAD), HONE_E_MODEL,
             "nonpad_kv_seqlen does not go with past_key and past_value");
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(check_attrs(c, err));
    for (int i = Q; i <= V; i++) HN_TRY(hn_want_rank(c, i, 3, 4, err));
    HN_TRY(hn_want_rank(c, MASK, 1, 4, err));
    HN_TRY(hn_want_rank(c, PAST_K, 4, 4, err));
    HN_TRY(hn_want_rank(c, PAST_V, 4, 4, err));
    HN_TRY(hn_want_rank(c, NONPAD, 1, 1, err));
    int rank = hn_in_rank(c, Q);
    if (rank < 0 || hn_in_rank(c, K) < 0 || hn_in_rank(c, V) < 0) return HONE_OK;
    HN_CHECK(err, hn_in_rank(c, K) == rank && hn_in_rank(c, V) == rank, HONE_E_SHAPE,
             "Q, K and V have ranks %d, %d and %d, expected the same", rank, hn_in_rank(c, K),
             hn_in_rank(c, V));
    sizes z;
    HN_TRY(sizes_of(c, &z, err));
    if (hn_in_rank(c, MASK) >= 0) HN_TRY(check_mask(c, &z, err));
    if (hn_in_rank(c, NONPAD) >= 0)
        HN_TRY(hn_want_equal(hn_in_shape(c, NONPAD)->dim[0], z.samples,
                             "lengths in nonpad_kv_seqlen and samples", err));
    hn_shape y = {.rank = 4, .dim = {z.samples, z.heads, z.queries, z.v_size}};
    if (rank == 3)
        y = (hn_shape){.rank = 3,
                       .dim = {z.samples, z.queries, hn_dim_mul(c->dims, z.heads, z.v_size)}};
    hn_set_shape(c, Y, &y);
    hn_set_shape(c, PRESENT_K, &(hn_shape){4, {z.samples, z.kv_heads, z.total, z.size}});
    hn_set_shape(c, PRESENT_V, &(hn_shape){4, {z.samples, z.kv_heads, z.total, z.v_size}});
    hn_set_shape(c, QK, &(hn_shape){4, {z.samples, z.heads, z.queries, z.total}});
    return HONE_OK;
}

static void cost(const hn_infer *c, hn_cost *cost) {
    sizes z;
    if (hn_in_rank(c, Q) < 3 || hn_in_rank(c, K) < 3 || hn_in_rank(c, V) < 3) return;
    if (sizes_of(c, &z, NULL) != HONE_OK) return;
    hn_attention_cost(c->dims, z.samples, z.heads, z.queries, z.total, z.size, z.v_size, cost);
}

/* ---- evaluation ---- */

typedef struct job {
    hn_attention a;
    const hn_tensor *mask, *nonpad;
    int64_t mask_step[3], mask_keys; /* strides of samples, heads, queries; size of the last axis */
    bool causal;
    int64_t left, right; /* -1: unbounded */
    double softcap;
    hone_dtype precision; /* HONE_DTYPE_NONE: double */
    int mode;
    hn_tensor *qk;
} job;

static void keep(const job *j, int mode, int64_t at, int64_t n, const double *scores) {
    if (j->qk != NULL && j->mode == mode) hn_store_f64_n(j->qk->dtype, j->qk->data, at, n, scores);
}

static void round_to(hone_dtype t, double *v, int64_t n) {
    if (t == HONE_DTYPE_NONE) return;
    for (int64_t i = 0; i < n; i++) {
        double cell;
        hn_store_f64(t, &cell, 0, v[i]);
        v[i] = hn_load_f64(t, &cell, 0);
    }
}

/* Adds the mask's part to the bias of keys [from, from + n). */
static void add_mask(const job *j, int64_t sample, int64_t head, int64_t query, int64_t from,
                     int64_t n, double *bias) {
    double m[HN_BLOCK];
    int64_t at = sample * j->mask_step[0] + head * j->mask_step[1] + query * j->mask_step[2] + from;
    int64_t there = j->mask_keys - from < 0 ? 0 : j->mask_keys - from < n ? j->mask_keys - from : n;
    hn_load_f64_n(j->mask->dtype, j->mask->data, at, there, m);
    for (int64_t i = 0; i < n; i++) {
        if (i >= there || (j->mask->dtype == HONE_DTYPE_BOOL && m[i] == 0))
            bias[i] = -INFINITY;
        else if (j->mask->dtype != HONE_DTYPE_BOOL)
            bias[i] += m[i];
    }
}

/* Adds the bias to the n scores of a query. False: it is -inf for every key. */
static bool add_bias(const job *j, int64_t sample, int64_t head, int64_t query, double *s,
                     int64_t n) {
    int64_t last = n - 1, first = 0, offset = j->a.past;
    if (j->nonpad != NULL) {
        int64_t length = hn_tensor_s64(j->nonpad, sample);
        offset = length - j->a.queries;
        last = length - 1;
    }
    int64_t place = query + offset;
    if (j->causal && place < last) last = place;
    if (j->right >= 0 && j->right < n && place + j->right < last) last = place + j->right;
    if (j->left >= 0 && place > j->left) first = place - j->left;
    bool any = false;
    for (int64_t from = 0; from < n; from += HN_BLOCK) {
        int64_t count = n - from < HN_BLOCK ? n - from : HN_BLOCK;
        double bias[HN_BLOCK];
        for (int64_t i = 0; i < count; i++)
            bias[i] = from + i < first || from + i > last ? -INFINITY : 0;
        if (j->mask != NULL) add_mask(j, sample, head, query, from, count, bias);
        for (int64_t i = 0; i < count; i++) {
            any = any || bias[i] != -INFINITY;
            s[from + i] += bias[i];
        }
    }
    return any;
}

static void row(const void *ctx, int64_t sample, int64_t head, int64_t query, double *s) {
    const job *j = ctx;
    int64_t n = j->a.past + j->a.keys;
    int64_t at = ((sample * j->a.heads + head) * j->a.queries + query) * n;
    keep(j, 0, at, n, s);
    if (j->softcap > 0)
        for (int64_t k = 0; k < n; k++) s[k] = j->softcap * tanh(s[k] / j->softcap);
    keep(j, 1, at, n, s);
    bool any = add_bias(j, sample, head, query, s, n);
    keep(j, 2, at, n, s);
    round_to(j->precision, s, n);
    if (any)
        hn_softmax_row(s, n);
    else
        for (int64_t k = 0; k < n; k++) s[k] = 0;
    round_to(j->precision, s, n);
    keep(j, 3, at, n, s);
}

static void plan_mask(job *j) {
    int rank = j->mask->rank;
    int64_t step = j->mask_keys = j->mask->dims[rank - 1];
    for (int k = 2; k >= 0; k--) { /* axis k of [samples, heads, queries, keys] */
        int64_t d = k - 4 + rank >= 0 ? j->mask->dims[k - 4 + rank] : 1;
        j->mask_step[k] = d > 1 ? step : 0;
        step *= d;
    }
}

static hone_status check_nonpad(const hn_tensor *t, int64_t keys, hn_error *err) {
    for (int64_t i = 0; i < t->n; i++)
        HN_CHECK(err, hn_tensor_s64(t, i) >= 0 && hn_tensor_s64(t, i) <= keys, HONE_E_ARG,
                 "nonpad_kv_seqlen of sample %lld is %lld, expected 0 to %lld", (long long)i,
                 (long long)hn_tensor_s64(t, i), (long long)keys);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_node *n = e->node;
    const hn_tensor *q = e->in[Q], *k = e->in[K], *v = e->in[V];
    const hn_tensor *past_k = hn_eval_in(e, PAST_K), *past_v = hn_eval_in(e, PAST_V);
    const hn_attr *scale = hn_node_attr(n, "scale"), *precision;
    precision = hn_node_attr(n, "softmax_precision");
    bool apart = q->rank == 4; /* heads have an axis of their own */
    job j = {.mask = hn_eval_in(e, MASK),
             .nonpad = hn_eval_in(e, NONPAD),
             .causal = hn_attr_i(n, "is_causal") != 0,
             .left = hn_attr_i(n, "left_window_size"),
             .right = hn_attr_i(n, "right_window_size"),
             .softcap = hn_attr_f(n, "softcap"),
             .precision = precision != NULL ? (hone_dtype)precision->u.i : HONE_DTYPE_NONE,
             .mode = (int)hn_attr_i(n, "qk_matmul_output_mode"),
             .qk = hn_eval_out(e, QK)};
    hn_attention *a = &j.a;
    *a = (hn_attention){.samples = q->dims[0],
                        .heads = apart ? q->dims[1] : hn_node_attr(n, "q_num_heads")->u.i,
                        .kv_heads = apart ? k->dims[1] : hn_node_attr(n, "kv_num_heads")->u.i,
                        .queries = q->dims[apart ? 2 : 1],
                        .past = past_k != NULL ? past_k->dims[2] : 0,
                        .keys = k->dims[apart ? 2 : 1],
                        .row = row,
                        .ctx = &j};
    int64_t size = apart ? q->dims[3] : q->dims[2] / a->heads;
    int64_t v_size = apart ? v->dims[3] : v->dims[2] / a->kv_heads;
    hn_heads (*heads)(const hn_tensor *, int64_t, int64_t, int64_t) =
        apart ? hn_heads_first : hn_heads_inside;
    a->q = heads(q, a->heads, a->queries, size);
    a->k = heads(k, a->kv_heads, a->keys, size);
    a->v = heads(v, a->kv_heads, a->keys, v_size);
    a->y = heads(e->out[Y], a->heads, a->queries, v_size);
    if (past_k != NULL) {
        a->past_k = hn_heads_first(past_k, a->kv_heads, a->past, size);
        a->past_v = hn_heads_first(past_v, a->kv_heads, a->past, v_size);
    }
    a->scale = scale != NULL ? scale->u.f : 1 / sqrt((double)size);
    if (j.mask != NULL && j.mask->n > 0) plan_mask(&j);
    if (j.nonpad != NULL) HN_TRY(check_nonpad(j.nonpad, a->keys, err));
    if (e->out[Y]->n > 0 || (j.qk != NULL && j.qk->n > 0)) HN_TRY(hn_attention_ref(e, a, err));
    hn_attention_present(a, &a->past_k, &a->k, hn_eval_out(e, PRESENT_K), 0);
    hn_attention_present(a, &a->past_v, &a->v, hn_eval_out(e, PRESENT_V), 0);
    return HONE_OK;
}

/* ---- as simpler nodes ---- */

/* Input i as [samples, heads, positions, size]; dims gets these. */
static hn_value *heads_of(hn_grad *g, int i, const char *heads_attr, int64_t *dims) {
    int64_t d[HONE_MAX_RANK];
    hn_value *v = hn_grad_in(g, i);
    int rank = hn_grad_dims(g, v, d);
    if (g->status != HONE_OK) return NULL;
    memcpy(dims, d, 4 * sizeof *d);
    if (rank == 4) return v;
    int64_t heads = hn_node_attr(g->node, heads_attr)->u.i;
    const int64_t apart[] = {d[0], heads, d[1], d[2] / heads};
    memcpy(dims, apart, sizeof apart);
    return hn_emit_heads(g, v, d[0], d[1], heads, apart[3]);
}

/* The keys that the rules see, as 1 and 0 of [queries, total], or [samples, 1, queries, total]
 * where the lengths of samples are data. */
static hn_value *seen(hn_grad *g, const hn_spelled_attention *a, int64_t past) {
    const hn_node *n = g->node;
    int64_t left = hn_attr_i(n, "left_window_size"), right = hn_attr_i(n, "right_window_size");
    bool causal = hn_attr_i(n, "is_causal") != 0;
    hn_value *lengths = hn_grad_in(g, NONPAD), *keep = NULL;
    const int64_t by_sample[] = {a->samples, 1, 1, 1};
    if (lengths == NULL && !causal && left < 0 && right < 0) return NULL;
    hn_value *place = hn_emit_number(g, 0); /* how far after its query a key is at 0 */
    if (lengths != NULL) {
        lengths = hn_emit_reshape(g, hn_emit_cast(g, lengths), 4, by_sample);
        place = HN_EMIT2(g, "Sub", lengths, hn_emit_number(g, (double)a->queries));
        keep = HN_TEXT(g, "Where(a < b, 1, 0)", hn_emit_distances(g, 1, a->total, 0), lengths);
    }
    hn_value *apart = hn_emit_distances(g, a->queries, a->total, past);
    if (causal) keep = hn_emit_both(g, keep, HN_TEXT(g, "Where(a <= b, 1, 0)", apart, place));
    if (right >= 0)
        keep = hn_emit_both(
            g, keep,
            HN_TEXT(g, "Where(a - c <= b, 1, 0)", apart, place, hn_emit_number(g, (double)right)));
    if (left >= 0)
        keep = hn_emit_both(
            g, keep,
            HN_TEXT(g, "Where(a + c >= b, 1, 0)", apart, place, hn_emit_number(g, (double)left)));
    return keep;
}

/* attn_mask as what is added and what is seen. */
static void read_mask(hn_grad *g, hn_spelled_attention *a) {
    hn_value *m = hn_grad_in(g, MASK);
    int64_t dims[HONE_MAX_RANK], pads[2 * HONE_MAX_RANK] = {0}, wide;
    if (m == NULL) return;
    int rank = hn_grad_dims(g, m, dims);
    if (g->status != HONE_OK) return;
    bool truths = m->type.dtype == HONE_DTYPE_BOOL;
    wide = dims[rank - 1];
    if (m->type.dtype != g->dtype) m = hn_emit_cast(g, m);
    if (wide < a->total) { /* nothing is seen where the mask has ended */
        pads[2 * rank - 1] = a->total - wide;
        m = HN_EMIT2(g, "Pad", m, hn_emit_ints(g, pads, 2 * rank));
        if (!truths)
            a->keep =
                hn_emit_both(g, a->keep,
                             HN_TEXT(g, "Where(a < b, 1, 0)", hn_emit_distances(g, 1, a->total, 0),
                                     hn_emit_number(g, (double)wide)));
    }
    hn_value *low = hn_emit_number(g, -1e30);
    a->keep = hn_emit_both(g, a->keep, truths ? m : HN_TEXT(g, "Where(a > b, 1, 0)", m, low));
    if (!truths) a->bias = HN_TEXT(g, "Where(a > b, a, 0)", m, low);
}

static hn_value *with_past(hn_grad *g, int past, hn_value *v) {
    hn_value *both[] = {hn_grad_in(g, past), v};
    return both[0] != NULL ? hn_emit_concat(g, 2, 2, both) : v;
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    int64_t q[4] = {0}, k[4] = {0}, v[4] = {0}, past[HONE_MAX_RANK] = {0};
    hn_spelled_attention a = {.q = heads_of(g, Q, "q_num_heads", q)};
    const hn_attr *scale = hn_node_attr(g->node, "scale");
    hn_value *keys = heads_of(g, K, "kv_num_heads", k), *values = heads_of(g, V, "kv_num_heads", v);
    if (hn_grad_in(g, PAST_K) != NULL) hn_grad_dims(g, hn_grad_in(g, PAST_K), past);
    if (g->status != HONE_OK) return HONE_OK;
    a.k = with_past(g, PAST_K, keys);
    a.v = with_past(g, PAST_V, values);
    a.samples = q[0], a.heads = q[1], a.queries = q[2], a.size = q[3];
    a.kv_heads = k[1], a.total = past[2] + k[2], a.v_size = v[3];
    a.scale = scale != NULL ? (double)scale->u.f : 1 / sqrt((double)a.size);
    a.softcap = (double)hn_attr_f(g->node, "softcap");
    a.keep = seen(g, &a, past[2]);
    /* Without data among the rules, a query sees itself. */
    a.some = hn_grad_in(g, NONPAD) == NULL && hn_grad_in(g, MASK) == NULL &&
             past[2] + a.queries <= a.total;
    read_mask(g, &a);
    hn_spell_attention(g, &a);
    int64_t mode = hn_attr_i(g->node, "qk_matmul_output_mode");
    bool apart = hn_grad_in(g, Q)->type.shape.rank == 4;
    y[Y] = apart ? a.y : hn_emit_joined(g, a.y, a.samples, a.queries, a.heads * a.v_size);
    y[PRESENT_K] = a.k;
    y[PRESENT_V] = a.v;
    /* Scores with -inf in them are left to the operator. */
    if (mode != 2 || a.keep == NULL)
        y[QK] = mode == 0 ? a.scores : mode == 1 ? a.capped : mode == 2 ? a.biased : a.weights;
    return HONE_OK;
}

const hn_op_def hn_op_attention = {
    .name = "Attention",
    .versions = "23 24 25",
    .settings = 1 << MASK,
    .sig =
        "(Q:T1, K:T1, V:T2, attn_mask:U?, past_key:T1?, past_value:T2?, nonpad_kv_seqlen:s64?) "
        "-> (Y:T1, present_key:T1?, present_value:T2?, qk_matmul_output:T1?); "
        "T1: float; T2: float; U: num bool",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("is_causal", 0),
                                   HN_ATTR_OPT("kv_num_heads", INT),
                                   HN_ATTR_I("left_window_size", -1),
                                   HN_ATTR_OPT("q_num_heads", INT),
                                   HN_ATTR_I("qk_matmul_output_mode", 0),
                                   HN_ATTR_I("right_window_size", -1),
                                   HN_ATTR_OPT("scale", FLOAT),
                                   HN_ATTR_F("softcap", 0.0f),
                                   HN_ATTR_OPT("softmax_precision", INT),
                                   {0}},
    .infer = infer,
    .ref = ref,
    .cost = cost,
    .spell = spell};
