/* Two convolutions of one input that are added are one.
 *
 *     a = Conv <pads = [1,1,1,1]> (x, W [M, C, 3, 3], p)
 *     b = Conv (x, V [M, C, 1, 1], q)
 *     y = Add (a, b)
 *   becomes
 *     y = Conv <pads = [1,1,1,1]> (x, W with V added to its middle, p + q)
 *
 * Fires when weights and biases are constants that nothing else uses, nothing else uses a and b,
 * their outputs have the same shape, they agree in groups, strides and dilations, and the kernel
 * of one, put where its padding says, lies within that of the other.
 */
#include <math.h>

#include "passes/pass.h"

typedef struct conv {
    hn_node *node;
    const hn_tensor *w, *b; /* b NULL: none */
    int spatial;
    int64_t pads[HONE_MAX_RANK]; /* at the beginning of each axis */
} conv;

static bool only_used_here(const hn_node *n, int i) {
    return hn_const_in(n, i) != NULL && n->inputs[i].value->n_uses == 1;
}

static bool describe(hn_node *n, conv *v) {
    if (n == NULL || !only_used_here(n, 1) || n->outputs[0]->type.shape.rank < 3) return false;
    *v = (conv){n, hn_const_in(n, 1), hn_const_in(n, 2), n->outputs[0]->type.shape.rank - 2, {0}};
    if (hn_node_input(n, 2) != NULL && !only_used_here(n, 2)) return false;
    if (!hn_dtype_in(v->w->dtype, HN_DTYPES_FLOAT)) return false;
    if (hn_attr_is(n, "auto_pad", "VALID")) return true;
    int count;
    const int64_t *pads = hn_attr_ints(n, "pads", &count);
    for (int i = 0; pads != NULL && i < v->spatial && i < count; i++) v->pads[i] = pads[i];
    return hn_attr_is(n, "auto_pad", "NOTSET");
}

/* Element i of a list attribute that is all ones when absent. */
static int64_t step(const hn_node *n, const char *name, int i) {
    int count;
    const int64_t *v = hn_attr_ints(n, name, &count);
    return v != NULL && i < count ? v[i] : 1;
}

/* Where small's kernel lies in large's; false: not inside, or at another pace. */
static bool offsets(const conv *large, const conv *small, int64_t *at) {
    if (hn_attr_i(large->node, "group") != hn_attr_i(small->node, "group")) return false;
    for (int i = 0; i < large->spatial; i++) {
        int64_t dilation = step(large->node, "dilations", i);
        int64_t shift = large->pads[i] - small->pads[i];
        if (dilation != step(small->node, "dilations", i) || shift % dilation != 0 ||
            step(large->node, "strides", i) != step(small->node, "strides", i))
            return false;
        at[i] = shift / dilation;
        if (at[i] < 0 || at[i] + small->w->dims[2 + i] > large->w->dims[2 + i]) return false;
    }
    return true;
}

/* The element of large's weights where element i of small's lies. */
static int64_t place_of(const conv *large, const conv *small, const int64_t *at, int64_t i) {
    int64_t place = 0, stride = 1;
    for (int k = large->spatial + 1; k >= 0; k--) {
        int64_t d = small->w->dims[k];
        place += stride * (i % d + (k >= 2 ? at[k - 2] : 0));
        stride *= large->w->dims[k];
        i /= d;
    }
    return place;
}

static bool add_to(hn_tensor *t, int64_t i, double v) {
    hn_store_f64(t->dtype, t->data, i, hn_tensor_f64(t, i) + v);
    return isfinite(hn_tensor_f64(t, i));
}

static hone_status copy(hn_pass_ctx *c, const hn_tensor *t, hn_tensor **out, hn_error *err) {
    HN_TRY(hn_tensor_create(out, c->model->alloc, HN_MEM_WEIGHTS, t->dtype, t->rank, t->dims, err));
    memcpy((*out)->data, t->data, t->bytes);
    return HONE_OK;
}

static hone_status add_up(hn_pass_ctx *c, const conv *large, const conv *small, const int64_t *at,
                          hn_node *root, hn_error *err) {
    hn_tensor *w = NULL, *b = NULL;
    const hn_tensor *either = large->b != NULL ? large->b : small->b;
    hone_status status = HONE_OK;
    bool good = true;
    HN_TRY_GOTO(copy(c, large->w, &w, err));
    if (either != NULL) HN_TRY_GOTO(copy(c, either, &b, err));
    for (int64_t i = 0; i < small->w->n && good; i++)
        good = add_to(w, place_of(large, small, at, i), hn_tensor_f64(small->w, i));
    for (int64_t i = 0; large->b != NULL && small->b != NULL && i < b->n && good; i++)
        good = add_to(b, i, hn_tensor_f64(small->b, i));
    if (!good) goto fail;
    hn_node *n = large->node;
    hn_value *bias = b != NULL ? (large->b != NULL ? n : small->node)->inputs[2].value : NULL;
    if (bias != NULL && n->n_inputs < 3) HN_TRY_GOTO(hn_node_resize_inputs(n, 3, err));
    hn_value_set_constant(n->inputs[1].value, hn_tensor_ref(w));
    if (bias != NULL) hn_value_set_constant(bias, hn_tensor_ref(b));
    if (bias != NULL) hn_node_set_input(n, 2, bias);
    hn_absorb(c, n, root);
fail:
    hn_tensor_unref(w);
    hn_tensor_unref(b);
    return status;
}

static hone_status merge(hn_pass_ctx *c, hn_node *n, hn_error *err) {
    conv a, b;
    int64_t at[HONE_MAX_RANK];
    if (!hn_is(n, "Add") || !describe(hn_feeds_only(n, 0, "Conv"), &a) ||
        !describe(hn_feeds_only(n, 1, "Conv"), &b))
        return HONE_OK;
    if (a.node->inputs[0].value != b.node->inputs[0].value || a.w->dtype != b.w->dtype ||
        a.node->written != b.node->written || a.w->dims[0] != b.w->dims[0] ||
        !hn_same_type(a.node->outputs[0], b.node->outputs[0]))
        return HONE_OK;
    if (offsets(&a, &b, at)) return add_up(c, &a, &b, at, n, err);
    if (offsets(&b, &a, at)) return add_up(c, &b, &a, at, n, err);
    return HONE_OK;
}

hone_status hn_pass_merge_convs(hn_graph *g, hn_pass_ctx *c, hn_error *err) {
    return hn_pass_each(g, c, merge, err);
}
