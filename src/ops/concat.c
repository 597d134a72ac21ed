/* Concat: tensors one after the other along an axis. */
#include "ops/concat.h"

#include "ops/grad.h"
#include "ops/strided.h"

hone_status hn_infer_concat(hn_infer *c, int first, int by, hn_shape *y, hn_error *err) {
    int64_t axis = hn_attr_i(c->node, "axis");
    bool all = true;
    *y = hn_shape_unknown();
    for (int i = first; i < c->n_in; i += by) {
        const hn_shape *x = hn_in_shape(c, i);
        if (x->rank < 0) {
            all = false;
            continue;
        }
        if (y->rank < 0) {
            HN_TRY(hn_want_axis(&axis, x->rank, err));
            *y = *x;
            continue;
        }
        HN_CHECK(err, x->rank == y->rank, HONE_E_SHAPE, "input %d has rank %d, expected %d", i,
                 x->rank, y->rank);
        for (int k = 0; k < y->rank; k++) {
            int64_t a, b;
            if (k == axis) {
                y->dim[k] = hn_dim_add(c->dims, y->dim[k], x->dim[k]);
                continue;
            }
            bool number = hn_dim_is_const(y->dim[k], &a), more = hn_dim_is_const(x->dim[k], &b);
            HN_CHECK(err, !number || !more || a == b, HONE_E_SHAPE,
                     "axis %d of input %d has size %lld, expected %lld", k, i, (long long)b,
                     (long long)a);
            if (!number && more) y->dim[k] = x->dim[k];
        }
    }
    if (y->rank >= 0 && !all) y->dim[axis] = hn_dim_fresh(c->dims, -1);
    return HONE_OK;
}

/* The inputs' known contents, moved as the inputs are. */
static void known_contents(hn_infer *c, const hn_shape *y) {
    int64_t out[HONE_MAX_RANK], dims[HONE_MAX_RANK], at[HONE_MAX_RANK] = {0};
    int64_t axis = hn_attr_i(c->node, "axis");
    for (int i = 0; i < c->n_in; i++)
        if (hn_known_values(c, i, dims) == NULL) return;
    hn_dim *dst = hn_room_for_values(c, 0, y, out);
    if (axis < 0) axis += y->rank;
    for (int i = 0; dst != NULL && i < c->n_in; i++) {
        const hn_dim *src = hn_known_values(c, i, dims);
        hn_strided s = hn_strided_place(y->rank, dims, out, at);
        hn_strided_dims(src, dst, &s);
        at[axis] += dims[axis];
    }
}

static hone_status infer(hn_infer *c, hn_error *err) {
    hn_shape y;
    HN_TRY(hn_infer_concat(c, 0, 1, &y, err));
    hn_set_shape(c, 0, &y);
    if (y.rank >= 0) known_contents(c, &y);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    hn_tensor *y = e->out[0];
    int64_t axis = hn_attr_i(e->node, "axis"), at[HONE_MAX_RANK] = {0};
    HN_TRY(hn_movable(y, err));
    HN_TRY(hn_want_axis(&axis, y->rank, err));
    for (int i = 0; i < e->n_in; i++) {
        const hn_tensor *x = e->in[i];
        hn_strided s = hn_strided_place(y->rank, x->dims, y->dims, at);
        hn_strided_copy(e->pool, y->dtype, x->data, y->data, &s);
        at[axis] += x->dims[axis];
    }
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], axis = hn_attr_i(g->node, "axis"), from = 0;
    HN_TRY(hn_want_axis(&axis, hn_grad_out(g, 0)->type.shape.rank, err));
    for (int i = 0; i < g->node->n_inputs && g->status == HONE_OK; i++) {
        hn_grad_dims(g, hn_grad_in(g, i), dims);
        if (hn_grad_wants(g, i))
            hn_grad_give(g, i, hn_emit_slice(g, g->dy[0], (int)axis, from, from + dims[axis]));
        from += dims[axis];
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_REQ("axis", INT), {0}};

const hn_op_def hn_op_concat = {
    .name = "Concat",
    .versions = "1 4 11 13",
    .sig = "(inputs:T...) -> (concat_result:T); T: tensor",
    .attrs = attrs,
    .role = HN_ROLE_JOIN,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
