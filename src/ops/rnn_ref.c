#include "ops/rnn_ref.h"

#include <math.h>
#include <stdio.h>

#include "base/size.h"
#include "ops/activation.h"
#include "ops/quantize.h"

enum { X, W, R, B, LENGTHS, H0, C0, P };

static int n_gates(hn_rnn_kind kind) { return kind == HN_RNN ? 1 : kind == HN_GRU ? 3 : 4; }
static int n_activations(hn_rnn_kind kind) { return 1 + (int)kind; }

static int n_directions(const hn_node *n) {
    return hn_attr_is(n, "direction", "bidirectional") ? 2 : 1;
}

/* DynamicQuantizeLSTM has no such attribute. */
static bool is_batch_first(const hn_node *n) {
    return hn_op_attr(n->op, "layout") != NULL && hn_attr_i(n, "layout") != 0;
}

/* ---- inference ---- */

/* Input i, when its shape is known, has these sizes. */
static hone_status want_shape(const hn_infer *c, int i, int rank, const hn_dim *dims,
                              hn_error *err) {
    HN_TRY(hn_want_rank(c, i, rank, rank, err));
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    for (int a = 0; a < rank; a++) {
        char what[80];
        snprintf(what, sizeof what, "axis %d of input %d and what the others ask for", a, i);
        HN_TRY(hn_want_equal(hn_in_shape(c, i)->dim[a], dims[a], what, err));
    }
    return HONE_OK;
}

hone_status hn_rnn_infer(hn_infer *c, hn_rnn_kind kind, bool inputs_first, hn_error *err) {
    for (int i = X; i <= R; i++) HN_TRY(hn_want_rank(c, i, 3, 3, err));
    const hn_node *node = c->node;
    const hn_shape *x = hn_in_shape(c, X), *w = hn_in_shape(c, W), *r = hn_in_shape(c, R);
    const hn_attr *hidden_size = hn_node_attr(node, "hidden_size");
    bool batch_first = is_batch_first(node);
    HN_CHECK(err, hidden_size == NULL || (hidden_size->u.i >= 0 && hidden_size->u.i <= INT32_MAX),
             HONE_E_ARG, "attribute 'hidden_size' is %lld", (long long)hidden_size->u.i);
    if (x->rank < 0) return HONE_OK;
    hn_dim hidden = r->rank == 3          ? r->dim[inputs_first ? 1 : 2]
                    : hidden_size != NULL ? hn_dim_const(c->dims, hidden_size->u.i)
                                          : hn_dim_fresh(c->dims, -1);
    if (hidden_size != NULL)
        HN_TRY(hn_want_equal(hidden, hn_dim_const(c->dims, hidden_size->u.i),
                             "sizes of R and attribute 'hidden_size'", err));
    hn_dim steps = x->dim[batch_first ? 1 : 0], batch = x->dim[batch_first ? 0 : 1];
    hn_dim dirs = hn_dim_const(c->dims, n_directions(node));
    hn_dim gates = hn_dim_mulc(c->dims, hidden, n_gates(kind));
    if (w->rank == 3)
        HN_TRY(want_shape(
            c, W, 3,
            inputs_first ? (hn_dim[]){dirs, x->dim[2], gates} : (hn_dim[]){dirs, gates, x->dim[2]},
            err));
    if (r->rank == 3)
        HN_TRY(want_shape(
            c, R, 3,
            inputs_first ? (hn_dim[]){dirs, hidden, gates} : (hn_dim[]){dirs, gates, hidden}, err));
    hn_shape state = {.rank = 3, .dim = {dirs, batch, hidden}};
    hn_shape y = {.rank = 4, .dim = {steps, dirs, batch, hidden}};
    if (batch_first) {
        state = (hn_shape){.rank = 3, .dim = {batch, dirs, hidden}};
        y = (hn_shape){.rank = 4, .dim = {batch, steps, dirs, hidden}};
    }
    HN_TRY(want_shape(c, B, 2, (hn_dim[]){dirs, hn_dim_mulc(c->dims, gates, 2)}, err));
    HN_TRY(want_shape(c, LENGTHS, 1, &batch, err));
    HN_TRY(want_shape(c, H0, 3, state.dim, err));
    if (kind == HN_LSTM) {
        HN_TRY(want_shape(c, C0, 3, state.dim, err));
        HN_TRY(want_shape(c, P, 2, (hn_dim[]){dirs, hn_dim_mulc(c->dims, hidden, 3)}, err));
    }
    hn_set_shape(c, 0, &y);
    hn_set_shape(c, 1, &state);
    hn_set_shape(c, 2, &state);
    return HONE_OK;
}

void hn_rnn_cost(const hn_infer *c, hn_cost *cost) {
    const hn_shape *x = hn_in_shape(c, X), *w = hn_in_shape(c, W), *r = hn_in_shape(c, R);
    if (x->rank != 3) return;
    /* Every element of W and R meets every step of every sequence once. */
    hn_dim weights = hn_dim_add(c->dims, hn_shape_product(c->dims, w, 0, w->rank),
                                hn_shape_product(c->dims, r, 0, r->rank));
    cost->macs = hn_dim_mul(c->dims, hn_dim_mul(c->dims, x->dim[0], x->dim[1]), weights);
}

/* ---- evaluation ---- */

/* To u8 and back. */
static double through(const hn_quant_params *q, double v) {
    if (q->scale == 0) return v; /* not quantized */
    int64_t k = hn_quantize(HONE_DTYPE_U8, (double)((float)v / q->scale), q->zero_point);
    return (double)(k - q->zero_point) * (double)q->scale;
}

/* One direction of a layer. Arrays of doubles; rows of `gates` numbers hold one gate after another.
 */
typedef struct layer {
    hn_eval *e;
    hn_rnn_kind kind;
    const hn_tensor *x;
    int64_t steps, batch, inputs, hidden, gates; /* gates: their number * hidden */
    bool batch_first, reverse;
    int dir, n_dirs;
    hn_matrix w, r;
    hn_activation act[3];
    double clip;
    bool linear_before_reset, couple;
    hn_quant_params qx, qh;    /* scale 0: none */
    float *h_f32;              /* [batch][hidden] when quantizing, else NULL */
    int64_t *length;           /* [batch] */
    double *bias_w, *bias_r;   /* [gates] */
    double *peephole;          /* [3 * hidden]: i, o, f */
    double *h, *c;             /* [batch][hidden] */
    double *xw;                /* [chunk * batch][gates] */
    double *hr;                /* [batch][gates] */
    double *reset;             /* [batch][hidden], GRU */
    int64_t chunk, first_step; /* steps whose X · W is in xw */
    void *work;
} layer;

/* The time that step s of sequence b is at. */
static int64_t time_of(const layer *l, int64_t s, int64_t b) {
    return l->reverse ? l->length[b] - 1 - s : s;
}

static void load_x(const void *ctx, const hn_block *at, void *dst) {
    const layer *l = ctx;
    double *to = dst;
    for (int64_t row = at->row; row < at->row + at->n_rows; row++, to += at->n_cols) {
        int64_t s = l->first_step + row / l->batch, b = row % l->batch;
        if (s >= l->length[b]) {
            for (int64_t i = 0; i < at->n_cols; i++) to[i] = 0;
            continue;
        }
        int64_t t = time_of(l, s, b);
        int64_t from = l->batch_first ? b * l->steps + t : t * l->batch + b;
        hn_load_f64_n(l->x->dtype, l->x->data, from * l->inputs + at->col, at->n_cols, to);
        for (int64_t i = 0; i < at->n_cols; i++) to[i] = through(&l->qx, to[i]);
    }
}

/* [batch][hidden] of doubles as the left operand. */
typedef struct state {
    const layer *l;
    const double *v;
} state;

static void load_state(const void *ctx, const hn_block *at, void *dst) {
    const state *s = ctx;
    double *to = dst;
    for (int64_t r = 0; r < at->n_rows; r++)
        for (int64_t j = 0; j < at->n_cols; j++)
            *to++ = through(&s->l->qh, s->v[(at->row + r) * s->l->hidden + at->col + j]);
}

/* Some columns of the weights of the layer's direction. */
typedef struct columns {
    hn_matrix m;
    int64_t dir, first;
} columns;

static void load_columns(const void *ctx, const hn_block *at, void *dst) {
    const columns *c = ctx;
    hn_block b = *at;
    b.batch = c->dir;
    b.col += c->first;
    c->m.load(c->m.ctx, &b, dst);
}

typedef struct target {
    double *v;
    int64_t pitch;
} target;

static void store(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const target *t = ctx;
    for (int64_t r = 0; r < at->n_rows; r++)
        memcpy(t->v + (at->row + r) * t->pitch + at->col, (const double *)sums + r * pitch,
               (size_t)at->n_cols * sizeof *t->v);
}

/* out[m][gates], columns [first, first + n) = left [m, k] · weights */
static hone_status product(const layer *l, hn_matrix left, int64_t m, int64_t k, hn_matrix weights,
                           int64_t first, int64_t n, double *out, hn_error *err) {
    columns c = {weights, l->dir, first};
    target t = {out + first, l->gates};
    hn_gemm g = {.n_batch = 1,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = left,
                 .b = {load_columns, &c},
                 .store = store,
                 .out = &t,
                 .work = l->work};
    return hn_gemm_ref(l->e, &g, err);
}

static double act(const layer *l, int which, double v) {
    v = v > l->clip ? l->clip : v < -l->clip ? -l->clip : v;
    return hn_activate(&l->act[which], v);
}

/* What a gate of sequence b gets from X, H and the biases. */
static double gate(const layer *l, const double *xw, int64_t b, int64_t j) {
    return xw[b * l->gates + j] + l->bias_w[j] + l->hr[b * l->gates + j] + l->bias_r[j];
}

static void rnn_step(layer *l, const double *xw, int64_t b) {
    for (int64_t j = 0; j < l->hidden; j++) l->h[b * l->hidden + j] = act(l, 0, gate(l, xw, b, j));
}

/* Gates i, o, f, c. ONNX Runtime clips what enters f and g, not what enters h. */
static void lstm_step(layer *l, const double *xw, int64_t b) {
    int64_t n = l->hidden;
    for (int64_t j = 0; j < n; j++) {
        double *c = &l->c[b * n + j];
        double i = act(l, 0, gate(l, xw, b, j) + l->peephole[j] * *c);
        double f =
            l->couple ? 1 - i : act(l, 0, gate(l, xw, b, 2 * n + j) + l->peephole[2 * n + j] * *c);
        *c = f * *c + i * act(l, 1, gate(l, xw, b, 3 * n + j));
        double o = act(l, 0, gate(l, xw, b, n + j) + l->peephole[n + j] * *c);
        l->h[b * n + j] = o * hn_activate(&l->act[2], *c);
    }
}

/* Gates z, r, h. Without linear_before_reset the h gate's share of hr is r (.) H · R, for which the
 * first half leaves r (.) H in `reset`. */
static void gru_reset(layer *l, const double *xw, int64_t b) {
    int64_t n = l->hidden;
    for (int64_t j = 0; j < n; j++)
        l->reset[b * n + j] = act(l, 0, gate(l, xw, b, n + j)) * l->h[b * n + j];
}

static void gru_step(layer *l, const double *xw, int64_t b) {
    int64_t n = l->hidden;
    for (int64_t j = 0; j < n; j++) {
        double z = act(l, 0, gate(l, xw, b, j)), v = gate(l, xw, b, 2 * n + j);
        if (l->linear_before_reset) {
            double r = act(l, 0, gate(l, xw, b, n + j)), hr = l->hr[b * l->gates + 2 * n + j];
            v = xw[b * l->gates + 2 * n + j] + l->bias_w[2 * n + j] +
                r * (hr + l->bias_r[2 * n + j]);
        }
        double *h = &l->h[b * n + j];
        *h = (1 - z) * act(l, 1, v) + z * *h;
    }
}

static hone_status run_step(layer *l, int64_t s, hn_error *err) {
    const double *xw = l->xw + (s - l->first_step) * l->batch * l->gates;
    state h = {l, l->h}, reset = {l, l->reset};
    if (l->h_f32 != NULL) {
        for (int64_t i = 0; i < l->batch * l->hidden; i++) l->h_f32[i] = (float)l->h[i];
        l->qh = hn_dynamic_range(l->h_f32, l->batch * l->hidden);
    }
    bool two = l->kind == HN_GRU && !l->linear_before_reset;
    int64_t at_once = two ? 2 * l->hidden : l->gates;
    HN_TRY(
        product(l, (hn_matrix){load_state, &h}, l->batch, l->hidden, l->r, 0, at_once, l->hr, err));
    if (two) {
        for (int64_t b = 0; b < l->batch; b++) gru_reset(l, xw, b);
        HN_TRY(product(l, (hn_matrix){load_state, &reset}, l->batch, l->hidden, l->r, 2 * l->hidden,
                       l->hidden, l->hr, err));
    }
    hn_tensor *y = hn_eval_out(l->e, 0);
    for (int64_t b = 0; b < l->batch; b++) {
        if (s >= l->length[b]) continue;
        if (l->kind == HN_LSTM) lstm_step(l, xw, b);
        if (l->kind == HN_GRU) gru_step(l, xw, b);
        if (l->kind == HN_RNN) rnn_step(l, xw, b);
        int64_t t = time_of(l, s, b);
        int64_t row = l->batch_first ? (b * l->steps + t) * l->n_dirs + l->dir
                                     : (t * l->n_dirs + l->dir) * l->batch + b;
        if (y != NULL)
            hn_store_f64_n(y->dtype, y->data, row * l->hidden, l->hidden, l->h + b * l->hidden);
    }
    return HONE_OK;
}

/* Row of sequence b in a state tensor. */
static int64_t state_row(const layer *l, int64_t b) {
    return l->batch_first ? b * l->n_dirs + l->dir : l->dir * l->batch + b;
}

static void load_states(const layer *l, const hn_tensor *t, double *v) {
    for (int64_t b = 0; b < l->batch; b++) {
        if (t != NULL)
            hn_load_f64_n(t->dtype, t->data, state_row(l, b) * l->hidden, l->hidden,
                          v + b * l->hidden);
        else
            for (int64_t j = 0; j < l->hidden; j++) v[b * l->hidden + j] = 0;
    }
}

static void store_states(const layer *l, hn_tensor *t, const double *v) {
    for (int64_t b = 0; t != NULL && b < l->batch; b++)
        hn_store_f64_n(t->dtype, t->data, state_row(l, b) * l->hidden, l->hidden,
                       v + b * l->hidden);
}

static void load_parts(const hn_tensor *t, int64_t from, int64_t n, double *v) {
    if (t != NULL)
        hn_load_f64_n(t->dtype, t->data, from, n, v);
    else
        for (int64_t i = 0; i < n; i++) v[i] = 0;
}

static hone_status run_direction(layer *l, hn_error *err) {
    hn_eval *e = l->e;
    load_parts(hn_eval_in(e, B), l->dir * 2 * l->gates, l->gates, l->bias_w);
    load_parts(hn_eval_in(e, B), (l->dir * 2 + 1) * l->gates, l->gates, l->bias_r);
    load_states(l, hn_eval_in(e, H0), l->h);
    if (l->kind == HN_LSTM) {
        load_parts(hn_eval_in(e, P), l->dir * 3 * l->hidden, 3 * l->hidden, l->peephole);
        load_states(l, hn_eval_in(e, C0), l->c);
    }
    for (int64_t s = 0; s < l->steps; s++) {
        if (s % l->chunk == 0) {
            int64_t n = l->steps - s < l->chunk ? l->steps - s : l->chunk;
            l->first_step = s;
            HN_TRY(product(l, (hn_matrix){load_x, l}, n * l->batch, l->inputs, l->w, 0, l->gates,
                           l->xw, err));
        }
        HN_TRY(run_step(l, s, err));
    }
    store_states(l, hn_eval_out(e, 1), l->h);
    if (l->kind == HN_LSTM) store_states(l, hn_eval_out(e, 2), l->c);
    return HONE_OK;
}

/* ---- attributes ---- */

/* Functions take their alpha and beta from the lists in turn; those that have none take none. */
hone_status hn_rnn_activations(const hn_node *n, hn_rnn_kind kind, hn_activation *acts,
                               hn_error *err) {
    static const hn_str defaults[][3] = {
        {{"Tanh", 4}}, {{"Sigmoid", 7}, {"Tanh", 4}}, {{"Sigmoid", 7}, {"Tanh", 4}, {"Tanh", 4}}};
    int per = n_activations(kind), wanted = per * n_directions(n), n_alpha, n_beta, params;
    const float *alpha = hn_attr_floats(n, "activation_alpha", &n_alpha);
    const float *beta = hn_attr_floats(n, "activation_beta", &n_beta);
    const hn_attr *names = hn_node_attr(n, "activations");
    HN_CHECK(err, names == NULL || names->n >= wanted, HONE_E_ARG,
             "attribute 'activations' has %d values, expected %d", names->n, wanted);
    for (int i = 0; i < wanted; i++) {
        hn_str name = names != NULL ? names->u.strings[i] : defaults[kind][i % per];
        acts[i] = hn_activation_find(name, &params);
        HN_CHECK(err, acts[i].fn != NULL, HONE_E_UNSUPPORTED, "activation '%.*s' is not known",
                 (int)name.n, name.p);
        if (params >= 1 && n_alpha > 0) acts[i].alpha = *alpha++, n_alpha--;
        if (params >= 2 && n_beta > 0) acts[i].beta = *beta++, n_beta--;
    }
    return HONE_OK;
}

hone_status hn_rnn_want_length(int64_t length, int64_t steps, hn_error *err) {
    HN_CHECK(err, length >= 0 && length <= steps, HONE_E_ARG,
             "sequence_lens holds %lld, expected 0 to %lld", (long long)length, (long long)steps);
    return HONE_OK;
}

static hone_status read_lengths(hn_eval *e, layer *l, hn_error *err) {
    const hn_tensor *t = hn_eval_in(e, LENGTHS);
    l->length = hn_scratch(e, l->batch, sizeof *l->length);
    if (l->length == NULL) return HN_NOMEM(err);
    for (int64_t b = 0; b < l->batch; b++) {
        l->length[b] = t != NULL ? hn_tensor_s64(t, b) : l->steps;
        HN_TRY(hn_rnn_want_length(l->length[b], l->steps, err));
    }
    return HONE_OK;
}

/* Steps whose X · W is computed at once, so that their rows fill the blocks of the product. */
#define ROWS_AT_ONCE 256

static hone_status allocate(hn_eval *e, layer *l, hn_error *err) {
    l->chunk = l->batch >= ROWS_AT_ONCE ? 1 : ROWS_AT_ONCE / l->batch;
    if (l->chunk > l->steps) l->chunk = l->steps;
    /* An X without elements bounds nothing. */
    int64_t states, all;
    if (!hn_i64_mul(l->batch, l->hidden, &states) || !hn_i64_mul(states, 4 * ROWS_AT_ONCE, &all))
        return HN_NOMEM(err);
    double **arrays[] = {&l->bias_w, &l->bias_r, &l->peephole, &l->h,
                         &l->c,      &l->reset,  &l->hr,       &l->xw};
    int64_t sizes[] = {l->gates, l->gates, 3 * l->hidden,       states,
                       states,   states,   l->batch * l->gates, l->chunk * l->batch * l->gates};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if ((*arrays[i] = hn_scratch(e, sizes[i], sizeof **arrays[i])) == NULL)
            return HN_NOMEM(err);
    hn_gemm largest = {.n_batch = 1,
                       .m = l->chunk * l->batch,
                       .n = l->gates,
                       .k = l->inputs > l->hidden ? l->inputs : l->hidden};
    l->work = hn_gemm_work(e, &largest);
    return l->work != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_rnn_ref(hn_eval *e, hn_rnn_kind kind, const hn_rnn_weights *weights, hn_error *err) {
    const hn_node *n = e->node;
    const hn_tensor *x = e->in[X];
    const hn_attr *clip = hn_node_attr(n, "clip");
    layer l = {.e = e,
               .kind = kind,
               .x = x,
               .inputs = x->dims[2],
               .hidden = weights->hidden,
               .gates = n_gates(kind) * weights->hidden,
               .batch_first = is_batch_first(n),
               .n_dirs = n_directions(n),
               .w = weights->w,
               .r = weights->r,
               .clip = clip != NULL ? fabs((double)clip->u.f) : INFINITY,
               .linear_before_reset = kind == HN_GRU && hn_attr_i(n, "linear_before_reset") != 0,
               .couple = kind == HN_LSTM && hn_attr_i(n, "input_forget") != 0};
    l.steps = x->dims[l.batch_first ? 1 : 0];
    l.batch = x->dims[l.batch_first ? 0 : 1];
    hn_activation acts[6];
    HN_TRY(hn_rnn_activations(n, kind, acts, err));
    hn_tensor *y = hn_eval_out(e, 0);
    if (y != NULL && y->bytes > 0) memset(y->data, 0, y->bytes);
    if (l.batch == 0 || l.hidden == 0) return HONE_OK;
    HN_TRY(read_lengths(e, &l, err));
    HN_TRY(allocate(e, &l, err));
    if (weights->quantize) {
        l.qx = hn_dynamic_range(x->data, x->n);
        l.h_f32 = hn_scratch(e, l.batch * l.hidden, sizeof *l.h_f32);
        if (l.h_f32 == NULL) return HN_NOMEM(err);
    }
    for (l.dir = 0; l.dir < l.n_dirs; l.dir++) {
        l.reverse = l.dir == 1 || hn_attr_is(n, "direction", "reverse");
        memcpy(l.act, acts + l.dir * n_activations(kind),
               (size_t)n_activations(kind) * sizeof *acts);
        HN_TRY(run_direction(&l, err));
    }
    return HONE_OK;
}
