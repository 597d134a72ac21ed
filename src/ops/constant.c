/* Constant: a tensor written in the node itself, in one of eight spellings. */
#include <string.h>

#include "ops/strided.h"

static const hn_attr_def attrs[] = {HN_ATTR_OPT("value", TENSOR),
                                    HN_ATTR_OPT("sparse_value", SPARSE_TENSOR),
                                    HN_ATTR_OPT("value_float", FLOAT),
                                    HN_ATTR_OPT("value_floats", FLOATS),
                                    HN_ATTR_OPT("value_int", INT),
                                    HN_ATTR_OPT("value_ints", INTS),
                                    HN_ATTR_OPT("value_string", STRING),
                                    HN_ATTR_OPT("value_strings", STRINGS),
                                    {0}};

static hone_status the_attr(const hn_node *n, const hn_attr **out, hn_error *err) {
    *out = NULL;
    for (const hn_attr_def *d = attrs; d->name != NULL; d++) {
        const hn_attr *a = hn_node_attr(n, d->name);
        if (a == NULL) continue;
        HN_CHECK(err, *out == NULL, HONE_E_MODEL, "attributes '%s' and '%s' both give the value",
                 (*out)->name, a->name);
        *out = a;
    }
    HN_CHECK(err, *out != NULL, HONE_E_MODEL, "no attribute gives the value");
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_attr *a;
    HN_TRY(the_attr(c->node, &a, err));
    hn_shape y = {.rank = 0};
    hone_dtype t = HONE_DTYPE_STRING;
    switch (a->type) {
        case HN_ATTR_TENSOR:
        case HN_ATTR_SPARSE_TENSOR:
            t = a->u.tensor->dtype;
            y = hn_shape_of(c->dims, a->u.tensor->rank, a->u.tensor->dims);
            break;
        case HN_ATTR_FLOATS:
        case HN_ATTR_INTS:
        case HN_ATTR_STRINGS:
            y.rank = 1;
            y.dim[0] = hn_dim_const(c->dims, a->n);
            break;
        default: break;
    }
    if (a->type == HN_ATTR_FLOAT || a->type == HN_ATTR_FLOATS) t = HONE_DTYPE_F32;
    if (a->type == HN_ATTR_INT || a->type == HN_ATTR_INTS) t = HONE_DTYPE_S64;
    hn_set_shape(c, 0, &y);
    hn_set_dtype(c, 0, t);
    return HONE_OK;
}

static hone_status copy(hn_tensor *y, const hn_tensor *x, hn_error *err) {
    HN_TRY(hn_movable(x, err));
    if (x->data != NULL) {
        hn_copy_run(x->dtype, y->data, 0, x->data, 0, x->n);
        return HONE_OK;
    }
    hn_tensor *dense;
    HN_TRY(hn_tensor_dense(&dense, x, err));
    hn_copy_run(x->dtype, y->data, 0, dense->data, 0, x->n);
    hn_tensor_unref(dense);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_attr *a;
    hn_tensor *y = e->out[0];
    HN_TRY(the_attr(e->node, &a, err));
    switch (a->type) {
        case HN_ATTR_FLOAT: memcpy(y->data, &a->u.f, sizeof a->u.f); return HONE_OK;
        case HN_ATTR_INT: memcpy(y->data, &a->u.i, sizeof a->u.i); return HONE_OK;
        case HN_ATTR_FLOATS:
            if (y->bytes > 0) memcpy(y->data, a->u.floats, y->bytes);
            return HONE_OK;
        case HN_ATTR_INTS:
            if (y->bytes > 0) memcpy(y->data, a->u.ints, y->bytes);
            return HONE_OK;
        case HN_ATTR_TENSOR:
        case HN_ATTR_SPARSE_TENSOR: return copy(y, a->u.tensor, err);
        default: return hn_movable(y, err);
    }
}

const hn_op_def hn_op_constant = {
    .name = "Constant",
    .versions = "1 9 11 12 13 19 21 23 24 25",
    .sig = "() -> (output:T); T: all",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
};
