/* Flatten: a matrix of the axes before `axis` by the axes from it on. */
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t axis = hn_attr_i(c->node, "axis");
    hn_shape y = {.rank = 2, .dim = {hn_dim_fresh(c->dims, -1), hn_dim_fresh(c->dims, -1)}};
    if (x->rank >= 0) {
        HN_CHECK(err, axis >= -x->rank && axis <= x->rank, HONE_E_ARG,
                 "axis %lld is outside [-%d, %d]", (long long)axis, x->rank, x->rank);
        if (axis < 0) axis += x->rank;
        y.dim[0] = hn_shape_product(c->dims, x, 0, (int)axis);
        y.dim[1] = hn_shape_product(c->dims, x, (int)axis, x->rank);
    }
    hn_set_shape(c, 0, &y);
    hn_infer_same_values(c);
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("axis", 1), {0}};

const hn_op_def hn_op_flatten = {
    .name = "Flatten",
    .versions = "1 9 11 13 21 23 24 25",
    .sig = "(input:T) -> (output:T); T: all",
    .attrs = attrs,
    .traits = HN_VIEW,
    .role = HN_ROLE_MOVE,
    .infer = infer,
    .ref = hn_ref_copy,
};
