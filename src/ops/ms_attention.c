/* Attention and MultiHeadAttention of ONNX Runtime. Attention makes query, key and value of one
 * input by one product with merged weights; MultiHeadAttention gets them, apart or packed:
 *
 *     query [samples, positions, heads * size], or with key and value [.., heads, 3, size]
 *     key   [samples, positions, heads * size], or with value [.., heads, 2, size],
 *           or [samples, heads, positions, size]
 *
 * The bias of query i and key j is the sum of attention_bias and, where the mask forbids the key,
 * mask_filter_value, or, where unidirectional forbids it (j > past + i), the lowest float. Masks
 * are [samples] lengths;  [2 * samples] ends, then starts;  [3 * samples + 2] lengths first;
 *     [samples, keys], [samples, queries, keys], [samples, 1, most, most], 0 where forbidden.
 *
 * What only the CUDA kernels of ONNX Runtime do (rotary embedding inside, a buffer that past and
 * present share, beams) is refused when run.
 */
#include <float.h>
#include <math.h>

#include "base/size.h"
#include "ops/attention_ref.h"
#include "ops/attention_spell.h"
#include "ops/softmax_ref.h"

/* ---- shapes both share ---- */

/* The sizes that masks and biases are checked against. */
typedef struct sizes {
    hn_dim samples, heads, queries, past, keys, total, size, v_size;
} sizes;

static hone_status check_mask(const hn_infer *c, int i, const sizes *z, hn_error *err) {
    HN_TRY(hn_want_rank(c, i, 1, 4, err));
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    const hn_shape *m = hn_in_shape(c, i);
    int64_t n, samples, most, total;
    if (m->rank == 1) {
        if (!hn_dim_is_const(m->dim[0], &n) || !hn_dim_is_const(z->samples, &samples))
            return HONE_OK;
        bool lengths = n == samples, ranges = n % 2 == 0 && n / 2 == samples;
        bool sums = n % 3 == 2 && n / 3 == samples;
        HN_CHECK(err, lengths || ranges || sums, HONE_E_SHAPE,
                 "mask of %lld numbers for %lld samples: as many, twice as many, or three times "
                 "and 2 are expected",
                 (long long)n, (long long)samples);
        return HONE_OK;
    }
    HN_TRY(hn_want_equal(m->dim[0], z->samples, "samples of the mask and the input", err));
    if (m->rank < 4) {
        HN_TRY(hn_want_equal(m->dim[m->rank - 1], z->total, "keys of the mask and the input", err));
        if (m->rank == 2) return HONE_OK;
        return hn_want_equal(m->dim[1], z->queries, "queries of the mask and the input", err);
    }
    HN_TRY(hn_want_equal(m->dim[1], hn_dim_const(c->dims, 1), "heads of the mask and 1", err));
    HN_TRY(hn_want_equal(m->dim[2], m->dim[3], "the last two sizes of the mask", err));
    HN_CHECK(
        err,
        !hn_dim_is_const(m->dim[2], &most) || !hn_dim_is_const(z->total, &total) || most >= total,
        HONE_E_SHAPE, "mask for at most %lld positions, there are %lld", (long long)most,
        (long long)total);
    return HONE_OK;
}

/* [samples or 1, heads or 1, queries, keys] */
static hone_status check_bias(const hn_infer *c, int i, const sizes *z, hn_error *err) {
    const hn_shape to = {.rank = 4, .dim = {z->samples, z->heads, z->queries, z->total}};
    HN_TRY(hn_want_rank(c, i, 4, 4, err));
    HN_TRY(hn_want_broadcast_to(c, i, &to, err));
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    HN_TRY(hn_want_equal(hn_in_shape(c, i)->dim[2], z->queries, "queries of the bias and the input",
                         err));
    return hn_want_equal(hn_in_shape(c, i)->dim[3], z->total, "keys of the bias and the input",
                         err);
}

static hone_status head_count(const hn_infer *c, int64_t *heads, hn_error *err) {
    *heads = hn_attr_i(c->node, "num_heads");
    HN_CHECK(err, *heads > 0, HONE_E_ARG, "num_heads is %lld, expected 1 or more",
             (long long)*heads);
    return HONE_OK;
}

/* width / heads */
static hone_status head_size(const hn_infer *c, hn_dim width, int64_t heads, hn_dim *size,
                             hn_error *err) {
    int64_t w;
    HN_CHECK(err, !hn_dim_is_const(width, &w) || w % heads == 0, HONE_E_SHAPE,
             "%lld elements per position, which %lld heads cannot share", (long long)w,
             (long long)heads);
    *size = hn_dim_div(c->dims, width, hn_dim_const(c->dims, heads));
    return HONE_OK;
}

/* ---- rows of scores ---- */

typedef struct job {
    hn_attention a;
    const hn_tensor *mask, *bias;
    double filter;
    bool causal;
    hn_tensor *qk; /* gets the scores with their bias; or NULL */
} job;

/* Sets where[0 .. n) to false for the keys from `from` on that the mask forbids. */
static void apply_mask(const job *j, int64_t sample, int64_t query, int64_t from, int64_t n,
                       bool *where) {
    const hn_tensor *m = j->mask;
    int64_t total = j->a.past + j->a.keys;
    if (m->rank == 1) {
        int64_t end = hn_tensor_s64(m, sample);
        int64_t start = m->n == 2 * j->a.samples ? hn_tensor_s64(m, j->a.samples + sample) : 0;
        for (int64_t i = 0; i < n; i++) where[i] = from + i >= start && from + i < end;
        return;
    }
    int64_t at = sample * total, values[HN_BLOCK];
    if (m->rank == 3) at = (sample * j->a.queries + query) * total;
    if (m->rank == 4) at = (sample * m->dims[2] + j->a.past + query) * m->dims[3];
    hn_load_s64_n(m->dtype, m->data, at + from, n, values);
    for (int64_t i = 0; i < n; i++) where[i] = values[i] > 0;
}

static void add_bias(const job *j, int64_t sample, int64_t head, int64_t query, int64_t from,
                     int64_t n, double *s) {
    const hn_tensor *b = j->bias;
    double values[HN_BLOCK];
    int64_t at = b->dims[0] == 1 ? 0 : sample;
    at = at * b->dims[1] + (b->dims[1] == 1 ? 0 : head);
    at = (at * b->dims[2] + query) * b->dims[3] + from;
    hn_load_f64_n(b->dtype, b->data, at, n, values);
    for (int64_t i = 0; i < n; i++) s[i] += values[i];
}

static void row(const void *ctx, int64_t sample, int64_t head, int64_t query, double *s) {
    const job *j = ctx;
    int64_t total = j->a.past + j->a.keys;
    for (int64_t from = 0; from < total; from += HN_BLOCK) {
        int64_t n = total - from < HN_BLOCK ? total - from : HN_BLOCK;
        bool where[HN_BLOCK];
        for (int64_t i = 0; i < n; i++) where[i] = true;
        if (j->mask != NULL) apply_mask(j, sample, query, from, n, where);
        if (j->bias != NULL) add_bias(j, sample, head, query, from, n, s + from);
        for (int64_t i = 0; i < n; i++) {
            if (j->causal && from + i > j->a.past + query)
                s[from + i] += -FLT_MAX;
            else if (!where[i])
                s[from + i] += j->filter;
        }
    }
    if (j->qk != NULL)
        hn_store_f64_n(j->qk->dtype, j->qk->data,
                       ((sample * j->a.heads + head) * j->a.queries + query) * total, total, s);
    hn_softmax_row(s, total);
}

/* What does not depend on where queries, keys and values lie. */
static void plan(job *j, const hn_eval *e, int mask, int bias) {
    const hn_attr *scale = hn_node_attr(e->node, "scale");
    j->mask = hn_eval_in(e, mask);
    j->bias = hn_eval_in(e, bias);
    j->filter = hn_attr_f(e->node, "mask_filter_value");
    j->causal = hn_attr_i(e->node, "unidirectional") != 0;
    j->a.heads = j->a.kv_heads = hn_attr_i(e->node, "num_heads");
    j->a.scale = scale != NULL && scale->u.f != 0 ? scale->u.f : 1 / sqrt((double)j->a.q.size);
    j->a.row = row;
    j->a.ctx = j;
}

/* ---- as simpler nodes ---- */

/* 1 for each key that the mask allows, 0 for the others; broadcasts to [samples, heads, queries,
 * total]. */
static hn_value *allowed(hn_grad *g, hn_value *mask, const hn_spelled_attention *a, int64_t past) {
    int64_t d[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, mask, d);
    const int64_t one[] = {a->samples, 1, 1, 1}, by_key[] = {a->samples, 1, 1, a->total};
    const int64_t by_query[] = {a->samples, 1, a->queries, a->total};
    if (g->status != HONE_OK) return NULL;
    mask = hn_emit_cast(g, mask);
    if (rank == 1) {
        hn_value *key = hn_emit_distances(g, 1, a->total, 0);
        hn_value *end = hn_emit_reshape(g, hn_emit_slice(g, mask, 0, 0, a->samples), 4, one);
        hn_value *before = HN_TEXT(g, "Where(a < b, 1, 0)", key, end);
        if (d[0] != 2 * a->samples) return before;
        hn_value *start =
            hn_emit_reshape(g, hn_emit_slice(g, mask, 0, a->samples, 2 * a->samples), 4, one);
        return hn_emit_both(g, before, HN_TEXT(g, "Where(a >= b, 1, 0)", key, start));
    }
    if (rank == 2) mask = hn_emit_reshape(g, mask, 4, by_key);
    if (rank == 3) mask = hn_emit_reshape(g, mask, 4, by_query);
    if (rank == 4) {
        mask = hn_emit_slice(g, mask, 2, past, past + a->queries);
        mask = hn_emit_slice(g, mask, 3, 0, a->total);
    }
    return HN_TEXT(g, "Where(a > 0, 1, 0)", mask);
}

/* Fills in what does not depend on where queries, keys and values lie, and makes the nodes. */
static void spell_rest(hn_grad *g, hn_spelled_attention *a, int64_t past, int mask, int bias) {
    const hn_attr *scale = hn_node_attr(g->node, "scale");
    hn_value *m = hn_grad_in(g, mask);
    a->kv_heads = a->heads;
    a->scale = scale != NULL && scale->u.f != 0 ? (double)scale->u.f : 1 / sqrt((double)a->size);
    a->bias = hn_grad_in(g, bias);
    if (m != NULL) {
        double filter = (double)hn_attr_f(g->node, "mask_filter_value");
        hn_value *low =
            HN_TEXT(g, "Where(a > 0, 0, b)", allowed(g, m, a, past), hn_emit_number(g, filter));
        a->bias = a->bias != NULL ? HN_EMIT2(g, "Add", a->bias, low) : low;
    }
    if (hn_attr_i(g->node, "unidirectional") != 0)
        a->keep =
            HN_TEXT(g, "Where(a <= 0, 1, 0)", hn_emit_distances(g, a->queries, a->total, past));
    a->some = true; /* the first key is before every query */
    hn_spell_attention(g, a);
}

/* ---- Attention ---- */

enum { INPUT, WEIGHTS, BIAS, MASK, PAST, ATTENTION_BIAS, PAST_LENGTH };

/* Widths of query, key and value among the columns of the weights. */
static hone_status widths_of(const hn_node *n, int64_t columns, int64_t widths[3], hn_error *err) {
    int count;
    const int64_t *given = hn_attr_ints(n, "qkv_hidden_sizes", &count);
    int64_t sum = 0;
    HN_CHECK(err, count == 0 || count == 3, HONE_E_ARG, "qkv_hidden_sizes has %d sizes, expected 3",
             count);
    for (int i = 0; i < 3; i++) {
        widths[i] = count == 3 ? given[i] : columns / 3;
        HN_CHECK(err, widths[i] >= 0 && hn_i64_add(sum, widths[i], &sum), HONE_E_ARG,
                 "qkv_hidden_sizes holds %lld", (long long)widths[i]);
    }
    HN_CHECK(err, sum == columns && widths[0] == widths[1], HONE_E_SHAPE,
             "weights have %lld columns, which is not %lld + %lld + %lld of query, key and value",
             (long long)columns, (long long)widths[0], (long long)widths[1], (long long)widths[2]);
    return HONE_OK;
}

static hone_status attention_sizes(const hn_infer *c, sizes *z, hn_error *err) {
    const hn_dim *x = hn_in_shape(c, INPUT)->dim, *w = hn_in_shape(c, WEIGHTS)->dim;
    int64_t heads, columns, widths[3];
    HN_TRY(head_count(c, &heads, err));
    HN_TRY(hn_want_equal(x[2], w[0], "elements per position of the input and rows of the weights",
                         err));
    *z = (sizes){.samples = x[0],
                 .heads = hn_dim_const(c->dims, heads),
                 .queries = x[1],
                 .past = hn_dim_const(c->dims, 0),
                 .keys = x[1],
                 .size = hn_dim_fresh(c->dims, -1),
                 .v_size = hn_dim_fresh(c->dims, -1)};
    if (hn_dim_is_const(w[1], &columns)) {
        HN_TRY(widths_of(c->node, columns, widths, err));
        HN_TRY(head_size(c, hn_dim_const(c->dims, widths[0]), heads, &z->size, err));
        HN_TRY(head_size(c, hn_dim_const(c->dims, widths[2]), heads, &z->v_size, err));
        if (hn_has_in(c, PAST) || hn_wants_out(c, 1))
            HN_TRY(
                hn_want_equal(z->size, z->v_size, "head sizes of key and value, with a past", err));
    }
    if (hn_has_in(c, PAST)) {
        HN_TRY(hn_want_rank(c, PAST, 5, 5, err));
        z->past = hn_dim_fresh(c->dims, -1);
        if (hn_in_rank(c, PAST) == 5) {
            const hn_dim *p = hn_in_shape(c, PAST)->dim;
            z->past = p[3];
            HN_TRY(hn_want_equal(p[0], hn_dim_const(c->dims, 2), "parts of past and 2", err));
            HN_TRY(hn_want_equal(p[1], z->samples, "samples of past and the input", err));
            HN_TRY(hn_want_equal(p[2], z->heads, "heads of past and num_heads", err));
            HN_TRY(hn_want_equal(p[4], z->size, "head sizes of past and key", err));
        }
    }
    z->total = hn_dim_add(c->dims, z->past, z->keys);
    return HONE_OK;
}

static hone_status infer_attention(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, INPUT, 3, 3, err));
    HN_TRY(hn_want_rank(c, WEIGHTS, 2, 2, err));
    HN_TRY(hn_want_rank(c, BIAS, 1, 1, err));
    if (hn_in_rank(c, INPUT) < 0 || hn_in_rank(c, WEIGHTS) < 0) return HONE_OK;
    sizes z;
    HN_TRY(attention_sizes(c, &z, err));
    if (hn_in_rank(c, BIAS) >= 0)
        HN_TRY(hn_want_equal(hn_in_shape(c, BIAS)->dim[0], hn_in_shape(c, WEIGHTS)->dim[1],
                             "elements of the bias and columns of the weights", err));
    HN_TRY(check_mask(c, MASK, &z, err));
    HN_TRY(check_bias(c, ATTENTION_BIAS, &z, err));
    hn_shape y = {.rank = 3, .dim = {z.samples, z.queries, hn_dim_mul(c->dims, z.heads, z.v_size)}};
    hn_shape present = {.rank = 5,
                        .dim = {hn_dim_const(c->dims, 2), z.samples, z.heads, z.total, z.size}};
    hn_set_shape(c, 0, &y);
    if (hn_attr_i(c->node, "past_present_share_buffer") == 0) hn_set_shape(c, 1, &present);
    return HONE_OK;
}

/* The product of the input and the weights, with the bias, and then both of attention. */
static void cost_attention(const hn_infer *c, hn_cost *cost) {
    sizes z;
    if (hn_in_rank(c, INPUT) != 3 || hn_in_rank(c, WEIGHTS) != 2) return;
    if (attention_sizes(c, &z, NULL) != HONE_OK) return;
    hn_attention_cost(c->dims, z.samples, z.heads, z.queries, z.total, z.size, z.v_size, cost);
    hn_dim rows = hn_dim_mul(c->dims, z.samples, z.queries);
    hn_dim product =
        hn_dim_mul(c->dims, rows, hn_shape_product(c->dims, hn_in_shape(c, WEIGHTS), 0, 2));
    cost->macs = hn_dim_add(c->dims, cost->macs, product);
}

/* The product's sums and the bias, [rows, columns]. */
typedef struct projection {
    double *to;
    const double *bias; /* or NULL */
    int64_t columns;
} projection;

static void store_projection(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const projection *p = ctx;
    for (int64_t i = 0; i < at->n_rows; i++)
        for (int64_t k = 0; k < at->n_cols; k++)
            p->to[(at->row + i) * p->columns + at->col + k] =
                ((const double *)sums)[i * pitch + k] +
                (p->bias != NULL ? p->bias[at->col + k] : 0);
}

static hone_status project(hn_eval *e, projection *p, int64_t rows, hn_error *err) {
    const hn_tensor *x = e->in[INPUT], *w = e->in[WEIGHTS], *bias = hn_eval_in(e, BIAS);
    int64_t n;
    p->columns = w->dims[1];
    HN_CHECK(err, hn_i64_mul(rows, p->columns, &n), HONE_E_SHAPE,
             "a product of %lld x %lld is too large", (long long)rows, (long long)p->columns);
    p->to = hn_scratch(e, n, sizeof *p->to);
    if (p->to == NULL) return HN_NOMEM(err);
    if (bias != NULL && (p->bias = hn_scratch_f64(e, bias)) == NULL) return HN_NOMEM(err);
    hn_strided_matrix a = {.t = x, .row_stride = x->dims[2], .col_stride = 1};
    hn_strided_matrix b = {.t = w, .row_stride = p->columns, .col_stride = 1};
    hn_gemm g = {.n_batch = 1,
                 .m = rows,
                 .n = p->columns,
                 .k = x->dims[2],
                 .a = hn_matrix_f64(&a),
                 .b = hn_matrix_f64(&b),
                 .store = store_projection,
                 .out = p};
    return hn_gemm_ref(e, &g, err);
}

static hone_status ref_attention(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[INPUT], *past = hn_eval_in(e, PAST);
    hn_tensor *y = e->out[0], *present = hn_eval_out(e, 1);
    HN_CHECK(err, hn_attr_i(e->node, "do_rotary") == 0, HONE_E_UNSUPPORTED,
             "do_rotary is not supported");
    HN_CHECK(err, hn_attr_i(e->node, "past_present_share_buffer") == 0, HONE_E_UNSUPPORTED,
             "past_present_share_buffer is not supported");
    if (y->n == 0 && (present == NULL || present->n == 0)) return HONE_OK;
    projection p = {0};
    HN_TRY(project(e, &p, x->dims[0] * x->dims[1], err));
    int64_t widths[3], at = 0, heads = hn_attr_i(e->node, "num_heads");
    HN_TRY(widths_of(e->node, p.columns, widths, err));
    job j = {.a = {.samples = x->dims[0],
                   .queries = x->dims[1],
                   .keys = x->dims[1],
                   .past = past != NULL ? past->dims[3] : 0}};
    hn_attention *a = &j.a;
    hn_heads *const parts[3] = {&a->q, &a->k, &a->v};
    for (int i = 0; i < 3; at += widths[i++])
        *parts[i] = (hn_heads){.dtype = HONE_DTYPE_F64,
                               .data = p.to,
                               .at = at,
                               .sample = a->queries * p.columns,
                               .head = widths[i] / heads,
                               .position = p.columns,
                               .size = widths[i] / heads};
    plan(&j, e, MASK, ATTENTION_BIAS);
    if (past != NULL) {
        a->past_k = a->past_v = hn_heads_first(past, heads, a->past, a->k.size);
        a->past_v.at = past->n / 2;
    }
    a->y = hn_heads_inside(y, heads, a->queries, a->v.size);
    HN_TRY(hn_attention_ref(e, a, err));
    hn_attention_present(a, &a->past_k, &a->k, present, 0);
    if (present != NULL) hn_attention_present(a, &a->past_v, &a->v, present, present->n / 2);
    return HONE_OK;
}

static hone_status spell_attention(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t x[HONE_MAX_RANK], w[HONE_MAX_RANK], p[HONE_MAX_RANK] = {0}, widths[3], at = 0;
    int64_t heads = hn_attr_i(g->node, "num_heads");
    hn_value *past = hn_grad_in(g, PAST), *part[3], *state[2];
    hn_grad_dims(g, hn_grad_in(g, INPUT), x);
    hn_grad_dims(g, hn_grad_in(g, WEIGHTS), w);
    if (past != NULL) hn_grad_dims(g, past, p);
    HN_TRY(g->status);
    HN_TRY(widths_of(g->node, w[1], widths, err));
    hn_value *all = HN_EMIT2(g, "MatMul", hn_grad_in(g, INPUT), hn_grad_in(g, WEIGHTS));
    if (hn_grad_in(g, BIAS) != NULL) all = HN_EMIT2(g, "Add", all, hn_grad_in(g, BIAS));
    for (int i = 0; i < 3; at += widths[i++])
        part[i] = hn_emit_heads(g, hn_emit_slice(g, all, 2, at, at + widths[i]), x[0], x[1], heads,
                                widths[i] / heads);
    for (int i = 0; i < 2; i++) {
        hn_value *before = past != NULL ? hn_emit_slice(g, past, 0, i, i + 1) : NULL;
        hn_value *both[] = {hn_emit_reshape(g, before, 4, p + 1), part[1 + i]};
        state[i] = past != NULL ? hn_emit_concat(g, 2, 2, both) : part[1 + i];
    }
    hn_spelled_attention a = {.samples = x[0],
                              .heads = heads,
                              .queries = x[1],
                              .total = p[3] + x[1],
                              .size = widths[0] / heads,
                              .v_size = widths[2] / heads,
                              .q = part[0],
                              .k = state[0],
                              .v = state[1]};
    spell_rest(g, &a, p[3], MASK, ATTENTION_BIAS);
    y[0] = hn_emit_joined(g, a.y, x[0], x[1], widths[2]);
    if (hn_grad_out(g, 1) == NULL) return HONE_OK;
    const int64_t stacked[] = {1, a.samples, heads, a.total, a.size};
    for (int i = 0; i < 2; i++) state[i] = hn_emit_reshape(g, state[i], 5, stacked);
    y[1] = hn_emit_concat(g, 0, 2, state);
    return HONE_OK;
}

const hn_op_def hn_op_ms_attention = {
    .domain = "com.microsoft",
    .name = "Attention",
    .versions = "1",
    .sig =
        "(input:T, weights:T, bias:T?, mask_index:s32?, past:T?, attention_bias:T?, "
        "past_sequence_length:s32?) -> (output:T, present:T?); T: f32 f16 bf16",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("do_rotary", 0),
                                   HN_ATTR_F("mask_filter_value", -10000.0f),
                                   HN_ATTR_REQ("num_heads", INT),
                                   HN_ATTR_I("past_present_share_buffer", 0),
                                   HN_ATTR_OPT("qkv_hidden_sizes", INTS),
                                   HN_ATTR_OPT("rotary_embedding_dim", INT),
                                   HN_ATTR_OPT("scale", FLOAT),
                                   HN_ATTR_I("unidirectional", 0),
                                   {0}},
    .infer = infer_attention,
    .ref = ref_attention,
    .cost = cost_attention,
    .spell = spell_attention};

/* ---- MultiHeadAttention ---- */

enum { QUERY, KEY, VALUE, QKV_BIAS, KEY_MASK, QK_BIAS, PAST_K, PAST_V, LENGTH, BEAMS };
enum { OUTPUT, PRESENT_K, PRESENT_V, QK };

/* Positions and head size of input i, which has heads of any layout. */
static hone_status read_heads(const hn_infer *c, int i, int64_t heads, hn_dim *positions,
                              hn_dim *size, hn_error *err) {
    const hn_shape *s = hn_in_shape(c, i);
    *positions = s->dim[s->rank == 4 ? 2 : 1];
    *size = s->dim[s->rank - 1];
    if (s->rank == 3) return head_size(c, s->dim[2], heads, size, err);
    if (s->rank == 5)
        HN_TRY(hn_want_equal(s->dim[3], hn_dim_const(c->dims, i == QUERY ? 3 : 2),
                             "axis 3 of packed heads and their number", err));
    return hn_want_equal(s->dim[s->rank == 4 ? 1 : 2], hn_dim_const(c->dims, heads),
                         "heads of an input and num_heads", err);
}

/* Which forms of query, key and value go together. */
static hone_status check_forms(const hn_infer *c, hn_error *err) {
    int q = hn_in_rank(c, QUERY), k = hn_in_rank(c, KEY), v = hn_in_rank(c, VALUE);
    HN_TRY(hn_want_rank(c, QUERY, 3, 5, err));
    HN_TRY(hn_want_rank(c, KEY, 3, 5, err));
    HN_TRY(hn_want_rank(c, VALUE, 3, 4, err));
    HN_CHECK(err, q != 4, HONE_E_SHAPE, "query has rank 4, expected 3, or 5 with key and value");
    HN_CHECK(err, q < 0 || (q == 3) == hn_has_in(c, KEY), HONE_E_SHAPE,
             "query of rank %d %s key and value", q, q == 3 ? "needs" : "holds");
    HN_CHECK(err, hn_has_in(c, KEY) || !hn_has_in(c, VALUE), HONE_E_MODEL, "value without key");
    HN_CHECK(err, k < 0 || (k != 5) == hn_has_in(c, VALUE), HONE_E_SHAPE, "key of rank %d %s value",
             k, k == 5 ? "holds" : "needs");
    HN_CHECK(err, k < 0 || v < 0 || k == v, HONE_E_SHAPE, "key has rank %d, value %d", k, v);
    for (int i = PAST_K; i <= PAST_V; i++) HN_TRY(hn_want_rank(c, i, 4, 4, err));
    HN_CHECK(err, hn_has_in(c, PAST_K) == hn_has_in(c, PAST_V), HONE_E_MODEL,
             "past_key and past_value go together");
    return HONE_OK;
}

/* All of query, key and value are known to have a rank. */
static bool known(const hn_infer *c) {
    return hn_in_rank(c, QUERY) >= 0 && (!hn_has_in(c, KEY) || hn_in_rank(c, KEY) >= 0) &&
           (!hn_has_in(c, VALUE) || hn_in_rank(c, VALUE) >= 0);
}

static hone_status check_past(const hn_infer *c, int i, const sizes *z, hn_dim size,
                              hn_error *err) {
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    const hn_dim *d = hn_in_shape(c, i)->dim;
    HN_TRY(hn_want_equal(d[0], z->samples, "samples of the past and the query", err));
    HN_TRY(hn_want_equal(d[1], z->heads, "heads of the past and num_heads", err));
    HN_TRY(hn_want_equal(d[2], z->past, "positions of past_key and past_value", err));
    return hn_want_equal(d[3], size, "head sizes of the past and the present", err);
}

static hone_status multi_head_sizes(const hn_infer *c, sizes *z, hn_error *err) {
    int key = hn_has_in(c, KEY) ? KEY : QUERY, value = hn_has_in(c, VALUE) ? VALUE : key;
    hn_dim k_size, v_keys;
    int64_t heads;
    HN_TRY(head_count(c, &heads, err));
    *z = (sizes){.samples = hn_in_shape(c, QUERY)->dim[0],
                 .heads = hn_dim_const(c->dims, heads),
                 .past = hn_dim_const(c->dims, 0)};
    HN_TRY(read_heads(c, QUERY, heads, &z->queries, &z->size, err));
    HN_TRY(read_heads(c, key, heads, &z->keys, &k_size, err));
    HN_TRY(read_heads(c, value, heads, &v_keys, &z->v_size, err));
    HN_TRY(hn_want_equal(z->size, k_size, "head sizes of query and key", err));
    HN_TRY(hn_want_equal(z->keys, v_keys, "positions of key and value", err));
    HN_TRY(hn_want_equal(z->samples, hn_in_shape(c, key)->dim[0], "samples of query and key", err));
    HN_TRY(hn_want_equal(z->samples, hn_in_shape(c, value)->dim[0], "samples of query and value",
                         err));
    if (hn_has_in(c, PAST_K)) {
        z->past =
            hn_in_rank(c, PAST_K) == 4 ? hn_in_shape(c, PAST_K)->dim[2] : hn_dim_fresh(c->dims, -1);
        HN_TRY(check_past(c, PAST_K, z, z->size, err));
        HN_TRY(check_past(c, PAST_V, z, z->v_size, err));
    }
    z->total = hn_dim_add(c->dims, z->past, z->keys);
    return HONE_OK;
}

static hone_status infer_multi_head(hn_infer *c, hn_error *err) {
    sizes z;
    hn_set_dtype(c, QK, c->in[QUERY].dtype);
    HN_TRY(check_forms(c, err));
    if (!known(c)) return HONE_OK;
    HN_TRY(multi_head_sizes(c, &z, err));
    hn_dim y = hn_dim_mul(c->dims, z.heads, z.v_size);
    HN_TRY(hn_want_rank(c, QKV_BIAS, 1, 1, err));
    if (hn_in_rank(c, QKV_BIAS) >= 0) {
        hn_dim q = hn_dim_mul(c->dims, z.heads, z.size);
        HN_TRY(hn_want_equal(hn_in_shape(c, QKV_BIAS)->dim[0],
                             hn_dim_add(c->dims, hn_dim_mulc(c->dims, q, 2), y),
                             "elements of the bias and of query, key and value together", err));
    }
    HN_TRY(check_mask(c, KEY_MASK, &z, err));
    HN_TRY(check_bias(c, QK_BIAS, &z, err));
    hn_set_shape(c, OUTPUT, &(hn_shape){3, {z.samples, z.queries, y}});
    hn_set_shape(c, QK, &(hn_shape){4, {z.samples, z.heads, z.queries, z.total}});
    if (hn_has_in(c, LENGTH)) return HONE_OK;
    hn_set_shape(c, PRESENT_K, &(hn_shape){4, {z.samples, z.heads, z.total, z.size}});
    hn_set_shape(c, PRESENT_V, &(hn_shape){4, {z.samples, z.heads, z.total, z.v_size}});
    return HONE_OK;
}

static void cost_multi_head(const hn_infer *c, hn_cost *cost) {
    sizes z;
    if (check_forms(c, NULL) != HONE_OK || !known(c)) return;
    if (multi_head_sizes(c, &z, NULL) != HONE_OK) return;
    hn_attention_cost(c->dims, z.samples, z.heads, z.queries, z.total, z.size, z.v_size, cost);
}

/* Heads of a tensor of any layout; `part` says which of those packed together. */
static hn_heads heads_of(const hn_tensor *t, int64_t heads, int64_t part) {
    if (t->rank == 3) return hn_heads_inside(t, heads, t->dims[1], t->dims[2] / heads);
    if (t->rank == 4) return hn_heads_first(t, heads, t->dims[2], t->dims[3]);
    int64_t size = t->dims[4];
    hn_heads h = hn_heads_inside(t, heads, t->dims[1], t->dims[3] * size);
    h.at = part * size;
    h.size = size;
    return h;
}

static hone_status ref_multi_head(hn_eval *e, hn_error *err) {
    const hn_tensor *q = e->in[QUERY], *k = hn_eval_in(e, KEY), *v = hn_eval_in(e, VALUE);
    const hn_tensor *past_k = hn_eval_in(e, PAST_K), *past_v = hn_eval_in(e, PAST_V);
    const hn_tensor *bias = hn_eval_in(e, QKV_BIAS);
    HN_CHECK(err, hn_eval_in(e, LENGTH) == NULL && hn_eval_in(e, BEAMS) == NULL, HONE_E_UNSUPPORTED,
             "past_sequence_length and cache_indirection are not supported");
    int64_t heads = hn_attr_i(e->node, "num_heads");
    if (k == NULL) k = q;
    if (v == NULL) v = k;
    job j = {.a = {.samples = q->dims[0],
                   .queries = q->dims[1],
                   .past = past_k != NULL ? past_k->dims[2] : 0,
                   .keys = k->dims[k->rank == 4 ? 2 : 1],
                   .q = heads_of(q, heads, 0),
                   .k = heads_of(k, heads, k == q ? 1 : 0),
                   .v = heads_of(v, heads, v == q ? 2 : 1)},
             .qk = hn_eval_out(e, QK)};
    hn_attention *a = &j.a;
    plan(&j, e, KEY_MASK, QK_BIAS);
    if (past_k != NULL) {
        a->past_k = hn_heads_first(past_k, heads, a->past, a->k.size);
        a->past_v = hn_heads_first(past_v, heads, a->past, a->v.size);
    }
    if (bias != NULL) {
        if ((a->q.bias = hn_scratch_f64(e, bias)) == NULL) return HN_NOMEM(err);
        /* Keys and values with an axis for heads are finished: they come from a cache. */
        if (k->rank != 4) {
            a->k.bias = a->q.bias + heads * a->q.size;
            a->v.bias = a->k.bias + heads * a->q.size;
        }
    }
    a->y = hn_heads_inside(e->out[OUTPUT], heads, a->queries, a->v.size);
    if (e->out[OUTPUT]->n > 0 || (j.qk != NULL && j.qk->n > 0)) HN_TRY(hn_attention_ref(e, a, err));
    hn_attention_present(a, &a->past_k, &a->k, hn_eval_out(e, PRESENT_K), 0);
    hn_attention_present(a, &a->past_v, &a->v, hn_eval_out(e, PRESENT_V), 0);
    return HONE_OK;
}

/* Part `part` of an input of any layout as [samples, heads, positions, size], which go to dims, with
 * its share of the bias, from element `at` on. */
static hn_value *heads_spelled(hn_grad *g, int input, int part, int64_t heads, int64_t *at,
                               int64_t *dims) {
    static const int64_t heads_first[] = {0, 2, 1, 3};
    int64_t d[HONE_MAX_RANK];
    hn_value *v = hn_grad_in(g, input), *bias = hn_grad_in(g, QKV_BIAS);
    int rank = hn_grad_dims(g, v, d);
    if (g->status != HONE_OK) return NULL;
    dims[0] = d[0];
    dims[1] = heads;
    dims[2] = d[rank == 4 ? 2 : 1];
    dims[3] = rank == 3 ? d[2] / heads : d[rank - 1];
    if (rank == 4) return v; /* from a cache: finished */
    const int64_t apart[] = {d[0], d[1], heads, dims[3]}, by_head[] = {heads, dims[3]};
    if (rank == 5) v = hn_emit_slice(g, v, 3, part, part + 1);
    v = hn_emit_reshape(g, v, 4, apart);
    if (bias != NULL) {
        int64_t n = heads * dims[3];
        v = HN_EMIT2(g, "Add", v,
                     hn_emit_reshape(g, hn_emit_slice(g, bias, 0, *at, *at + n), 2, by_head));
        *at += n;
    }
    return hn_emit_transposed(g, v, 4, heads_first);
}

static hone_status spell_multi_head(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t heads = hn_attr_i(g->node, "num_heads"), q[4] = {0}, k[4] = {0}, v[4] = {0}, at = 0;
    int64_t p[HONE_MAX_RANK] = {0};
    int key = hn_grad_in(g, KEY) != NULL ? KEY : QUERY;
    int value = hn_grad_in(g, VALUE) != NULL ? VALUE : key;
    hn_value *past[] = {hn_grad_in(g, PAST_K), hn_grad_in(g, PAST_V)};
    if (hn_grad_in(g, LENGTH) != NULL || hn_grad_in(g, BEAMS) != NULL)
        return hn_grad_refuse(g, "past_sequence_length and cache_indirection", err);
    if (past[0] != NULL) hn_grad_dims(g, past[0], p);
    hn_spelled_attention a = {.q = heads_spelled(g, QUERY, 0, heads, &at, q)};
    a.k = heads_spelled(g, key, key == QUERY ? 1 : 0, heads, &at, k);
    a.v = heads_spelled(g, value, value == QUERY ? 2 : 1, heads, &at, v);
    if (past[0] != NULL) {
        a.k = hn_emit_concat(g, 2, 2, (hn_value *const[]){past[0], a.k});
        a.v = hn_emit_concat(g, 2, 2, (hn_value *const[]){past[1], a.v});
    }
    HN_TRY(g->status);
    a.samples = q[0], a.heads = heads, a.queries = q[2], a.size = q[3];
    a.total = p[2] + k[2], a.v_size = v[3];
    spell_rest(g, &a, p[2], KEY_MASK, QK_BIAS);
    y[OUTPUT] = hn_emit_joined(g, a.y, a.samples, a.queries, heads * a.v_size);
    y[PRESENT_K] = a.k;
    y[PRESENT_V] = a.v;
    if (a.keep == NULL) y[QK] = a.biased; /* else it holds the lowest float */
    return HONE_OK;
}

const hn_op_def hn_op_ms_multi_head_attention = {
    .domain = "com.microsoft",
    .name = "MultiHeadAttention",
    .versions = "1",
    .sig =
        "(query:T, key:T?, value:T?, bias:T?, key_padding_mask:s32?, attention_bias:T?, "
        "past_key:T?, past_value:T?, past_sequence_length:s32?, cache_indirection:s32?) -> "
        "(output:T, present_key:T?, present_value:T?, qk:QK?); T: f32 f16 bf16; QK: f32 f16 "
        "bf16",
    .attrs = (const hn_attr_def[]){HN_ATTR_F("mask_filter_value", -10000.0f),
                                   HN_ATTR_REQ("num_heads", INT),
                                   HN_ATTR_OPT("scale", FLOAT),
                                   HN_ATTR_I("unidirectional", 0),
                                   {0}},
    .infer = infer_multi_head,
    .ref = ref_multi_head,
    .cost = cost_multi_head,
    .spell = spell_multi_head};
