/* GatherElements: out[.., i, ..] = data[.., index[.., i, ..], ..] along one axis; the output has
 * the shape of the indices. */
#include "ops/grad.h"
#include "ops/indices.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *i = hn_in_shape(c, 1);
    int64_t axis = hn_attr_i(c->node, "axis");
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    if (x->rank >= 0) {
        HN_TRY(hn_want_rank(c, 1, x->rank, x->rank, err));
        HN_TRY(hn_want_axis(&axis, x->rank, err));
        HN_TRY(hn_want_inside(x, i, (int)axis, err));
    }
    hn_set_shape(c, 0, i);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    int64_t axis = hn_attr_i(e->node, "axis"), *from;
    HN_TRY(hn_movable(x, err));
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    HN_TRY(hn_read_positions(e, 1, x, (int)axis, &from, err));
    for (int64_t k = 0; k < y->n; k++) hn_copy_element(x->dtype, y->data, k, x->data, from[k]);
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    hn_value *in[] = {hn_emit_filled(g, 0, rank, dims), hn_grad_in(g, 1), g->dy[0]};
    if (in[0] == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, "", "ScatterElements", 1, 3, in);
    hn_emit_copied(g, n, "axis");
    hn_emit_s(g, n, "reduction", "add");
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("axis", 0), {0}};

const hn_op_def hn_op_gather_elements = {
    .name = "GatherElements",
    .versions = "11 13",
    .sig = "(data:T, indices:Tind) -> (output:T); T: tensor; Tind: s32 s64",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
