/* Bias correction: rounding moves the mean of a layer's outputs, and its bias can move it back
 * (Nagel et al., "Data-free quantization", 2019).
 *
 *     values of one channel of one layer, over all samples
 *
 *       float          ..:|:..                      ..:|:..
 *       quantized           ..:|:..      becomes    ..:|:..
 *                        ──▶ shift                  bias - shift
 *
 * What a channel's weights are rounded by, and what its inputs are, does not average out: a channel
 * has few weights, and inputs behind a Relu are all positive. Means are taken before the
 * activation, over the samples and all places of a channel.
 *
 * In the order of the graph, so that a layer's shift is what is left when the layers before it are
 * corrected: layers that do not depend on each other go together, and the samples are run once for
 * each such level. All at once would count a shift again in every layer behind it.
 *
 * Conv and Gemm whose weights are dequantized, or simulated. A bias in integers stays so, in its
 * own units; where there is none, one is made in those of the sums, or in floats beside simulated
 * weights.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compress/transform.h"
#include "compress/watch.h"
#include "compress/weighted.h"
#include "ops/nodes.h"

/* Both models see the same samples, so that the difference of their means needs few: on networks of
 * depthwise convolutions, squeeze-and-excite and hard-swish 256 leave the same noise within 0.1 dB.
 */
#define MOST_SAMPLES 64

typedef struct layer {
    hn_node *node;           /* of the quantized model */
    const hn_node *original; /* of the float one */
    int level;               /* layers before it, at most */
    int64_t channels;
    float beta;           /* what a bias is multiplied by */
    double *want, *found; /* [channels]: sums of outputs, then means */
    int64_t n_want, n_found;
} layer;

typedef struct correction {
    hn_transform_ctx *c;
    hn_arena arena;
    layer *layers;
    int n, levels;
} correction;

/* ---- layers ---- */

static bool is_layer(const hn_node *n) {
    const hn_op_def *op = hn_def_of(n);
    return op->role == HN_ROLE_PRODUCT && op->weights->bias > 0;
}

/* The constant that input i is dequantized from; NULL: it is not. */
static const hn_tensor *codes_of(const hn_node *n, int i) {
    const hn_node *d = hn_feeds(n, i, "DequantizeLinear");
    return d != NULL ? hn_const_in(d, 0) : NULL;
}

static const hn_tensor *scale_of(const hn_node *n, int i) {
    const hn_node *d = hn_feeds(n, i, "DequantizeLinear");
    const hn_tensor *t = d != NULL && hn_attr_i(d, "block_size") == 0 ? hn_const_in(d, 1) : NULL;
    return t != NULL && t->dtype == HONE_DTYPE_F32 ? t : NULL;
}

/* Finds what the weight of the float model says; false: that is computed. */
static bool describe(layer *l) {
    const hn_tensor *w = hn_const_in(l->original, l->original->op->weights->input);
    hn_weight_use use;
    if (w == NULL || !hn_weight_use_of(l->node, w, &use)) return false;
    l->channels = w->dims[use.channel_axis];
    l->beta = use.beta;
    return l->channels > 0;
}

/* The next node of the float model, from *at on, that n was made of. */
static const hn_node *counterpart(const hn_node *n, const hn_node **at) {
    for (const hn_node *k = *at; k != NULL; k = k->next)
        if (is_layer(k) && strcmp(k->op_type, n->op_type) == 0 && strcmp(k->name, n->name) == 0) {
            *at = k->next;
            return k;
        }
    return NULL;
}

/* Its weights are those of the float model, rounded. */
static bool is_rounded(const correction *k, hn_node *n) {
    hn_weighted w;
    return hn_feeds(n, 1, "DequantizeLinear") != NULL ||
           (k->c->scheme->simulate && hn_weighted_of(n, k->c->scheme, &w, NULL));
}

/* How many layers lie before n, at most; depth[] holds that of every value before. */
static int depth_before(const hn_node *n, const int *depth) {
    int most = 0;
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_value *v = n->inputs[i].value;
        if (v != NULL && v->graph == n->graph && depth[v->id] > most) most = depth[v->id];
    }
    return most;
}

static hone_status find(correction *k, hn_error *err) {
    hn_graph *g = k->c->model->graph;
    const hn_node *at = k->c->original->graph->first;
    int *depth = hn_arena_array(&k->arena, (size_t)g->n_values + 1, sizeof *depth);
    k->layers = hn_arena_array(&k->arena, (size_t)g->n_nodes + 1, sizeof *k->layers);
    if (depth == NULL || k->layers == NULL) return HN_NOMEM(err);
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        int before = depth_before(n, depth);
        for (int i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != NULL) depth[n->outputs[i]->id] = before + is_layer(n);
        if (!is_layer(n)) continue;
        layer l = {.node = n, .level = before, .original = counterpart(n, &at)};
        if (l.original == NULL || !is_rounded(k, n)) continue;
        if (!describe(&l)) continue;
        l.want = hn_arena_array(&k->arena, (size_t)l.channels, sizeof *l.want);
        l.found = hn_arena_array(&k->arena, (size_t)l.channels, sizeof *l.found);
        if (l.want == NULL || l.found == NULL) return HN_NOMEM(err);
        k->layers[k->n++] = l;
        if (before >= k->levels) k->levels = before + 1;
    }
    return HONE_OK;
}

/* ---- means ---- */

typedef struct summing {
    layer **of; /* by name watched */
    bool original;
} summing;

static hone_status add(void *ctx, int i, const hn_tensor *t, int64_t samples, hn_error *err) {
    (void)samples;
    const summing *s = ctx;
    layer *l = s->of[i];
    char label[160];
    HN_CHECK(err, t->dtype == HONE_DTYPE_F32 && t->rank >= 2 && t->dims[1] == l->channels,
             HONE_E_SHAPE, "%s: its output does not fit its weight",
             hn_node_label(l->node, label, sizeof label));
    double *to = s->original ? l->want : l->found;
    int64_t inner = 1;
    for (int d = 2; d < t->rank; d++) inner *= t->dims[d];
    const float *x = t->data;
    for (int64_t at = 0; at < t->n; at += inner) {
        double sum = 0;
        for (int64_t k = 0; k < inner; k++) sum += (double)x[at + k];
        to[at / inner % l->channels] += sum;
    }
    *(s->original ? &l->n_want : &l->n_found) += t->n / l->channels;
    return HONE_OK;
}

/* Sums the outputs of the layers of a level, -1: of all of them, in the float model or not. */
static hone_status sum_up(correction *k, int level, bool original, hn_error *err) {
    hn_transform_ctx *c = k->c;
    const hn_model *m = original ? c->original : c->model;
    hn_run_options how = hn_run_options_for(c->how, m);
    hn_arena_mark mark = hn_arena_here(&k->arena);
    layer **of = hn_arena_array(&k->arena, (size_t)k->n, sizeof *of);
    const char **names = hn_arena_array(&k->arena, (size_t)k->n, sizeof *names);
    if (of == NULL || names == NULL) return HN_NOMEM(err);
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        layer *l = &k->layers[i];
        if (level >= 0 && l->level != level) continue;
        of[n] = l;
        names[n++] = (original ? l->original : l->node)->outputs[0]->name;
    }
    hn_watch_options o = {.samples = c->samples > 0 && c->samples < MOST_SAMPLES ? c->samples
                                                                                 : MOST_SAMPLES};
    summing s = {of, original};
    hone_status status = hn_watch(m, names, n, c->feed, &how, &o, add, &s, c->alloc, err);
    hn_arena_back(&k->arena, mark);
    return status;
}

/* ---- biases ---- */

static double shift_of(const layer *l, int64_t i) {
    double by = l->want[i] / (double)l->n_want - l->found[i] / (double)l->n_found;
    return isfinite(by) ? by : 0;
}

/* A float bias with the shifts in it. */
static hone_status correct_floats(const layer *l, hn_value *bias, hn_error *err) {
    const hn_tensor *b = bias->constant;
    double beta = (double)l->beta;
    hn_tensor *t;
    if (beta == 0) return HONE_OK;
    HN_TRY(hn_tensor_create(&t, bias->graph->model->alloc, HN_MEM_WEIGHTS, b->dtype, b->rank,
                            b->dims, err));
    for (int64_t i = 0; i < t->n; i++)
        hn_store_f64(t->dtype, t->data, i, hn_tensor_f64(b, i) + shift_of(l, i) / beta);
    hn_value_set_constant(bias, t);
    return HONE_OK;
}

/* Codes of old (NULL: zeros) plus the shifts, in units of scale. */
static hone_status make_codes(const layer *l, const hn_tensor *old, const hn_tensor *scale,
                              hn_allocator *alloc, hn_tensor **out, hn_error *err) {
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, HONE_DTYPE_S32, 1, (int64_t[]){l->channels},
                            err));
    for (int64_t i = 0; i < l->channels; i++) {
        double unit = hn_tensor_f64(scale, scale->n == 1 ? 0 : i);
        double code = rint(shift_of(l, i) / unit) + (old != NULL ? hn_tensor_f64(old, i) : 0);
        ((int32_t *)(*out)->data)[i] = (int32_t)fmin(fmax(code, -INT32_MAX), INT32_MAX);
    }
    return HONE_OK;
}

/* Scales of the sums: those of the input times those of the weight. NULL: they have none. */
static hone_status make_units(const layer *l, hn_allocator *alloc, hn_tensor **out, hn_error *err) {
    const hn_tensor *x = scale_of(l->node, 0), *w = scale_of(l->node, 1);
    *out = NULL;
    if (x == NULL || w == NULL || x->n != 1 || (w->n != 1 && w->n != l->channels)) return HONE_OK;
    HN_TRY(hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, w->dtype, w->rank, w->dims, err));
    for (int64_t i = 0; i < w->n; i++)
        ((float *)(*out)->data)[i] = (float)(hn_tensor_f64(x, 0) * hn_tensor_f64(w, i));
    return HONE_OK;
}

/* A bias in floats where there was none. */
static hone_status make_floats(const layer *l, const char *hint, hn_error *err) {
    hn_node *n = l->node;
    hn_tensor *t;
    hn_value *b;
    HN_TRY(hn_tensor_create(&t, n->graph->model->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, 1,
                            (int64_t[]){l->channels}, err));
    for (int64_t i = 0; i < t->n; i++) ((float *)t->data)[i] = (float)shift_of(l, i);
    HN_TRY(hn_make_constant(&b, n, hint, t, err));
    if (n->n_inputs < 3) HN_TRY(hn_node_resize_inputs(n, 3, err));
    hn_node_set_input(n, 2, b);
    return HONE_OK;
}

/* A bias where there was none. *made: there is one now. */
static hone_status make_bias(const layer *l, bool *made, hn_error *err) {
    hn_node *n = l->node, *d;
    hn_allocator *alloc = n->graph->model->alloc;
    hn_value *codes, *scale, *y;
    hn_tensor *units, *t;
    char hint[160];
    snprintf(hint, sizeof hint, "%.120s_bias", n->inputs[1].value->name);
    *made = true;
    if (hn_const_in(n, 1) != NULL) return make_floats(l, hint, err);
    HN_TRY(make_units(l, alloc, &units, err));
    *made = units != NULL;
    if (units == NULL) return HONE_OK;
    hone_status status = make_codes(l, NULL, units, alloc, &t, err);
    if (status == HONE_OK) status = hn_make_constant(&codes, n, hint, t, err);
    if (status != HONE_OK) {
        hn_tensor_unref(units);
        return status;
    }
    bool one = units->n == 1;
    HN_TRY(hn_make_constant(&scale, n, hint, units, err));
    HN_TRY(hn_make_node(&d, n, "DequantizeLinear", 2, err));
    if (!one) HN_TRY(hn_node_set_i(d, "axis", 0, err));
    HN_TRY(hn_value_create(&y, n->graph, NULL, hint, err));
    if (n->n_inputs < 3) HN_TRY(hn_node_resize_inputs(n, 3, err));
    hn_node_insert(d, n);
    hn_node_set_input(d, 0, codes);
    hn_node_set_input(d, 1, scale);
    hn_node_set_output(d, 0, y);
    hn_node_set_input(n, 2, y);
    return HONE_OK;
}

static hone_status correct(const layer *l, bool *done, hn_error *err) {
    hn_node *n = l->node;
    hn_value *b = hn_node_input(n, 2);
    *done = false;
    if (l->n_want == 0 || l->n_found == 0) return HONE_OK;
    if (b == NULL) return make_bias(l, done, err);
    if (hn_const_in(n, 2) != NULL) {
        *done = b->n_uses == 1 && b->constant->n == l->channels &&
                hn_dtype_in(b->constant->dtype, HN_DTYPES_FLOAT);
        return *done ? correct_floats(l, b, err) : HONE_OK;
    }
    const hn_tensor *codes = codes_of(n, 2), *scale = scale_of(n, 2);
    hn_value *v = codes != NULL ? b->producer->inputs[0].value : NULL;
    *done = v != NULL && scale != NULL && codes->dtype == HONE_DTYPE_S32 && b->n_uses == 1 &&
            v->n_uses == 1 && codes->rank == 1 && codes->n == l->channels &&
            (scale->n == 1 || scale->n == l->channels);
    if (!*done) return HONE_OK;
    hn_tensor *t;
    HN_TRY(make_codes(l, codes, scale, v->graph->model->alloc, &t, err));
    hn_value_set_constant(v, t);
    return HONE_OK;
}

static hone_status correct_level(correction *k, int level, hn_error *err) {
    hn_transform_ctx *c = k->c;
    bool any = false;
    for (int i = 0; i < k->n; i++) any |= k->layers[i].level == level;
    if (any) HN_TRY(sum_up(k, level, false, err));
    for (int i = 0; i < k->n; i++) {
        bool done;
        if (k->layers[i].level != level) continue;
        HN_TRY(correct(&k->layers[i], &done, err));
        c->changed += done;
    }
    HN_CHECK(err, c->progress == NULL || c->progress(c->progress_ctx, level + 1, k->levels),
             HONE_E_LIMIT, "stopped");
    return HONE_OK;
}

static hone_status check_inputs(const hn_transform_ctx *c, hn_error *err) {
    const hn_graph *g = c->model->graph, *from = c->original->graph;
    for (int i = 0; i < g->n_inputs && i < from->n_inputs; i++)
        HN_CHECK(err, g->inputs[i]->type.dtype == from->inputs[i]->type.dtype, HONE_E_ARG,
                 "biases are corrected by running samples, but input '%s' takes %s, the samples "
                 "are %s",
                 g->inputs[i]->name, hone_dtype_name(g->inputs[i]->type.dtype),
                 hone_dtype_name(from->inputs[i]->type.dtype));
    return HONE_OK;
}

hone_status hn_transform_bias(hn_transform_ctx *c, hn_error *err) {
    correction k = {.c = c};
    HN_TRY(check_inputs(c, err));
    hn_arena_init(&k.arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = find(&k, err);
    if (status == HONE_OK && k.n > 0) status = sum_up(&k, -1, true, err);
    for (int level = 0; level < k.levels && status == HONE_OK; level++)
        status = correct_level(&k, level, err);
    hn_arena_deinit(&k.arena);
    return status;
}
