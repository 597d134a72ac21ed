/* Cross-layer equalization: between two layers, a channel may be scaled by any positive number if
 * what reads it is scaled back (Nagel et al., "Data-free quantization", 2019).
 *
 *     h = Relu (W1 · x + b1)                    h = Relu (W1/s · x + b1/s)       per channel i of h
 *     y = W2 · h + b2               becomes     y = W2*s · h + b2                s[i] = sqrt(r1/r2)
 *
 *     the greatest weight of each channel
 *                 W1 [i, :]          W2 [:, i]                   W1 / s    W2 * s
 *          i=0    ################   #                           ####      ####
 *          i=1    #                  #########        becomes    ###       ###
 *          i=2    ####               ####                        ####      ####
 *
 * r1 and r2 are the greatest sizes of a weight that makes channel i and of one that reads it; both
 * become sqrt(r1*r2), so no channel wastes the range of a scale it shares with others. The bias
 * counts as a weight: a channel of tiny weights and a large bias would be blown up otherwise.
 *
 * A layer in the middle of a chain is scaled from both sides, so all pairs are gone over until
 * nothing moves. Factors are kept apart from the weights, which are rounded once, at the end.
 *
 * Fires between Conv and Gemm with constant f32 weights that nothing else uses, one feeding nothing
 * but the other, directly or through what commutes with a positive factor: Relu, LeakyRelu, PRelu,
 * pooling, Clip without bounds other than 0. A Clip to 6 does not, and stays as it is. A channel
 * with no weight other than 0 on either side stays too.
 */
#include <math.h>

#include "compress/transform.h"
#include "ops/nodes.h"

/* No channel is scaled by more, and larger weights are left alone: nothing leaves the range of f32.
 */
#define MOST_FACTOR 1e4
#define MOST_WEIGHT 1e30

/* Factors that move by less have settled. A chain of n layers takes about n*n rounds. */
#define SETTLED 1e-4
#define MOST_ROUNDS 200

typedef struct layer {
    hn_node *node;
    hn_value *weight, *bias; /* bias may be NULL */
    int64_t outs, ins;       /* channels */
    /* A group makes group_outs channels of group_ins. Weight [m, c, t] lies at
     * m * out_step + c * in_step + t, c counted within the group. */
    int64_t group_outs, group_ins, taps, out_step, in_step;
    double *reach;          /* [outs, group_ins]: the greatest |weight| over the taps */
    double *by_out, *by_in; /* what weights are multiplied with, by channel */
    struct layer *next;     /* what its output goes to, if that can be scaled; or NULL */
} layer;

/* ---- layers ---- */

static bool own_constant(const hn_value *v) {
    return v != NULL && v->constant != NULL && v->constant->data != NULL && !v->is_input &&
           v->constant->dtype == HONE_DTYPE_F32 && hn_used_once(v);
}

static bool describe_windows(const hn_node *n, const hn_tensor *w, layer *l) {
    int64_t groups = hn_attr_i(n, "group");
    if (w->rank < 3 || w->n == 0 || groups < 1 || w->dims[0] % groups != 0) return false;
    l->outs = w->dims[0];
    l->group_outs = l->outs / groups;
    l->group_ins = w->dims[1];
    l->ins = l->group_ins * groups;
    l->taps = w->n / (l->outs * l->group_ins);
    l->out_step = l->group_ins * l->taps;
    l->in_step = l->taps;
    return true;
}

static bool describe_matrix(const hn_node *n, const hn_tensor *w, layer *l) {
    hn_weight_use use;
    if (w->n == 0 || !hn_weight_use_of(n, w, &use) || use.transposed) return false;
    l->outs = l->group_outs = w->dims[use.channel_axis];
    l->ins = l->group_ins = w->dims[use.sum_axis];
    l->taps = 1;
    l->out_step = use.channel_axis == 0 ? l->ins : 1;
    l->in_step = use.sum_axis == 0 ? l->outs : 1;
    return true;
}

/* Whether n is a layer whose channels can be scaled. */
static bool describe(hn_node *n, layer *l) {
    const hn_op_def *op = hn_def_of(n);
    if (op->role != HN_ROLE_PRODUCT || op->weights->bias == 0) return false;
    *l = (layer){.node = n, .weight = hn_node_input(n, op->weights->input), .bias = hn_bias_of(n)};
    if (!own_constant(l->weight) || (l->bias != NULL && !own_constant(l->bias))) return false;
    const hn_tensor *w = l->weight->constant, *b = l->bias != NULL ? l->bias->constant : NULL;
    bool windows = op->weights->kind == HN_WEIGHT_WINDOWS;
    if (windows ? !describe_windows(n, w, l) : !describe_matrix(n, w, l)) return false;
    /* Gemm's C may also be a number, or have rows. */
    return b == NULL || (b->n == l->outs && b->rank >= 1 && b->dims[b->rank - 1] == l->outs);
}

static double reach_of(const layer *l, const hn_tensor *w, int64_t m, int64_t c) {
    double most = 0;
    for (int64_t t = 0; t < l->taps; t++) {
        double x = fabs(hn_tensor_f64(w, m * l->out_step + c * l->in_step + t));
        if (x > most || isnan(x)) most = x; /* NaN stays */
    }
    return most;
}

/* *fits: all numbers are small enough to be scaled. */
static hone_status measure(layer *l, hn_arena *arena, bool *fits, hn_error *err) {
    const hn_tensor *b = l->bias != NULL ? l->bias->constant : NULL;
    l->reach = hn_arena_array(arena, (size_t)(l->outs * l->group_ins), sizeof *l->reach);
    l->by_out = hn_arena_array(arena, (size_t)l->outs, sizeof *l->by_out);
    l->by_in = hn_arena_array(arena, (size_t)l->ins, sizeof *l->by_in);
    if (l->reach == NULL || l->by_out == NULL || l->by_in == NULL) return HN_NOMEM(err);
    *fits = true;
    for (int64_t m = 0; m < l->outs; m++) {
        l->by_out[m] = 1;
        *fits &= b == NULL || fabs(hn_tensor_f64(b, m)) <= MOST_WEIGHT;
        for (int64_t c = 0; c < l->group_ins; c++) {
            double r = reach_of(l, l->weight->constant, m, c);
            l->reach[m * l->group_ins + c] = r;
            *fits &= r <= MOST_WEIGHT;
        }
    }
    for (int64_t c = 0; c < l->ins; c++) l->by_in[c] = 1;
    return HONE_OK;
}

/* ---- pairs ---- */

/* f(s * x) = s * f(x) for s > 0, channel by channel. */
static bool commutes(const hn_node *n) {
    const hn_op_def *op = hn_def_of(n);
    double lo, hi;
    if (n == NULL || n->n_outputs != 1) return false;
    if ((op->traits & HN_HOMOGENEOUS) != 0) return true;
    return op->limits != NULL && op->limits(n, &lo, &hi) && (lo == 0 || lo == -INFINITY) &&
           hi == INFINITY;
}

/* The node that makes what n reads, if nothing else reads it. */
static hn_node *maker(const hn_node *n) {
    const hn_value *v = hn_node_input(n, 0);
    hn_node *p;
    for (;;) {
        if (v == NULL || !hn_used_once(v) || v->graph != n->graph || v->producer == NULL)
            return NULL;
        p = v->producer;
        if (!commutes(p)) return p;
        v = hn_node_input(p, 0);
    }
}

static hone_status find(hn_graph *g, hn_arena *arena, layer **out, int *n, hn_error *err) {
    layer *v = hn_arena_array(arena, (size_t)g->n_nodes, sizeof *v);
    *n = 0;
    if (v == NULL) return HN_NOMEM(err);
    *out = v;
    for (hn_node *node = g->first; node != NULL; node = node->next) {
        node->mark = 0; /* which of v it is, counted from 1 */
        bool fits = describe(node, &v[*n]);
        if (fits) HN_TRY(measure(&v[*n], arena, &fits, err));
        if (!fits) continue;
        const hn_node *p = maker(node);
        layer *l = &v[(*n)++], *before = p != NULL && p->mark != 0 ? &v[p->mark - 1] : NULL;
        if (before != NULL && before->outs == l->ins) before->next = l;
        node->mark = (uint64_t)*n;
    }
    return HONE_OK;
}

/* ---- factors ---- */

/* The greatest weight that makes channel m, bias included, as it is scaled now. */
static double out_reach(const layer *l, int64_t m) {
    double most = l->bias != NULL ? fabs(hn_tensor_f64(l->bias->constant, m)) : 0;
    const double *by_in = l->by_in + m / l->group_outs * l->group_ins;
    const double *reach = l->reach + m * l->group_ins;
    for (int64_t c = 0; c < l->group_ins; c++) most = fmax(most, reach[c] * by_in[c]);
    return most * l->by_out[m];
}

/* The greatest weight that reads channel c. */
static double in_reach(const layer *l, int64_t c) {
    double most = 0;
    int64_t first = c / l->group_ins * l->group_outs, at = c % l->group_ins;
    for (int64_t m = first; m < first + l->group_outs; m++)
        most = fmax(most, l->reach[m * l->group_ins + at] * l->by_out[m]);
    return most * l->by_in[c];
}

/* Balances l with what follows; returns by how much the factors moved at most. */
static double balance(layer *l) {
    layer *k = l->next;
    double moved = 0;
    for (int64_t i = 0; i < l->outs; i++) {
        double r1 = out_reach(l, i), r2 = in_reach(k, i);
        if (r1 == 0 || r2 == 0) continue;
        double s = fmin(fmax(k->by_in[i] * sqrt(r1 / r2), 1 / MOST_FACTOR), MOST_FACTOR);
        moved = fmax(moved, fabs(s / k->by_in[i] - 1));
        k->by_in[i] = s;
        l->by_out[i] = 1 / s;
    }
    return moved;
}

static void settle(layer *v, int n) {
    double moved = 1;
    for (int round = 0; round < MOST_ROUNDS && moved > SETTLED; round++) {
        moved = 0;
        for (int i = 0; i < n; i++)
            if (v[i].next != NULL) moved = fmax(moved, balance(&v[i]));
    }
}

/* ---- weights ---- */

static hone_status scale_weight(const layer *l, hn_allocator *alloc, hn_error *err) {
    const hn_tensor *w = l->weight->constant;
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, w->dtype, w->rank, w->dims, err));
    float *to = t->data;
    for (int64_t m = 0; m < l->outs; m++)
        for (int64_t c = 0; c < l->group_ins; c++) {
            double by = l->by_out[m] * l->by_in[m / l->group_outs * l->group_ins + c];
            int64_t at = m * l->out_step + c * l->in_step;
            for (int64_t k = at; k < at + l->taps; k++) to[k] = (float)(hn_tensor_f64(w, k) * by);
        }
    hn_value_set_constant(l->weight, t);
    return HONE_OK;
}

static hone_status scale_bias(const layer *l, hn_allocator *alloc, hn_error *err) {
    const hn_tensor *b = l->bias->constant;
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, b->dtype, b->rank, b->dims, err));
    float *to = t->data;
    for (int64_t m = 0; m < l->outs; m++) to[m] = (float)(hn_tensor_f64(b, m) * l->by_out[m]);
    hn_value_set_constant(l->bias, t);
    return HONE_OK;
}

static bool is_scaled(const layer *l) {
    bool scaled = false;
    for (int64_t m = 0; m < l->outs; m++) scaled |= l->by_out[m] != 1;
    for (int64_t c = 0; c < l->ins; c++) scaled |= l->by_in[c] != 1;
    return scaled;
}

hone_status hn_transform_equalize(hn_transform_ctx *c, hn_error *err) {
    hn_arena arena;
    layer *v = NULL;
    int n;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find(c->model->graph, &arena, &v, &n, err);
    if (status == HONE_OK) settle(v, n);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        if (!is_scaled(&v[i])) continue;
        hn_node_touch(v[i].node);
        status = scale_weight(&v[i], c->model->alloc, err);
        if (status == HONE_OK && v[i].bias != NULL)
            status = scale_bias(&v[i], c->model->alloc, err);
        c->changed++;
    }
    hn_arena_deinit(&arena);
    return status;
}
