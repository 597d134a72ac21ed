#include "passes/rms.h"

#include <math.h>

bool hn_mean_over(const hn_node *n, int n_axes) {
    uint32_t axes;
    if (!hn_is(n, "ReduceMean") || hn_attr_i(n, "keepdims") == 0) return false;
    int rank = n->inputs[0].value->type.shape.rank;
    return n_axes <= rank && hn_const_axes(n, 1, rank, &axes) &&
           axes == (1u << rank) - (1u << (rank - n_axes));
}

/* n's input i is mean(x * x) + epsilon. */
static bool match_mean_square(const hn_node *n, int i, hn_rms *r) {
    const hn_node *add = hn_feeds_only(n, i, "Add");
    int at = add != NULL ? hn_plus_scalar(add, &r->epsilon) : -1;
    const hn_node *mean = at >= 0 ? hn_feeds_only(add, at, "ReduceMean") : NULL;
    if (mean == NULL || hn_const_in(mean, 1) == NULL) return false;
    r->n_axes = (int)hn_const_in(mean, 1)->n;
    if (r->n_axes < 1 || r->n_axes > HONE_MAX_RANK || !hn_mean_over(mean, r->n_axes)) return false;
    double two;
    const hn_node *mul = hn_feeds_only(mean, 0, "Mul"), *pow = hn_feeds_only(mean, 0, "Pow");
    if (mul != NULL && mul->inputs[0].value != mul->inputs[1].value) return false;
    if (pow != NULL && (!hn_const_scalar(pow, 1, &two) || two != 2)) return false;
    if (mul == NULL && pow == NULL) return false;
    r->x = (mul != NULL ? mul : pow)->inputs[0].value;
    return r->epsilon >= 0;
}

/* n's input i is the root of that; or, with `inverse`, 1 over it. */
static bool match_root(const hn_node *n, int i, bool inverse, hn_rms *r) {
    double v;
    const hn_node *pow = hn_feeds_only(n, i, "Pow");
    if (pow != NULL && hn_const_scalar(pow, 1, &v) && v == (inverse ? -0.5 : 0.5))
        return match_mean_square(pow, 0, r);
    if (inverse) {
        const hn_node *one = hn_feeds_only(n, i, "Reciprocal");
        if (one != NULL) return match_root(one, 0, false, r);
        one = hn_feeds_only(n, i, "Div");
        return one != NULL && hn_const_scalar(one, 0, &v) && v == 1 && match_root(one, 1, false, r);
    }
    const hn_node *sqrt_node = hn_feeds_only(n, i, "Sqrt");
    return sqrt_node != NULL && match_mean_square(sqrt_node, 0, r);
}

bool hn_rms_match(const hn_node *n, hn_rms *r) {
    int at = -1;
    if (hn_is(n, "Div") && match_root(n, 1, false, r)) at = 0;
    if (hn_is(n, "Mul") && match_root(n, 1, true, r)) at = 0;
    if (at < 0 && hn_is(n, "Mul") && match_root(n, 0, true, r)) at = 1;
    return at >= 0 && n->inputs[at].value == r->x;
}

static hone_status ones(hn_pass_ctx *c, const hn_value *x, int n_axes, hn_tensor **out,
                        hn_error *err) {
    int64_t dims[HONE_MAX_RANK];
    *out = NULL;
    int first = x->type.shape.rank - n_axes;
    for (int i = 0; i < n_axes; i++)
        if (!hn_dim_is_const(x->type.shape.dim[first + i], &dims[i])) return HONE_OK;
    HN_TRY(
        hn_tensor_create(out, c->model->alloc, HN_MEM_WEIGHTS, x->type.dtype, n_axes, dims, err));
    for (int64_t i = 0; i < (*out)->n; i++) hn_store_f64((*out)->dtype, (*out)->data, i, 1);
    return HONE_OK;
}

hone_status hn_norm_form(hn_pass_ctx *c, hn_node *root, const char *op, hn_value *x,
                         const hn_rms *r, hn_error *err) {
    hone_dtype t = x->type.dtype;
    hn_node *made;
    hn_tensor *scale;
    hn_value *v;
    if (!hn_same_type(x, root->outputs[0]) ||
        (t != HONE_DTYPE_F32 && t != HONE_DTYPE_F16 && t != HONE_DTYPE_BF16))
        return HONE_OK;
    HN_TRY(ones(c, x, r->n_axes, &scale, err));
    if (scale == NULL) return HONE_OK;
    HN_TRY(hn_make_constant(&v, root, "ones", scale, err));
    HN_TRY(hn_make_node(&made, root, op, 2, err));
    HN_TRY(hn_node_set_i(made, "axis", -r->n_axes, err));
    HN_TRY(hn_node_set_f(made, "epsilon", (float)r->epsilon, err));
    hn_node_set_input(made, 0, x);
    hn_node_set_input(made, 1, v);
    hn_take_place(c, made, root);
    return HONE_OK;
}

bool hn_norm_parameter(const hn_value *v, const hn_value *x, int64_t axis) {
    const hn_shape *s = &x->type.shape, *p = &v->type.shape;
    int64_t first = axis < 0 ? axis + s->rank : axis;
    if (v->producer != NULL || v->type.dtype != x->type.dtype || s->rank < 0 || first < 0 ||
        first + p->rank != s->rank)
        return false;
    for (int i = 0; i < p->rank; i++)
        if (p->dim[i] != s->dim[first + i]) return false;
    return true;
}

static bool is_ones(const hn_tensor *t) {
    if (t == NULL) return false;
    for (int64_t i = 0; i < t->n; i++)
        if (hn_tensor_f64(t, i) != 1) return false;
    return true;
}

hone_status hn_norm_scale(hn_pass_ctx *c, hn_node *n, const char *op) {
    for (int i = 0; hn_is(n, "Mul") && i < 2; i++) {
        hn_node *norm = hn_feeds_only(n, i, op);
        hn_value *scale = n->inputs[1 - i].value;
        if (norm == NULL || !is_ones(hn_const_in(norm, 1)) || hn_node_input(norm, 2) != NULL ||
            !hn_norm_parameter(scale, norm->inputs[0].value, hn_attr_i(norm, "axis")))
            continue;
        hn_node_set_input(norm, 1, scale);
        hn_bypass(c, n, norm->outputs[0]);
        break;
    }
    return HONE_OK;
}
