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

/* The output is the attribute's tensor itself: weights written as Constant nodes are not copied. */
static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_attr *a;
    HN_TRY(the_attr(e->node, &a, err));
    if (a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR) {
        hn_tensor *t = a->u.tensor, *dense = NULL;
        HN_TRY(hn_movable(t, err));
        if (t->data == NULL) HN_TRY(hn_tensor_dense(&dense, t, e->alloc, err));
        hn_eval_give(e, 0, dense != NULL ? dense : hn_tensor_ref(t));
        return HONE_OK;
    }
    bool list = a->type == HN_ATTR_FLOATS || a->type == HN_ATTR_INTS;
    bool is_float = a->type == HN_ATTR_FLOAT || a->type == HN_ATTR_FLOATS;
    HN_CHECK(err, list || a->type == HN_ATTR_FLOAT || a->type == HN_ATTR_INT, HONE_E_UNSUPPORTED,
             "strings are not supported");
    HN_TRY(hn_eval_alloc(e, 0, is_float ? HONE_DTYPE_F32 : HONE_DTYPE_S64, list,
                         (const int64_t[]){a->n}, err));
    hn_tensor *y = e->out[0];
    const void *from = !list      ? (const void *)&a->u
                       : is_float ? (const void *)a->u.floats
                                  : a->u.ints;
    if (y->bytes > 0) memcpy(y->data, from, y->bytes);
    return HONE_OK;
}

const hn_op_def hn_op_constant = {
    .name = "Constant",
    .versions = "1 9 11 12 13 19 21 23 24 25",
    .sig = "() -> (output:T); T: all",
    .attrs = attrs,
    .traits = HN_DYNAMIC,
    .infer = infer,
    .ref = ref,
};
