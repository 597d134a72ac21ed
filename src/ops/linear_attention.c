/* LinearAttention: attention as a recurrence. Each key and value head carries a state S [d_k, d_v];
 * for each position in turn, with k, v, q, g (decay), b (beta) its own,
 *
 *     S = exp(g) S                    the gated rules
 *     v = b (v - S' k)                the delta rules
 *     S = S + k v'
 *     o = scale S' q                  for each query head that shares the state
 *
 * query, key, value are [samples, positions, heads * size].
 */
#include <math.h>

#include "ops/grad.h"

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

static bool is_gated(const hn_node *n) {
    return hn_attr_is(n, "update_rule", "gated") || hn_attr_is(n, "update_rule", "gated_delta");
}

static bool is_delta(const hn_node *n) {
    return hn_attr_is(n, "update_rule", "delta") || hn_attr_is(n, "update_rule", "gated_delta");
}

/* ---- inference ---- */

static hone_status check_form(const hn_infer *c, hn_error *err) {
    int64_t q_heads = hn_attr_i(c->node, "q_num_heads");
    int64_t kv_heads = hn_attr_i(c->node, "kv_num_heads");
    HN_CHECK(err, q_heads > 0 && kv_heads > 0 && q_heads % kv_heads == 0, HONE_E_ARG,
             "q_num_heads is %lld, expected a positive multiple of kv_num_heads, %lld",
             (long long)q_heads, (long long)kv_heads);
    const char *rule = hn_attr_s(c->node, "update_rule");
    HN_CHECK(err, hn_has_in(c, DECAY) == is_gated(c->node), HONE_E_MODEL,
             "update_rule '%s' %s the input decay", rule,
             is_gated(c->node) ? "needs" : "does not take");
    HN_CHECK(err, hn_has_in(c, BETA) == is_delta(c->node), HONE_E_MODEL,
             "update_rule '%s' %s the input beta", rule,
             is_delta(c->node) ? "needs" : "does not take");
    for (int i = QUERY; i <= BETA; i++)
        HN_TRY(hn_want_rank(c, i, i == PAST ? 4 : 3, i == PAST ? 4 : 3, err));
    return HONE_OK;
}

/* The last axis of input i divided among heads. */
static hone_status head_size(const hn_infer *c, int i, int64_t heads, hn_dim *size, hn_error *err) {
    hn_dim width = hn_in_shape(c, i)->dim[2];
    int64_t w;
    if (hn_dim_is_const(width, &w))
        HN_CHECK(err, w % heads == 0, HONE_E_SHAPE,
                 "input %d has %lld elements per position, which %lld heads cannot share", i,
                 (long long)w, (long long)heads);
    *size = hn_dim_div(c->dims, width, hn_dim_const(c->dims, heads));
    return HONE_OK;
}

/* Gates have one number per head, or `other` in all. */
static hone_status check_gate(const hn_infer *c, int i, int64_t heads, hn_dim other,
                              hn_error *err) {
    int64_t found, wanted = heads;
    if (hn_in_rank(c, i) < 0 || !hn_dim_is_const(hn_in_shape(c, i)->dim[2], &found)) return HONE_OK;
    if (found == heads || !hn_dim_is_const(other, &wanted) || found == wanted) return HONE_OK;
    return HN_FAIL(err, HONE_E_SHAPE,
                   "input %d has %lld elements per position, expected %lld or %lld", i,
                   (long long)found, (long long)heads, (long long)wanted);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(check_form(c, err));
    if (!hn_has_in(c, PAST)) hn_set_dtype(c, 1, c->in[QUERY].dtype);
    int64_t q_heads = hn_attr_i(c->node, "q_num_heads");
    int64_t kv_heads = hn_attr_i(c->node, "kv_num_heads");
    if (hn_in_rank(c, QUERY) < 0 || hn_in_rank(c, KEY) < 0 || hn_in_rank(c, VALUE) < 0)
        return HONE_OK;
    const hn_dim *q = hn_in_shape(c, QUERY)->dim;
    for (int i = KEY; i <= BETA; i++) {
        if (hn_in_rank(c, i) < 0) continue;
        HN_TRY(hn_want_equal(q[0], hn_in_shape(c, i)->dim[0], "samples of the inputs", err));
        if (i != PAST)
            HN_TRY(hn_want_equal(q[1], hn_in_shape(c, i)->dim[1], "positions of the inputs", err));
    }
    hn_dim k_size, q_size, v_size, heads = hn_dim_const(c->dims, kv_heads);
    HN_TRY(head_size(c, QUERY, q_heads, &q_size, err));
    HN_TRY(head_size(c, KEY, kv_heads, &k_size, err));
    HN_TRY(head_size(c, VALUE, kv_heads, &v_size, err));
    HN_TRY(hn_want_equal(q_size, k_size, "head sizes of query and key", err));
    HN_TRY(check_gate(c, DECAY, kv_heads, hn_in_shape(c, KEY)->dim[2], err));
    HN_TRY(check_gate(c, BETA, kv_heads, hn_dim_const(c->dims, 1), err));
    if (hn_in_rank(c, PAST) >= 0) {
        const hn_dim *past = hn_in_shape(c, PAST)->dim;
        HN_TRY(hn_want_equal(past[1], heads, "heads of past_state and kv_num_heads", err));
        HN_TRY(hn_want_equal(past[2], k_size, "key sizes of past_state and key", err));
        HN_TRY(hn_want_equal(past[3], v_size, "value sizes of past_state and value", err));
    }
    hn_shape y = {.rank = 3, .dim = {q[0], q[1], hn_dim_mulc(c->dims, v_size, q_heads)}};
    hn_shape state = {.rank = 4, .dim = {q[0], heads, k_size, v_size}};
    hn_set_shape(c, 0, &y);
    hn_set_shape(c, 1, &state);
    return HONE_OK;
}

/* Writing, the correction, and reading by each query head. */
static void cost(const hn_infer *c, hn_cost *cost) {
    int64_t q_heads = hn_attr_i(c->node, "q_num_heads");
    int64_t kv_heads = hn_attr_i(c->node, "kv_num_heads");
    if (hn_in_rank(c, KEY) != 3 || hn_in_rank(c, VALUE) != 3 || kv_heads <= 0) return;
    const hn_dim *k = hn_in_shape(c, KEY)->dim, *v = hn_in_shape(c, VALUE)->dim;
    hn_dim heads = hn_dim_const(c->dims, kv_heads);
    hn_dim state =
        hn_dim_mul(c->dims, hn_dim_div(c->dims, k[2], heads), hn_dim_div(c->dims, v[2], heads));
    hn_dim times = hn_dim_mulc(c->dims, heads, is_delta(c->node) ? 2 : 1);
    times = hn_dim_add(c->dims, times, hn_dim_const(c->dims, q_heads));
    cost->macs =
        hn_dim_mul(c->dims, hn_dim_mul(c->dims, k[0], k[1]), hn_dim_mul(c->dims, state, times));
}

/* ---- evaluation ---- */

typedef struct job {
    const hn_tensor *q, *k, *v, *past, *decay, *beta;
    hn_tensor *y, *present;
    int64_t positions, q_heads, kv_heads, d_k, d_v;
    int64_t decays, betas; /* elements per position */
    double scale;
    double *state; /* [samples, kv_heads, d_k, d_v] */
    double *work;  /* [samples, kv_heads, 2 d_k + 2 d_v] */
} job;

static void decay_state(const job *j, int64_t place, int64_t head, double *s) {
    bool per_head = j->decays == j->kv_heads;
    int64_t at = place * j->decays + (per_head ? head : head * j->d_k);
    for (int64_t i = 0; i < j->d_k; i++) {
        double f = exp(hn_tensor_f64(j->decay, per_head ? at : at + i));
        for (int64_t m = 0; m < j->d_v; m++) s[i * j->d_v + m] *= f;
    }
}

/* to[d_v] = S' by[d_k] */
static void read_state(const job *j, const double *s, const double *by, double *to) {
    for (int64_t m = 0; m < j->d_v; m++) to[m] = 0;
    for (int64_t i = 0; i < j->d_k; i++)
        for (int64_t m = 0; m < j->d_v; m++) to[m] += by[i] * s[i * j->d_v + m];
}

/* One key and value head of one sample, through all positions. */
static void run(void *ctx, int64_t which) {
    const job *j = ctx;
    int64_t sample = which / j->kv_heads, head = which % j->kv_heads, n_state = j->d_k * j->d_v;
    int64_t group = j->q_heads / j->kv_heads;
    double *s = j->state + which * n_state, *k = j->work + which * 2 * (j->d_k + j->d_v);
    double *q = k + j->d_k, *v = q + j->d_k, *o = v + j->d_v;
    if (j->past != NULL)
        hn_load_f64_n(j->past->dtype, j->past->data, which * n_state, n_state, s);
    else
        for (int64_t i = 0; i < n_state; i++) s[i] = 0;
    for (int64_t t = 0; t < j->positions; t++) {
        int64_t place = sample * j->positions + t;
        hn_load_f64_n(j->k->dtype, j->k->data, (place * j->kv_heads + head) * j->d_k, j->d_k, k);
        hn_load_f64_n(j->v->dtype, j->v->data, (place * j->kv_heads + head) * j->d_v, j->d_v, v);
        if (j->decay != NULL) decay_state(j, place, head, s);
        if (j->beta != NULL) {
            double b = hn_tensor_f64(j->beta, place * j->betas + (j->betas == 1 ? 0 : head));
            read_state(j, s, k, o);
            for (int64_t m = 0; m < j->d_v; m++) v[m] = b * (v[m] - o[m]);
        }
        for (int64_t i = 0; i < j->d_k; i++)
            for (int64_t m = 0; m < j->d_v; m++) s[i * j->d_v + m] += k[i] * v[m];
        for (int64_t h = head * group; h < (head + 1) * group; h++) {
            int64_t at = place * j->q_heads + h;
            hn_load_f64_n(j->q->dtype, j->q->data, at * j->d_k, j->d_k, q);
            read_state(j, s, q, o);
            for (int64_t m = 0; m < j->d_v; m++) o[m] *= j->scale;
            hn_store_f64_n(j->y->dtype, j->y->data, at * j->d_v, j->d_v, o);
        }
    }
    hn_store_f64_n(j->present->dtype, j->present->data, which * n_state, n_state, s);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.q = e->in[QUERY],
             .k = e->in[KEY],
             .v = e->in[VALUE],
             .past = hn_eval_in(e, PAST),
             .decay = hn_eval_in(e, DECAY),
             .beta = hn_eval_in(e, BETA),
             .y = e->out[0],
             .present = e->out[1],
             .q_heads = hn_attr_i(e->node, "q_num_heads"),
             .kv_heads = hn_attr_i(e->node, "kv_num_heads"),
             .scale = hn_attr_f(e->node, "scale")};
    if (j.y->n == 0 && j.present->n == 0) return HONE_OK;
    j.positions = j.q->dims[1];
    j.d_k = j.k->dims[2] / j.kv_heads;
    j.d_v = j.v->dims[2] / j.kv_heads;
    if (j.decay != NULL) j.decays = j.decay->dims[2];
    if (j.beta != NULL) j.betas = j.beta->dims[2];
    if (j.scale == 0) j.scale = 1 / sqrt((double)j.d_k);
    int64_t n = j.q->dims[0] * j.kv_heads;
    j.state = hn_scratch(e, j.present->n, sizeof *j.state);
    j.work = hn_scratch(e, n, (size_t)(j.d_k + j.d_v) * 2 * sizeof *j.work);
    if (j.state == NULL || j.work == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, n, run, &j);
    return HONE_OK;
}

/* ---- as simpler nodes ---- */

/* More would make a graph that takes longer to plan than to run. */
enum { MOST_POSITIONS = 4096 };

/* Position t of input i as [samples, kv_heads, rows, columns]. */
static hn_value *at(hn_grad *g, int i, int64_t t, const int64_t *dims) {
    return hn_emit_reshape(g, hn_emit_slice(g, hn_grad_in(g, i), 1, t, t + 1), 4, dims);
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t q[HONE_MAX_RANK], k[HONE_MAX_RANK], v[HONE_MAX_RANK], decays[HONE_MAX_RANK] = {0};
    int64_t betas[HONE_MAX_RANK] = {0}, heads = hn_attr_i(g->node, "kv_num_heads");
    hn_grad_dims(g, hn_grad_in(g, QUERY), q);
    hn_grad_dims(g, hn_grad_in(g, KEY), k);
    hn_grad_dims(g, hn_grad_in(g, VALUE), v);
    if (hn_grad_in(g, DECAY) != NULL) hn_grad_dims(g, hn_grad_in(g, DECAY), decays);
    if (hn_grad_in(g, BETA) != NULL) hn_grad_dims(g, hn_grad_in(g, BETA), betas);
    HN_TRY(g->status);
    if (q[1] < 1 || q[1] > MOST_POSITIONS)
        return hn_grad_refuse(g, "it is differentiated for 1 to 4096 positions", err);
    int64_t n = q[0], d_k = k[2] / heads, d_v = v[2] / heads,
            q_heads = hn_attr_i(g->node, "q_num_heads");
    double scale = (double)hn_attr_f(g->node, "scale");
    if (scale == 0) scale = 1 / sqrt((double)d_k);
    const int64_t state[] = {n, heads, d_k, d_v}, column[] = {n, heads, d_k, 1};
    const int64_t row[] = {n, heads, 1, d_v}, query[] = {n, heads, q_heads / heads, d_k};
    const int64_t decay[] = {n, heads, decays[2] == heads ? 1 : d_k, 1};
    const int64_t beta[] = {n, betas[2], 1, 1}, shown[] = {n, 1, q_heads * d_v};
    hn_value *s = hn_grad_in(g, PAST), *all = NULL;
    if (s == NULL) s = hn_emit_filled(g, 0, 4, state);
    for (int64_t t = 0; t < q[1] && g->status == HONE_OK; t++) {
        hn_value *key = at(g, KEY, t, column), *value = at(g, VALUE, t, row);
        if (decays[2] > 0) s = HN_TEXT(g, "a * Exp(b)", s, at(g, DECAY, t, decay));
        if (betas[2] > 0) {
            hn_value *read = HN_EMIT2(g, "MatMul", hn_emit_swapped(g, key, 4), s);
            value = HN_TEXT(g, "c * (a - b)", value, read, at(g, BETA, t, beta));
        }
        s = HN_EMIT2(g, "Add", s, HN_EMIT2(g, "Mul", key, value));
        hn_value *o =
            hn_emit_reshape(g, HN_EMIT2(g, "MatMul", at(g, QUERY, t, query), s), 3, shown);
        all = all == NULL ? o : hn_emit_concat(g, 1, 2, (hn_value *const[]){all, o});
    }
    y[0] = HN_EMIT2(g, "Mul", all, hn_emit_number(g, scale));
    y[1] = s;
    return HONE_OK;
}

const hn_op_def hn_op_linear_attention = {
    .name = "LinearAttention",
    .versions = "27",
    .sig =
        "(query:T, key:T, value:T, past_state:S?, decay:T?, beta:T?) -> (output:T, "
        "present_state:S); T: f32 f16 bf16; S: f32 f16 bf16",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("chunk_size", 64),
                                   HN_ATTR_REQ("kv_num_heads", INT),
                                   HN_ATTR_REQ("q_num_heads", INT),
                                   HN_ATTR_F("scale", 0.0f),
                                   HN_ATTR_S("update_rule", "gated_delta",
                                             "linear gated delta gated_delta"),
                                   {0}},
    .infer = infer,
    .ref = ref,
    .cost = cost,
    .spell = spell};
