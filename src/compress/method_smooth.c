/* SmoothQuant: what is hard to quantize moves from the inputs of products to their weights (Xiao et
 * al., 2023).
 *
 *     h = LayerNormalization (x, g, b)            h = LayerNormalization (x, g/s, b/s)
 *     q = MatMul (h, Q)                           q = MatMul (h, s*Q)     rows of the weights
 *     k = MatMul (h, K)             becomes       k = MatMul (h, s*K)
 *
 *                  |h|    |Q|, |K|                |h|    |Q|, |K|
 *     channel 0    #      ##                      #      #
 *             1    #      #                       #      #
 *             2    ###########  #        becomes  ###    ###          an outlier of a few channels
 *             3    ##     ##                      ##     ##
 *
 * A few channels of what a normalization makes are larger than the others by far, always the same
 * ones, and inputs have one scale for all channels. Per channel
 *
 *     s = max|h|^a / max|w|^(1-a)        a = 0.5: the burden is shared evenly
 *
 * over the samples and over the weights of all products that read h. Where something else reads h
 * too (what is added to the output of the block, in models that normalize after it) the
 * normalization is made twice, and only the products read the second one.
 *
 * Fires for LayerNormalization and RMSNormalization over the last axis with constant f32 scale and
 * bias, read by MatMul or Gemm layers whose inputs the scheme quantizes and whose weights nothing
 * else uses.
 */
#include <math.h>
#include <stdio.h>

#include "compress/method.h"
#include "compress/watch.h"
#include "compress/weighted.h"
#include "passes/pass.h"

#define ALPHA 0.5
/* No channel is scaled by more, and larger weights are left alone: nothing leaves the range of f32.
 */
#define MOST_FACTOR 1e4
#define MOST_WEIGHT 1e30

typedef struct norm {
    hn_node *node;
    int64_t channels;
    int first, n;   /* of the products that read it, in the order of `smoothing` */
    double *inputs; /* [channels]: greatest |h| over the samples */
    double *by;     /* [channels]: s */
} norm;

typedef struct smoothing {
    hn_method_ctx *c;
    hn_arena arena;
    int n_norms, n_products;
    norm *norms;
    hn_weighted *products; /* those of a norm follow each other */
} smoothing;

/* ---- what to smooth ---- */

static const hn_tensor *vector_in(const hn_node *n, int i) {
    const hn_tensor *t = hn_const_in(n, i);
    if (t == NULL || t->dtype != HONE_DTYPE_F32 || t->n == 0 || t->rank < 1) return NULL;
    return t->n == t->dims[t->rank - 1] ? t : NULL;
}

static bool describe(hn_node *n, norm *out) {
    if (!hn_is(n, "LayerNormalization") && !hn_is(n, "RMSNormalization")) return false;
    const hn_type *type = &n->outputs[0]->type;
    int64_t axis = hn_attr_i(n, "axis");
    const hn_tensor *scale = vector_in(n, 1), *bias = vector_in(n, 2);
    if (scale == NULL || (hn_node_input(n, 2) != NULL && (bias == NULL || bias->n != scale->n)))
        return false;
    if (n->n_outputs > 1 || type->dtype != HONE_DTYPE_F32 || type->shape.rank < 1 ||
        (axis < 0 ? axis + type->shape.rank : axis) != type->shape.rank - 1)
        return false;
    *out = (norm){.node = n, .channels = scale->n};
    return true;
}

static bool reads(const hn_weighted *w, const norm *of) {
    const hn_tensor *t = w->weight->constant;
    return w->input == of->node->outputs[0] && w->scheme.kind >= HN_LAYER_DYNAMIC &&
           hn_node_input(w->node, 1) == w->weight && hn_used_once(w->weight) && t->rank == 2 &&
           t->dims[w->sum_axis] == of->channels &&
           (hn_is(w->node, "MatMul") ||
            (hn_is(w->node, "Gemm") && hn_attr_i(w->node, "transA") == 0));
}

static hone_status find(smoothing *s, hn_error *err) {
    hn_graph *g = s->c->model->graph;
    hn_weighted *all;
    int n_all;
    HN_TRY(hn_weighted_layers(s->c->model, s->c->scheme, &s->arena, &all, &n_all, err));
    s->norms = hn_arena_array(&s->arena, (size_t)g->n_nodes + 1, sizeof *s->norms);
    s->products = hn_arena_array(&s->arena, (size_t)n_all + 1, sizeof *s->products);
    if (s->norms == NULL || s->products == NULL) return HN_NOMEM(err);
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        norm *at = &s->norms[s->n_norms];
        if (!describe(n, at)) continue;
        at->first = s->n_products;
        for (int i = 0; i < n_all; i++)
            if (reads(&all[i], at)) s->products[s->n_products++] = all[i];
        at->n = s->n_products - at->first;
        if (at->n == 0) continue;
        at->inputs = hn_arena_array(&s->arena, (size_t)at->channels, sizeof *at->inputs);
        at->by = hn_arena_array(&s->arena, (size_t)at->channels, sizeof *at->by);
        if (at->inputs == NULL || at->by == NULL) return HN_NOMEM(err);
        s->n_norms++;
    }
    return HONE_OK;
}

/* ---- how much ---- */

static hone_status look(void *ctx, int i, const hn_tensor *t, int64_t n, hn_error *err) {
    (void)n;
    const norm *of = &((const smoothing *)ctx)->norms[i];
    HN_CHECK(err, t->dtype == HONE_DTYPE_F32 && t->n % of->channels == 0, HONE_E_SHAPE,
             "normalization '%s' has an output that does not fit its scale", of->node->name);
    const float *x = t->data;
    for (int64_t at = 0; at < t->n; at += of->channels)
        for (int64_t k = 0; k < of->channels; k++)
            of->inputs[k] = fmax(of->inputs[k], fabs((double)x[at + k]));
    return HONE_OK;
}

static hone_status watch(smoothing *s, hn_error *err) {
    hn_method_ctx *c = s->c;
    hn_watch_options o = {
        .samples = c->samples, .progress = c->progress, .progress_ctx = c->progress_ctx};
    const char **names = hn_arena_array(&s->arena, (size_t)s->n_norms, sizeof *names);
    if (names == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_norms; i++) names[i] = s->norms[i].node->outputs[0]->name;
    return hn_watch(c->model, names, s->n_norms, c->feed, c->how, &o, look, s, c->alloc, err);
}

/* The index along the sum axis of element i of a product's weight. */
static int64_t channel_of(const hn_weighted *w, int64_t i) {
    const hn_tensor *t = w->weight->constant;
    return w->sum_axis == 0 ? i / t->dims[1] : i % t->dims[1];
}

/* False: a weight is not a number that can be scaled. */
static bool choose(const smoothing *s, norm *of) {
    for (int p = of->first; p < of->first + of->n; p++) {
        const hn_tensor *t = s->products[p].weight->constant;
        for (int64_t i = 0; i < t->n; i++) {
            double x = fabs(hn_tensor_f64(t, i)), *most = &of->by[channel_of(&s->products[p], i)];
            if (!(x <= MOST_WEIGHT)) return false;
            *most = fmax(*most, x);
        }
    }
    for (int64_t k = 0; k < of->channels; k++) {
        double by = pow(of->inputs[k], ALPHA) / pow(of->by[k], 1 - ALPHA);
        bool nothing = of->inputs[k] == 0 || of->by[k] == 0 || !isfinite(of->inputs[k]);
        of->by[k] = nothing ? 1 : fmin(fmax(by, 1 / MOST_FACTOR), MOST_FACTOR);
    }
    return true;
}

/* ---- new constants ---- */

static hone_status scale_weight(const hn_weighted *w, const double *by, hn_allocator *alloc,
                                hn_error *err) {
    const hn_tensor *from = w->weight->constant;
    hn_tensor *t;
    HN_TRY(hn_tensor_create(&t, alloc, HN_MEM_WEIGHTS, from->dtype, from->rank, from->dims, err));
    for (int64_t i = 0; i < t->n; i++)
        ((float *)t->data)[i] = (float)(hn_tensor_f64(from, i) * by[channel_of(w, i)]);
    hn_value_set_constant(w->weight, t);
    hn_node_touch(w->node);
    return HONE_OK;
}

/* Constant input i of the norm, divided by its factors; *out NULL: there is none. */
static hone_status divide(const norm *of, int i, hn_value **out, hn_error *err) {
    const hn_value *v = hn_node_input(of->node, i);
    hn_tensor *t;
    *out = NULL;
    if (v == NULL) return HONE_OK;
    const hn_tensor *from = v->constant;
    HN_TRY(hn_tensor_create(&t, of->node->graph->model->alloc, HN_MEM_WEIGHTS, from->dtype,
                            from->rank, from->dims, err));
    for (int64_t k = 0; k < t->n; k++)
        ((float *)t->data)[k] = (float)(hn_tensor_f64(from, k) / of->by[k]);
    char hint[160];
    snprintf(hint, sizeof hint, "%.120s_smooth", v->name);
    return hn_make_constant(out, of->node, hint, t, err);
}

/* A second norm for the products alone, behind the first. */
static hone_status make_twin(const smoothing *s, const norm *of, hn_node **out, hn_error *err) {
    hn_node *n = of->node, *twin;
    hn_value *v = n->outputs[0], *made;
    char hint[160], name[160];
    snprintf(hint, sizeof hint, "%.120s_smooth", v->name);
    snprintf(name, sizeof name, "%.120s%s", n->name, n->name[0] != '\0' ? "_smooth" : "");
    HN_TRY(hn_node_create(&twin, n->graph, "", n->op_type, name, n->n_inputs, 1, err));
    twin->op = n->op;
    HN_TRY(hn_node_set_i(twin, "axis", hn_attr_i(n, "axis"), err));
    HN_TRY(hn_node_set_f(twin, "epsilon", hn_attr_f(n, "epsilon"), err));
    HN_TRY(hn_node_set_i(twin, "stash_type", hn_attr_i(n, "stash_type"), err));
    HN_TRY(hn_value_create(&made, n->graph, NULL, hint, err));
    made->type = v->type;
    hn_node_insert(twin, n->next);
    hn_node_set_output(twin, 0, made);
    for (int i = 0; i < n->n_inputs; i++) hn_node_set_input(twin, i, hn_node_input(n, i));
    for (int p = of->first; p < of->first + of->n; p++)
        hn_node_set_input(s->products[p].node, 0, made);
    *out = twin;
    return HONE_OK;
}

static hone_status apply(const smoothing *s, const norm *of, hn_error *err) {
    hn_value *scale, *bias;
    hn_node *n = of->node;
    HN_TRY(divide(of, 1, &scale, err));
    HN_TRY(divide(of, 2, &bias, err));
    if (n->outputs[0]->n_uses > of->n) HN_TRY(make_twin(s, of, &n, err));
    hn_value *old[] = {hn_node_input(n, 1), hn_node_input(n, 2)};
    hn_node_set_input(n, 1, scale);
    if (bias != NULL) hn_node_set_input(n, 2, bias);
    for (int i = 0; i < 2; i++)
        if (old[i] != NULL && old[i]->n_uses == 0) hn_value_remove(old[i]);
    for (int p = of->first; p < of->first + of->n; p++)
        HN_TRY(scale_weight(&s->products[p], of->by, s->c->model->alloc, err));
    s->c->changed += of->n;
    return HONE_OK;
}

hone_status hn_method_smooth(hn_method_ctx *c, hn_error *err) {
    smoothing s = {.c = c};
    hn_arena_init(&s.arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find(&s, err);
    if (status == HONE_OK && s.n_norms > 0) status = watch(&s, err);
    for (int i = 0; i < s.n_norms && status == HONE_OK; i++)
        if (choose(&s, &s.norms[i])) status = apply(&s, &s.norms[i], err);
    hn_arena_deinit(&s.arena);
    return status;
}
