#include "compress/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "compress/shrinking.h"
#include "engine/layers.h"
#include "ops/nodes.h"
#include "ops/spatial.h"

/* ---- layers ---- */

static bool read_window(hn_chained *c, const char **why) {
    const hn_tensor *t = c->w->weight->constant;
    hn_spatial s;
    hn_error unused;
    c->rank = t->rank - 2;
    c->depthwise = t->dims[1] == 1 && c->m.groups > 1;
    c->inputs = c->depthwise ? c->m.groups : t->dims[1];
    *why = c->m.groups > 1 && !c->depthwise        ? "a convolution in groups"
           : c->depthwise && c->m.n != c->m.groups ? "it has several outputs for an input"
           : hn_spatial_read(c->w->node, c->rank, &s, &unused) != HONE_OK
               ? "its window cannot be read"
               : NULL;
    for (int i = 0; i < c->rank && *why == NULL; i++) {
        c->kernel[i] = t->dims[2 + i];
        c->stride[i] = s.stride[i];
        c->axes |= 1u << i;
    }
    return *why == NULL;
}

static bool is_finite(const hn_tensor *t) {
    for (int64_t i = 0; i < t->n; i++)
        if (!isfinite(hn_weight_at(t, i))) return false;
    return true;
}

bool hn_chained_of(hn_chained *c, const hn_weighted *w, const char **why) {
    const hn_node *n = w->node;
    *c = (hn_chained){.w = w};
    *why = w->weight->n_uses != 1 ? "other nodes read its weight"
           : w->transposed        ? "its input is turned"
           : w->weight->constant->rank != 2 && w->kind == HN_WEIGHT_MATRIX
               ? "its weight is several matrices"
           : n->op->role != HN_ROLE_PRODUCT  ? "there is no such form of its operator"
           : !hn_layer_as_matrix(w, &c->m)   ? "it is no product with one matrix"
           : !is_finite(w->weight->constant) ? "its weights are not all finite"
                                             : NULL;
    if (*why != NULL) return false;
    c->inputs = c->m.k;
    return w->kind != HN_WEIGHT_WINDOWS || read_window(c, why);
}

/* ---- chains ---- */

static int64_t elements(const hn_link *l) { return l->n * l->k * l->taps; }

int64_t hn_chain_weights(const hn_chain *chain) {
    int64_t sum = 0;
    for (int i = 0; i < chain->n; i++) sum += elements(&chain->v[i]);
    return sum;
}

int64_t hn_chain_macs(const hn_chain *chain, const hn_chained *of) {
    int64_t sum = 0, places = 1;
    for (int i = chain->n; i-- > 0;) {
        sum += elements(&chain->v[i]) * places;
        for (int a = 0; a < of->rank; a++)
            if (chain->v[i].axes >> a & 1) places *= of->stride[a];
    }
    return sum;
}

hone_status hn_chain_create(hn_chain *chain, hn_allocator *alloc, hn_error *err) {
    for (int i = 0; i < chain->n; i++) {
        hn_link *l = &chain->v[i];
        l->weight = hn_alloc_array(alloc, (size_t)elements(l), sizeof *l->weight, HN_MEM_SCRATCH);
        if (l->weight == NULL) return HN_NOMEM(err);
    }
    return HONE_OK;
}

void hn_chain_deinit(hn_chain *chain, hn_allocator *alloc) {
    for (int i = 0; i < chain->n; i++) hn_free(alloc, chain->v[i].weight);
    *chain = (hn_chain){0};
}

/* Where tap t of a link lies in the whole window. */
static int64_t place_of(const hn_link *l, const hn_chained *of, int64_t t) {
    int64_t place = 0, pitch = 1;
    for (int a = of->rank; a-- > 0; pitch *= of->kernel[a])
        if (l->axes >> a & 1) {
            place += t % of->kernel[a] * pitch;
            t /= of->kernel[a];
        }
    return place;
}

/* to [l.n, k] = link l behind `so` [its inputs, k], which has taps of other axes. */
static void append(const hn_link *l, const hn_chained *of, const double *so, double *to) {
    int64_t k = of->m.k;
    memset(to, 0, (size_t)(l->n * k) * sizeof *to);
    for (int64_t o = 0; o < l->n; o++)
        for (int64_t i = 0; i < l->k; i++)
            for (int64_t t = 0; t < l->taps; t++) {
                double by = (double)l->weight[(o * l->k + i) * l->taps + t];
                const double *from = so + (l->own ? o : i) * k;
                int64_t place = place_of(l, of, t);
                for (int64_t e = 0; e + place < k; e++) to[o * k + e + place] += by * from[e];
            }
}

/* The first link alone: its taps in the whole window, 0 elsewhere. */
static void begin(const hn_link *l, const hn_chained *of, double *to) {
    int64_t k = of->m.k, taps = of->depthwise ? k : k / of->inputs;
    memset(to, 0, (size_t)(l->n * k) * sizeof *to);
    for (int64_t o = 0; o < l->n; o++)
        for (int64_t i = 0; i < l->k; i++)
            for (int64_t t = 0; t < l->taps; t++) {
                int64_t input = l->own && !of->depthwise ? o / (l->n / of->inputs) : i;
                to[o * k + input * taps + place_of(l, of, t)] =
                    (double)l->weight[(o * l->k + i) * l->taps + t];
            }
}

hone_status hn_chain_multiply(const hn_chain *chain, const hn_chained *of, double *to,
                              hn_allocator *alloc, hn_error *err) {
    int64_t most = of->m.n;
    size_t n;
    double *two[2] = {NULL, NULL};
    hone_status status = HONE_OK;
    for (int i = 0; i < chain->n; i++) most = chain->v[i].n > most ? chain->v[i].n : most;
    for (int i = 0; i < 2; i++) {
        if (hn_size_mul((size_t)most, (size_t)of->m.k, &n))
            two[i] = hn_alloc_array(alloc, n, sizeof(double), HN_MEM_SCRATCH);
        HN_CHECK_GOTO(err, two[i] != NULL, HONE_E_NOMEM, "out of memory");
    }
    begin(&chain->v[0], of, two[0]);
    for (int i = 1; i < chain->n; i++) append(&chain->v[i], of, two[(i + 1) % 2], two[i % 2]);
    memcpy(to, two[(chain->n + 1) % 2], (size_t)(of->m.n * of->m.k) * sizeof *to);
fail:
    hn_free(alloc, two[0]);
    hn_free(alloc, two[1]);
    return status;
}

/* ---- biases ---- */

/* The Add behind a MatMul that adds a constant vector of n numbers, and to which input; NULL: there
 * is none. */
static hn_node *adds_vector(const hn_node *n, int64_t count, int *index) {
    const hn_value *y = n->outputs[0];
    if (!hn_used_once(y)) return NULL;
    hn_node *add = y->uses->node;
    if (hn_def_of(add)->role != HN_ROLE_ADD) return NULL;
    *index = hn_node_input(add, 0) == y ? 1 : 0;
    const hn_tensor *t = hn_const_in(add, *index);
    bool vector = t != NULL && t->dtype == HONE_DTYPE_F32 && t->n == count && t->rank >= 1 &&
                  t->dims[t->rank - 1] == count;
    return vector && y->type.shape.rank >= t->rank ? add : NULL;
}

bool hn_chained_has_bias(const hn_chained *of) {
    const hn_weighted *w = of->w;
    int index;
    if (w->node->op->weights->bias == 0) return adds_vector(w->node, of->m.n, &index) != NULL;
    const hn_value *bias = hn_bias_of(w->node);
    if (bias == NULL) return true;
    return w->bias != NULL && w->beta != 0 && bias->constant->dtype == HONE_DTYPE_F32 &&
           bias->constant->n == of->m.n;
}

static hone_status shifted(hn_value **out, hn_node *n, const hn_tensor *old, double beta,
                           const double *shift, int64_t count, hn_error *err) {
    hn_tensor *t;
    int rank = old != NULL ? old->rank : 1;
    const int64_t *dims = old != NULL ? old->dims : &count;
    HN_TRY(hn_tensor_create(&t, n->graph->model->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, rank, dims,
                            err));
    for (int64_t i = 0; i < count; i++)
        ((float *)t->data)[i] =
            (float)((old != NULL ? hn_tensor_f64(old, i) : 0) + shift[i] / beta);
    return hn_make_constant(out, n, "bias", t, err);
}

/* Adds to the bias of `last`, which was the layer's, or to what the node behind the layer adds. */
static hone_status move_bias(hn_node *last, const hn_chained *of, const double *shift,
                             hn_error *err) {
    hn_node *n = of->w->node, *at = last;
    int index = n->op->weights->bias;
    if (index == 0) at = adds_vector(n, of->m.n, &index);
    const hn_tensor *old = hn_const_in(at, index);
    double beta = at == last && old != NULL ? (double)of->w->beta : 1;
    hn_value *made;
    if (at == last && old == NULL && hn_op_attr(last->op, "beta") != NULL)
        HN_TRY(hn_node_set_f(at, "beta", 1, err));
    HN_TRY(shifted(&made, at, old, beta, shift, of->m.n, err));
    if (at->n_inputs <= index) HN_TRY(hn_node_resize_inputs(at, index + 1, err));
    hn_node_touch(at);
    hn_value *before = hn_node_input(at, index);
    hn_node_set_input(at, index, made);
    if (before != NULL && before->n_uses == 0) hn_value_remove(before);
    return HONE_OK;
}

/* ---- nodes ---- */

static hone_status copy_floats(hn_node *to, const hn_node *from, hn_error *err) {
    HN_TRY(hn_node_set_f(to, "alpha", hn_attr_f(from, "alpha"), err));
    return hn_node_set_f(to, "beta", hn_attr_f(from, "beta"), err);
}

/* Of the layer's window the link's axes; 1 along the others. */
static hone_status write_window(hn_node *to, const hn_link *l, const hn_chained *of,
                                hn_error *err) {
    const hn_node *n = of->w->node;
    int64_t kernel[HONE_MAX_RANK], stride[HONE_MAX_RANK], dilation[HONE_MAX_RANK],
        pads[2 * HONE_MAX_RANK];
    hn_spatial s;
    HN_TRY(hn_spatial_read(n, of->rank, &s, err));
    for (int i = 0; i < of->rank; i++) {
        bool has = l->axes >> i & 1;
        kernel[i] = has ? of->kernel[i] : 1;
        stride[i] = has ? s.stride[i] : 1;
        dilation[i] = has ? s.dilation[i] : 1;
        pads[i] = has ? s.pad[i] : 0;
        pads[of->rank + i] = has ? s.pad_end[i] : 0;
    }
    HN_TRY(hn_node_set_ints(to, "kernel_shape", kernel, of->rank, err));
    HN_TRY(hn_node_set_ints(to, "strides", stride, of->rank, err));
    HN_TRY(hn_node_set_ints(to, "dilations", dilation, of->rank, err));
    HN_TRY(hn_node_set_i(to, "group", l->own ? of->inputs : 1, err));
    if (s.auto_pad != HN_PAD_NOTSET && l->axes != 0)
        return hn_node_set_s(to, "auto_pad", hn_attr_s(n, "auto_pad"), err);
    return hn_node_set_ints(to, "pads", pads, 2 * of->rank, err);
}

/* The weight as the operator takes it: a convolution's as it lies, a matrix [k, n]. */
static hone_status write_weight(hn_value **out, hn_node *to, const hn_link *l, const hn_chained *of,
                                hn_error *err) {
    int64_t dims[HONE_MAX_RANK] = {l->k, l->n};
    hn_tensor *t;
    char hint[200];
    if (of->rank > 0) {
        dims[0] = l->n, dims[1] = l->k;
        for (int i = 0; i < of->rank; i++) dims[2 + i] = l->axes >> i & 1 ? of->kernel[i] : 1;
    }
    HN_TRY(hn_tensor_create(&t, to->graph->model->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32,
                            2 + of->rank, dims, err));
    float *to_data = t->data;
    if (of->rank > 0)
        memcpy(to_data, l->weight, t->bytes);
    else
        for (int64_t o = 0; o < l->n; o++)
            for (int64_t i = 0; i < l->k; i++) to_data[i * l->n + o] = l->weight[o * l->k + i];
    snprintf(hint, sizeof hint, "%.160s_weight", to->name);
    return hn_make_constant(out, to, hint, t, err);
}

/* A node for a link, not linked to anything but its weight. */
static hone_status make_link(hn_node **out, int i, const hn_chain *chain, const hn_chained *of,
                             hn_error *err) {
    hn_node *n = of->w->node;
    bool last = i == chain->n - 1;
    char name[300];
    hn_value *weight;
    hn_value *bias = last ? hn_bias_of(n) : NULL;
    HN_TRY(hn_make_node(out, n, n->op->name, bias != NULL ? 3 : 2, err));
    snprintf(name, sizeof name, "%.280s/%d", hn_layer_name(n), i);
    (*out)->name = hn_arena_strdup(&n->graph->model->arena, name);
    if ((*out)->name == NULL) return HN_NOMEM(err);
    if (of->rank > 0) HN_TRY(write_window(*out, &chain->v[i], of, err));
    if (last && hn_op_attr(n->op, "alpha") != NULL) HN_TRY(copy_floats(*out, n, err));
    HN_TRY(write_weight(&weight, *out, &chain->v[i], of, err));
    hn_node_insert(*out, n);
    hn_node_set_input(*out, 1, weight);
    if (bias != NULL) hn_node_set_input(*out, 2, bias);
    return HONE_OK;
}

hone_status hn_chain_write(const hn_chain *chain, const hn_chained *of, const double *shift,
                           hn_error *err) {
    hn_node *n = of->w->node, *made;
    hn_value *at = of->w->input, *y = n->outputs[0], *weight = of->w->weight;
    for (int i = 0; i < chain->n; i++) {
        HN_TRY(make_link(&made, i, chain, of, err));
        hn_node_set_input(made, 0, at);
        if (i == chain->n - 1) break;
        HN_TRY(hn_value_create(&at, n->graph, NULL, made->name, err));
        hn_node_set_output(made, 0, at);
    }
    if (shift != NULL) HN_TRY(move_bias(made, of, shift, err));
    hn_node_set_output(n, 0, NULL);
    hn_node_set_output(made, 0, y);
    hn_prune(n);
    if (weight->n_uses == 0) hn_value_remove(weight);
    return HONE_OK;
}
