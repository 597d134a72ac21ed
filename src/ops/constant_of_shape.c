/* ConstantOfShape: a tensor of the given sizes, every element the one of `value` (f32 0 without).
 */
#include <string.h>

#include "ops/axes.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_attr *a = hn_node_attr(c->node, "value");
    const hn_tensor *value = a != NULL ? a->u.tensor : NULL;
    const hn_dim *want;
    int n;
    HN_CHECK(err, value == NULL || value->n == 1, HONE_E_MODEL,
             "attribute 'value' has %lld elements, expected 1", value ? (long long)value->n : 0);
    const hn_dtypes allowed = hn_op_sig(c->node->op)->out[0].types;
    HN_CHECK(err, value == NULL || hn_dtype_in(value->dtype, allowed), HONE_E_TYPE,
             "attribute 'value' is %s, which the operator does not give",
             hone_dtype_name(value != NULL ? value->dtype : HONE_DTYPE_NONE));
    hn_set_dtype(c, 0, value != NULL ? value->dtype : HONE_DTYPE_F32);
    HN_TRY(hn_list_dims(c, 0, HONE_MAX_RANK, &want, &n, err));
    if (n < 0) return HONE_OK;
    hn_shape y = want != NULL ? (hn_shape){.rank = n} : hn_shape_fresh(c->dims, n);
    for (int i = 0; want != NULL && i < n; i++) y.dim[i] = want[i];
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    const hn_attr *a = hn_node_attr(e->node, "value");
    hn_tensor *y = e->out[0];
    if (a != NULL)
        hn_fill(e->pool, y->dtype, y->data, y->n, a->u.tensor->data, 0);
    else
        memset(y->data, 0, y->bytes);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_OPT("value", TENSOR), {0}};

const hn_op_def hn_op_constant_of_shape = {
    .name = "ConstantOfShape",
    .versions = "9 20 21 23 24 25",
    .sig =
        "(input:s64) -> (output:T2);"
        "T2: num bool fp8 f8e8m0 f4e2m1 int4 int2",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
};
