/* RNN, GRU and LSTM as simpler nodes, for what is differentiated: one product for what X gives to
 * the gates of all steps, then step after step. Backward needs what each step left; nothing of it is
 * computed twice.
 *
 * A sequence that is shorter than the others keeps its state from its end on. In reverse that is
 * right too: steps are walked from the last to the first, and those past its end, which come first,
 * leave the state it began with. */
#include <math.h>

#include "ops/activation.h"
#include "ops/grad.h"
#include "ops/rnn_ref.h"

enum { X, W, R, B, LENGTHS, H0, C0, P };

/* More would make a graph that takes longer to plan than to run. */
enum { MOST_STEPS = 4096 };

typedef struct layer {
    hn_grad *g;
    hn_rnn_kind kind;
    int64_t steps, batch, hidden, gates; /* gates: how many */
    int dirs;
    bool batch_first, linear_before_reset, couple;
    double clip; /* INFINITY: none */
    hn_activation act[6];
    hn_value *x;       /* [T * N, I] */
    hn_value *lengths; /* [N, 1] of the gradients' type; NULL: all */
} layer;

typedef struct direction {
    int at;
    bool reverse;
    const hn_activation *act;
    hn_value *r;         /* [H, gates * H] */
    hn_value *bias_r;    /* of gate h of a GRU with linear_before_reset, [H] */
    hn_value *peep[3];   /* of i, o, f, [H]; NULL: none */
    hn_value *h, *c;     /* [N, H] */
    hn_value *r_part[2]; /* of z and r, and of h, where a GRU takes two products */
} direction;

/* Entry `at` of axis 0 of an input, in this shape. */
static hn_value *entry(const layer *l, int input, int at, int rank, const int64_t *dims) {
    hn_value *v = hn_grad_in(l->g, input);
    if (l->dirs > 1) v = hn_emit_slice(l->g, v, 0, at, at + 1);
    return hn_emit_reshape(l->g, v, rank, dims);
}

static hn_value *turned(const layer *l, hn_value *v) { return hn_emit_swapped(l->g, v, 2); }

/* Parts of equal width along axis 1. */
static void parts(const layer *l, hn_value *v, int n, hn_value **to) {
    int64_t sizes[4];
    for (int i = 0; i < n; i++) sizes[i] = l->hidden, to[i] = NULL;
    hn_value *in[] = {v, hn_emit_ints(l->g, sizes, n)};
    if (v == NULL || in[1] == NULL) return;
    hn_node *split = hn_emit_node(l->g, "", "Split", n, 2, in);
    hn_emit_i(l->g, split, "axis", 1);
    for (int i = 0; i < n; i++) to[i] = hn_emitted(split, i);
}

/* What step t has in [T * N, k], for all t. */
static hn_node *split_steps(const layer *l, hn_value *v, hn_arena *scratch) {
    int64_t *sizes = hn_arena_array(scratch, (size_t)l->steps, sizeof *sizes);
    if (sizes == NULL) {
        l->g->status = HN_NOMEM(l->g->err);
        return NULL;
    }
    for (int64_t i = 0; i < l->steps; i++) sizes[i] = l->batch;
    hn_value *in[] = {v, hn_emit_ints(l->g, sizes, (int)l->steps)};
    if (v == NULL || in[1] == NULL) return NULL;
    return hn_emit_node(l->g, "", "Split", (int)l->steps, 2, in);
}

static hn_value *act(const layer *l, const hn_activation *f, hn_value *v) {
    hn_grad *g = l->g;
    if (!isinf(l->clip))
        v = HN_EMIT3(g, "Clip", v, hn_emit_number(g, -l->clip), hn_emit_number(g, l->clip));
    return hn_emit_activation(g, f, v);
}

static hn_value *plus(const layer *l, hn_value *a, hn_value *b) {
    return HN_EMIT2(l->g, "Add", a, b);
}

static hn_value *times(const layer *l, hn_value *a, hn_value *b) {
    return HN_EMIT2(l->g, "Mul", a, b);
}

static hn_value *with_peephole(const layer *l, hn_value *v, hn_value *peep, hn_value *c) {
    return peep != NULL ? plus(l, v, times(l, peep, c)) : v;
}

/* ---- cells: the next state ---- */

static void rnn_step(const layer *l, direction *d, hn_value *xw) {
    d->h = act(l, &d->act[0], plus(l, xw, HN_EMIT2(l->g, "MatMul", d->h, d->r)));
}

static void lstm_step(const layer *l, direction *d, hn_value *xw) {
    hn_value *gate[4];
    parts(l, plus(l, xw, HN_EMIT2(l->g, "MatMul", d->h, d->r)), 4, gate); /* i, o, f, c */
    hn_value *i = act(l, &d->act[0], with_peephole(l, gate[0], d->peep[0], d->c));
    hn_value *f = l->couple ? HN_TEXT(l->g, "1 - a", i)
                            : act(l, &d->act[0], with_peephole(l, gate[2], d->peep[2], d->c));
    d->c = plus(l, times(l, f, d->c), times(l, i, act(l, &d->act[1], gate[3])));
    hn_value *o = act(l, &d->act[0], with_peephole(l, gate[1], d->peep[1], d->c));
    d->h = times(l, o, hn_emit_activation(l->g, &d->act[2], d->c));
}

static void gru_step(const layer *l, direction *d, hn_value *xw) {
    hn_grad *g = l->g;
    hn_value *x[3], *h[3], *z, *r, *n; /* of z, r, h */
    parts(l, xw, 3, x);
    if (l->linear_before_reset) {
        parts(l, HN_EMIT2(g, "MatMul", d->h, d->r), 3, h);
        z = act(l, &d->act[0], plus(l, x[0], h[0]));
        r = act(l, &d->act[0], plus(l, x[1], h[1]));
        if (d->bias_r != NULL) h[2] = plus(l, h[2], d->bias_r);
        n = plus(l, x[2], times(l, r, h[2]));
    } else {
        parts(l, HN_EMIT2(g, "MatMul", d->h, d->r_part[0]), 2, h);
        z = act(l, &d->act[0], plus(l, x[0], h[0]));
        r = act(l, &d->act[0], plus(l, x[1], h[1]));
        n = plus(l, x[2], HN_EMIT2(g, "MatMul", times(l, r, d->h), d->r_part[1]));
    }
    n = act(l, &d->act[1], n);
    d->h = HN_TEXT(g, "(1 - a) * b + a * c", z, n, d->h);
}

/* ---- directions ---- */

/* The bias that X's product gets, [gates * H]: both of B, but for what r multiplies in a GRU. */
static hn_value *bias_of(const layer *l, direction *d) {
    hn_grad *g = l->g;
    int64_t width = l->gates * l->hidden, two[] = {2 * width}, zh = 2 * l->hidden;
    if (hn_grad_in(g, B) == NULL) return NULL;
    hn_value *both = entry(l, B, d->at, 1, two);
    hn_value *w = hn_emit_slice(g, both, 0, 0, width);
    hn_value *r = hn_emit_slice(g, both, 0, width, 2 * width);
    if (!l->linear_before_reset) return plus(l, w, r);
    d->bias_r = hn_emit_slice(g, r, 0, zh, width);
    hn_value *rest[] = {hn_emit_slice(g, r, 0, 0, zh), hn_emit_filled(g, 0, 1, &l->hidden)};
    return plus(l, w, hn_emit_concat(g, 0, 2, rest));
}

static hn_value *begin_state(const layer *l, int input, int at) {
    hn_grad *g = l->g;
    const int64_t dims[] = {l->batch, l->hidden};
    hn_value *v = hn_grad_in(g, input);
    if (v == NULL) return hn_emit_filled(g, 0, 2, dims);
    if (!l->batch_first) return entry(l, input, at, 2, dims);
    if (l->dirs > 1) v = hn_emit_slice(g, v, 1, at, at + 1);
    return hn_emit_reshape(g, v, 2, dims);
}

/* Xw of all steps: [T * N, gates * H]. */
static hn_value *begin_direction(const layer *l, direction *d) {
    hn_grad *g = l->g;
    int64_t width = l->gates * l->hidden, dims[HONE_MAX_RANK];
    hn_grad_dims(g, hn_grad_in(g, W), dims);
    const int64_t w[] = {width, dims[2]}, r[] = {width, l->hidden}, p[] = {3 * l->hidden};
    hn_value *xw = HN_EMIT2(g, "MatMul", l->x, turned(l, entry(l, W, d->at, 2, w)));
    hn_value *bias = bias_of(l, d);
    if (bias != NULL) xw = plus(l, xw, bias);
    d->r = turned(l, entry(l, R, d->at, 2, r));
    d->h = begin_state(l, H0, d->at);
    if (l->kind == HN_GRU && !l->linear_before_reset) {
        d->r_part[0] = hn_emit_slice(g, d->r, 1, 0, 2 * l->hidden);
        d->r_part[1] = hn_emit_slice(g, d->r, 1, 2 * l->hidden, width);
    }
    if (l->kind != HN_LSTM) return xw;
    d->c = begin_state(l, C0, d->at);
    if (hn_grad_in(g, P) == NULL) return xw;
    hn_value *all = entry(l, P, d->at, 1, p);
    for (int i = 0; i < 3; i++)
        d->peep[i] = hn_emit_slice(g, all, 0, i * l->hidden, (i + 1) * l->hidden);
    return xw;
}

/* y[t]: what step t shows, [1, 1, N, H]. */
static void run_direction(const layer *l, direction *d, hn_arena *scratch, hn_value **y) {
    hn_grad *g = l->g;
    const int64_t shown[] = {1, 1, l->batch, l->hidden};
    hn_node *xw = split_steps(l, begin_direction(l, d), scratch);
    for (int64_t s = 0; s < l->steps && g->status == HONE_OK; s++) {
        int64_t t = d->reverse ? l->steps - 1 - s : s;
        hn_value *h = d->h, *c = d->c, *of_t = hn_emitted(xw, (int)t);
        if (l->kind == HN_RNN) rnn_step(l, d, of_t);
        if (l->kind == HN_GRU) gru_step(l, d, of_t);
        if (l->kind == HN_LSTM) lstm_step(l, d, of_t);
        hn_value *out = d->h;
        if (l->lengths != NULL) {
            hn_value *now = hn_emit_number(g, (double)t);
            out = HN_TEXT(g, "Where(a > b, c, 0)", l->lengths, now, d->h);
            d->h = HN_TEXT(g, "Where(a > b, c, d)", l->lengths, now, d->h, h);
            if (c != NULL) d->c = HN_TEXT(g, "Where(a > b, c, d)", l->lengths, now, d->c, c);
        }
        y[t] = hn_emit_reshape(g, out, 4, shown);
    }
}

/* ---- the layer ---- */

static hone_status read_layer(layer *l, hn_error *err) {
    hn_grad *g = l->g;
    const hn_node *n = g->node;
    const hn_attr *clip = hn_node_attr(n, "clip");
    int64_t x[HONE_MAX_RANK], r[HONE_MAX_RANK];
    hn_grad_dims(g, hn_grad_in(g, X), x);
    hn_grad_dims(g, hn_grad_in(g, R), r);
    HN_TRY(g->status);
    l->batch_first = hn_attr_i(n, "layout") != 0;
    l->linear_before_reset = l->kind == HN_GRU && hn_attr_i(n, "linear_before_reset") != 0;
    l->couple = l->kind == HN_LSTM && hn_attr_i(n, "input_forget") != 0;
    l->clip = clip != NULL ? fabs((double)clip->u.f) : INFINITY;
    l->steps = x[l->batch_first ? 1 : 0];
    l->batch = x[l->batch_first ? 0 : 1];
    l->hidden = r[2];
    l->gates = l->kind == HN_RNN ? 1 : l->kind == HN_GRU ? 3 : 4;
    l->dirs = (int)r[0];
    if (l->steps < 1 || l->steps > MOST_STEPS)
        return hn_grad_refuse(g, "it is differentiated for 1 to 4096 steps", err);
    HN_TRY(hn_rnn_activations(n, l->kind, l->act, err));
    static const int64_t time_first[] = {1, 0, 2};
    const int64_t rows[] = {l->steps * l->batch, x[2]}, column[] = {l->batch, 1};
    hn_value *in = hn_grad_in(g, X);
    if (l->batch_first) in = hn_emit_transposed(g, in, 3, time_first);
    l->x = hn_emit_reshape(g, in, 2, rows);
    if (hn_grad_in(g, LENGTHS) != NULL)
        l->lengths = hn_emit_reshape(g, hn_emit_cast(g, hn_grad_in(g, LENGTHS)), 2, column);
    return HONE_OK;
}

/* [D, N, H] of the directions' states. */
static hn_value *end_state(const layer *l, hn_value *const *v) {
    hn_grad *g = l->g;
    const int64_t dims[] = {l->batch_first ? l->batch : 1, l->batch_first ? 1 : l->batch,
                            l->hidden};
    hn_value *each[2];
    for (int i = 0; i < l->dirs; i++) each[i] = hn_emit_reshape(g, v[i], 3, dims);
    return hn_emit_concat(g, l->batch_first ? 1 : 0, l->dirs, each);
}

static hone_status spell(layer *l, hn_arena *scratch, hn_value **y, hn_error *err) {
    hn_grad *g = l->g;
    hn_value *h[2] = {0}, *c[2] = {0}, *all[2] = {0};
    HN_TRY(read_layer(l, err));
    hn_value **shown = hn_arena_array(scratch, (size_t)l->steps, sizeof *shown);
    if (shown == NULL) return HN_NOMEM(err);
    for (int i = 0; i < l->dirs && g->status == HONE_OK; i++) {
        bool reverse = i == 1 || hn_attr_is(g->node, "direction", "reverse");
        direction d = {.at = i, .reverse = reverse, .act = l->act + i * (1 + (int)l->kind)};
        for (int64_t t = 0; t < l->steps; t++) shown[t] = NULL;
        run_direction(l, &d, scratch, shown);
        all[i] = hn_emit_concat(g, 0, (int)l->steps, shown);
        h[i] = d.h;
        c[i] = d.c;
    }
    HN_TRY(g->status);
    static const int64_t batch_first[] = {2, 0, 1, 3};
    y[0] = hn_emit_concat(g, 1, l->dirs, all);
    if (l->batch_first) y[0] = hn_emit_transposed(g, y[0], 4, batch_first);
    y[1] = end_state(l, h);
    if (l->kind == HN_LSTM) y[2] = end_state(l, c);
    return HONE_OK;
}

hone_status hn_rnn_spell(hn_grad *g, hn_rnn_kind kind, hn_value **y, hn_error *err) {
    hn_arena scratch;
    layer l = {.g = g, .kind = kind};
    hn_arena_init(&scratch, g->graph->model->alloc, HN_MEM_SCRATCH);
    hone_status status = spell(&l, &scratch, y, err);
    hn_arena_deinit(&scratch);
    return status;
}
