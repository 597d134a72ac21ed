#include <float.h>
#include <math.h>
#include <stdio.h>

#include "compress/embed.h"
#include "ops/nodes.h"

/* The layer that reads the input, perhaps through nodes that only move its elements. Weight (o, k) is
 * element o * o_stride + k * k_stride, and k a place of the input within a group. */
typedef struct first_layer {
    hn_node *node;
    const hn_tensor *w;
    hn_node *adds; /* has the bias as input `bias` */
    int bias;
    int64_t outputs, places, o_stride, k_stride;
    int64_t channels, group, inner; /* inner: places from one channel to the next */
    const char *no_bias;            /* why the bias cannot change; NULL: it can */
} first_layer;

/* The channel of the input that weight (o, k) belongs to. */
static int64_t channel_of(const first_layer *l, int64_t o, int64_t k) {
    int64_t each = l->channels / l->group;
    return o / (l->outputs / l->group) * each + k / l->inner % each;
}

/* The place of channel c that becomes that of the last channel but c; of one group. */
static int64_t reversed_place(const first_layer *l, int64_t k) {
    int64_t c = k / l->inner % l->channels;
    return k + (l->channels - 1 - 2 * c) * l->inner;
}

/* ---- finding the layer ---- */

/* Where the channels are in a value on the way to the layer. */
typedef struct path {
    const hn_value *at;
    int axis;        /* -1: there are none, all elements are treated alike */
    bool flat;       /* the axes behind the first are one */
    int64_t inner;   /* then: places from one channel to the next */
    const char *why; /* it ends here */
} path;

/* The axis that n, a Transpose, moves `axis` to. */
static int moved_axis(const hn_node *n, int axis) {
    int count;
    const int64_t *perm = hn_attr_ints(n, "perm", &count);
    if (perm == NULL) return n->inputs[0].value->type.shape.rank - 1 - axis;
    for (int i = 0; i < count; i++)
        if (perm[i] == axis) return i;
    return axis;
}

/* n makes [first axis, all others] of its input, whose sizes but the first are known. An operator that
 * moves elements and leaves two axes of more keeps them in their order. */
static bool flattens(const hn_node *n, path *p) {
    const hn_shape *x = &p->at->type.shape, *y = &n->outputs[0]->type.shape;
    int64_t size, places = 1, inner = 1;
    if (hn_def_of(n)->role != HN_ROLE_MOVE || y->rank != 2 || x->rank < 3) return false;
    for (int i = 1; i < x->rank; i++) {
        if (!hn_dim_is_const(x->dim[i], &size) || size < 1 || size > INT32_MAX / places)
            return false;
        places *= size;
        if (i > p->axis) inner *= size;
    }
    if (!hn_dim_is(y->dim[1], places) || y->dim[0] != x->dim[0]) return false;
    p->flat = true;
    p->inner = inner;
    return true;
}

/* n changes no number and leaves the channels where p says then; false: nobody can tell. */
static bool passes(const hn_node *n, int index, path *p) {
    const hn_value *y = hn_node_output(n, 0);
    if (index != 0 || y == NULL || y->type.shape.rank < 0) return false;
    if (hn_is(n, "Cast")) {
        if (!hn_dtype_in(p->at->type.dtype, HN_DTYPES_FLOAT) ||
            !hn_dtype_in(y->type.dtype, HN_DTYPES_FLOAT))
            return false;
    } else if (hn_is(n, "Transpose")) {
        if (p->flat) return false;
        if (p->axis >= 0) p->axis = moved_axis(n, p->axis);
    } else if (!hn_is(n, "Identity") && (p->flat || !flattens(n, p))) {
        return false;
    }
    p->at = y;
    return true;
}

static hn_node *only_reader(path *p, int *index) {
    const hn_use *u = p->at->uses;
    if (p->at->n_uses != 1)
        p->why = "several nodes read the input";
    else if (u->node == NULL)
        p->why = "the input is an output as well";
    else if (u->node->graph != p->at->graph)
        p->why = "a subgraph reads the input";
    *index = u != NULL ? u->index : 0;
    return p->why == NULL ? u->node : NULL;
}

/* ---- kinds of layers ---- */

static bool pads(const hn_node *n) {
    int count;
    const int64_t *v = hn_attr_ints(n, "pads", &count);
    if (hn_attr_is(n, "auto_pad", "VALID")) return false;
    if (!hn_attr_is(n, "auto_pad", "NOTSET")) return true;
    for (int i = 0; i < count; i++)
        if (v[i] != 0) return true;
    return false;
}

/* A convolution: the channels are along axis 1, with those of a group in each row of weights. */
static bool read_windows(first_layer *l, const path *p, const hn_weight_use *u,
                         const hn_normalization *z) {
    const int64_t *dims = l->w->dims;
    if (u->channel_axis != 0 || p->flat || (p->axis != 1 && z->axis >= 0)) return false;
    l->outputs = dims[0];
    l->o_stride = l->places = l->w->n / dims[0];
    l->k_stride = 1;
    l->inner = l->places / dims[1];
    l->group = hn_attr_i(l->node, "group");
    /* Where the shape of the input is not known, nothing has checked this yet. */
    if (l->group < 1 || dims[0] % l->group != 0) return false;
    l->channels = dims[1] * l->group;
    if (pads(l->node))
        l->no_bias =
            "the convolution pads with zeros, which stand for values that are shifted already";
    return z->channels == 0 || z->axis < 0 || l->channels == z->channels;
}

/* A product with a matrix: the channels are along the axis that is summed over, or part of it. */
static bool read_matrix(first_layer *l, const path *p, const hn_weight_use *u,
                        const hn_normalization *z) {
    const int64_t *dims = l->w->dims;
    if (l->w->rank != 2 || u->transposed) return false;
    if (!p->flat && z->axis >= 0 && p->axis != p->at->type.shape.rank - 1) return false;
    l->outputs = dims[u->channel_axis];
    l->places = dims[u->sum_axis];
    l->o_stride = u->channel_axis == 0 ? dims[1] : 1;
    l->k_stride = u->sum_axis == 0 ? dims[1] : 1;
    l->group = 1;
    bool part = p->flat && z->axis >= 0 && z->channels > 0;
    l->inner = part ? p->inner : 1;
    l->channels = part ? z->channels : l->places;
    if (!p->flat && z->axis >= 0 && z->channels > 0 && z->channels != l->places) return false;
    return l->places % (l->channels * l->inner) == 0;
}

/* Where a bias is, or can be. */
static void find_bias(first_layer *l, const hn_weight_use *u) {
    hn_node *n = l->node;
    const hn_value *y = n->outputs[0];
    l->bias = n->op->weights->bias;
    l->adds = n;
    if (l->no_bias == NULL && (u->alpha != 1 || u->beta != 1))
        l->no_bias = "the product has factors alpha or beta";
    if (l->bias > 0) return;
    const hn_use *by = hn_used_once(y) && y->uses->node->graph == n->graph ? y->uses : NULL;
    if (by != NULL && hn_def_of(by->node)->role == HN_ROLE_ADD) {
        l->adds = by->node;
        l->bias = 1 - by->index;
    } else if (l->no_bias == NULL) {
        l->no_bias = "no constant is added to the product";
    }
}

/* The bias is a constant of one number per output, of one for all, or absent. */
static bool bias_fits(const first_layer *l) {
    const hn_value *v = hn_node_input(l->adds, l->bias);
    const hn_tensor *t = v != NULL ? hn_const_in(l->adds, l->bias) : NULL;
    if (v == NULL) return l->adds == l->node;
    if (t == NULL || t->dtype != HONE_DTYPE_F32 || t->rank > 2) return false;
    bool row = t->n == l->outputs && (t->rank == 1 || (t->rank == 2 && t->dims[0] == 1));
    return row || (t->n == 1 && t->rank <= 1 && l->adds == l->node);
}

/* False: there is no such layer, and p->why says why. */
static bool find_layer(first_layer *l, path *p, const hn_normalization *z, hn_embed_folded *out) {
    int index;
    hn_node *n = only_reader(p, &index);
    while (n != NULL && passes(n, index, p)) n = only_reader(p, &index);
    if (n == NULL) return false;
    const hn_weights_def *of = hn_def_of(n)->weights;
    hn_weight_use u;
    *l = (first_layer){.node = n};
    l->w = of != NULL && index == 0 && of->input == 1 ? hn_const_in(n, 1) : NULL;
    bool fits = l->w != NULL && l->w->dtype == HONE_DTYPE_F32 && l->w->n > 0 &&
                hn_weight_use_of(n, l->w, &u);
    if (fits && of->kind == HN_WEIGHT_WINDOWS)
        fits = read_windows(l, p, &u, z);
    else if (fits)
        fits = of->kind == HN_WEIGHT_MATRIX && read_matrix(l, p, &u, z);
    if (!fits) {
        char label[120];
        snprintf(out->first, sizeof out->first,
                 "%s comes first, no convolution or product with constant weights in f32",
                 hn_node_label(n, label, sizeof label));
        p->why = out->first;
        return false;
    }
    find_bias(l, &u);
    if (l->no_bias == NULL && !bias_fits(l))
        l->no_bias = "the bias is no constant with a number for each output";
    return true;
}

/* ---- folding ---- */

static double weight_at(const first_layer *l, int64_t o, int64_t k) {
    return hn_tensor_f64(l->w, o * l->o_stride + k * l->k_stride);
}

/* A number that f32 holds in all its digits. */
static bool fits_f32(double v) { return v == 0 || (fabs(v) <= FLT_MAX && fabs(v) >= FLT_MIN); }

/* Takes over the reference to t. A constant that others read too stays as it is. */
static hone_status put(hn_node *n, int input, const char *hint, hn_tensor *t, hn_error *err) {
    hn_value *v = hn_node_input(n, input);
    if (v != NULL && hn_used_once(v)) {
        hn_node_touch(n);
        hn_value_set_constant(v, t);
        return HONE_OK;
    }
    HN_TRY(hn_make_constant(&v, n, hint, t, err));
    if (n->n_inputs <= input) HN_TRY(hn_node_resize_inputs(n, input + 1, err));
    hn_node_set_input(n, input, v);
    return HONE_OK;
}

static hone_status make(hn_tensor **out, const hn_node *n, int rank, const int64_t *dims,
                        hn_error *err) {
    return hn_tensor_create(out, n->graph->model->alloc, HN_MEM_DATA, HONE_DTYPE_F32, rank, dims,
                            err);
}

static hone_status fold_weights(const first_layer *l, const hn_normalization *z, bool scale,
                                bool order, bool *done, hn_error *err) {
    hn_tensor *t;
    *done = true;
    HN_TRY(make(&t, l->node, l->w->rank, l->w->dims, err));
    float *to = t->data;
    for (int64_t o = 0; o < l->outputs; o++)
        for (int64_t k = 0; k < l->places; k++) {
            double v = weight_at(l, o, k);
            if (scale) v *= hn_channel_scale(z, channel_of(l, o, k));
            int64_t place = order ? reversed_place(l, k) : k;
            to[o * l->o_stride + place * l->k_stride] = (float)v;
            *done = *done && (!scale || fits_f32(v));
        }
    if (*done) return put(l->node, 1, "weight", t, err);
    hn_tensor_unref(t);
    return HONE_OK;
}

/* Before the weights change. */
static hone_status fold_bias(const first_layer *l, const hn_normalization *z, hn_tensor **out,
                             hn_error *err) {
    const hn_tensor *was = hn_const_in(l->adds, l->bias);
    bool row = was != NULL && was->n == l->outputs && was->rank > 0;
    HN_TRY(make(out, l->adds, row ? was->rank : 1, row ? was->dims : &l->outputs, err));
    float *to = (*out)->data;
    for (int64_t o = 0; o < l->outputs; o++) {
        double sum = was == NULL ? 0 : hn_tensor_f64(was, row ? o : 0);
        for (int64_t k = 0; k < l->places; k++) {
            int64_t c = channel_of(l, o, k);
            sum -= weight_at(l, o, k) * hn_channel_scale(z, c) * hn_channel_shift(z, c);
        }
        to[o] = (float)sum;
    }
    return HONE_OK;
}

static void all_stay(hn_embed_folded *out, const char *why) {
    out->why_scale = out->why_shift = out->why_order = why;
}

hone_status hn_embed_fold(hn_embed_folded *out, const hn_value *x, const hn_normalization *z,
                          hn_error *err) {
    path p = {.at = x, .axis = z->axis};
    first_layer l;
    hn_tensor *bias = NULL;
    *out = (hn_embed_folded){0};
    if (!z->scales && !z->shifts && !z->reverses) return HONE_OK;
    if (!find_layer(&l, &p, z, out)) {
        all_stay(out, p.why);
        return HONE_OK;
    }
    bool half = l.node->written != HONE_DTYPE_NONE, done = false;
    if (half) out->why_scale = out->why_shift = "the first layer is stored in 16 bits";
    if (l.no_bias != NULL && !half) out->why_shift = l.no_bias;
    if (l.group > 1) out->why_order = "the first layer is a convolution in groups";
    bool scale = z->scales && out->why_scale == NULL, order = z->reverses && l.group == 1;
    bool shift = z->shifts && out->why_shift == NULL;
    if (shift) HN_TRY(fold_bias(&l, z, &bias, err));
    hone_status status = HONE_OK;
    if (scale || order) status = fold_weights(&l, z, scale, order, &done, err);
    if (status != HONE_OK || ((scale || order) && !done)) {
        hn_tensor_unref(bias);
        all_stay(out, "a weight would leave the range of f32");
        return status;
    }
    if (shift) HN_TRY(put(l.adds, l.bias, "bias", bias, err));
    out->scale = scale;
    out->shift = shift;
    out->order = order;
    if (scale || order || shift) out->layer = l.node;
    return HONE_OK;
}
