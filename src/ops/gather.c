/* Gather: whole slices of `data` along an axis, chosen by index. data is [outer, size, inner],
 * the output [outer, indices..., inner]. */
#include "ops/grad.h"
#include "ops/indices.h"
#include "ops/strided.h"

/* out[o, k, ..] = data[o, index[k], ..] for runs of `inner` elements. */
static void known_contents(hn_infer *c, int axis, const hn_shape *y) {
    int64_t dims[HONE_MAX_RANK], out[HONE_MAX_RANK], index[HN_MAX_KNOWN];
    const hn_dim *src = hn_known_values(c, 0, dims);
    int n = src != NULL ? hn_in_ints(c, 1, index, HN_MAX_KNOWN) : -1;
    hn_dim *dst = n >= 0 ? hn_room_for_values(c, 0, y, out) : NULL;
    if (dst == NULL || c->out[0].n_values == 0) return;
    int64_t outer = 1, inner = 1, size = dims[axis];
    for (int i = 0; i < axis; i++) outer *= dims[i];
    for (int i = axis + 1; i < c->in[0].shape.rank; i++) inner *= dims[i];
    for (int64_t o = 0; o < outer; o++)
        for (int k = 0; k < n; k++)
            for (int64_t i = 0; i < inner; i++) {
                int64_t at = index[k] < 0 ? index[k] + size : index[k];
                *dst++ = src[(o * size + at) * inner + i];
            }
}

/* Indices known at this time are checked at this time. */
static hone_status check_known(const hn_infer *c, hn_dim d, hn_error *err) {
    int64_t index[HN_MAX_KNOWN], size;
    int n = hn_in_ints(c, 1, index, HN_MAX_KNOWN);
    if (!hn_dim_is_const(d, &size)) return HONE_OK;
    for (int k = 0; k < n; k++) HN_TRY(hn_want_index(&index[k], size, k, err));
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *i = hn_in_shape(c, 1);
    int64_t axis = hn_attr_i(c->node, "axis");
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    if (x->rank < 0 || i->rank < 0) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    HN_CHECK(err, x->rank - 1 + i->rank <= HONE_MAX_RANK, HONE_E_SHAPE,
             "the output has rank %d, at most %d is supported", x->rank - 1 + i->rank,
             HONE_MAX_RANK);
    HN_TRY(check_known(c, x->dim[axis], err));
    hn_shape y = {.rank = 0};
    for (int k = 0; k < axis; k++) y.dim[y.rank++] = x->dim[k];
    for (int k = 0; k < i->rank; k++) y.dim[y.rank++] = i->dim[k];
    for (int k = (int)axis + 1; k < x->rank; k++) y.dim[y.rank++] = x->dim[k];
    hn_set_shape(c, 0, &y);
    known_contents(c, (int)axis, &y);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    int64_t axis = hn_attr_i(e->node, "axis"), outer = 1, inner = 1, to = 0;
    HN_TRY(hn_movable(x, err));
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    int64_t size = x->dims[axis], *index;
    HN_TRY(hn_read_indices(e, 1, size, &index, err));
    if (y->n == 0) return HONE_OK;
    for (int i = 0; i < axis; i++) outer *= x->dims[i];
    for (int i = (int)axis + 1; i < x->rank; i++) inner *= x->dims[i];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < e->in[1]->n; k++, to += inner)
            hn_copy_run(x->dtype, y->data, to, x->data, (o * size + index[k]) * inner, inner);
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    int axis = (int)hn_attr_i(g->node, "axis");
    hn_grad_give(g, 0, hn_emit_gather_grad(g, g->dy[0], hn_grad_in(g, 1), axis, rank, dims));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("axis", 0), {0}};

const hn_op_def hn_op_gather = {
    .name = "Gather",
    .versions = "1 11 13",
    .sig = "(data:T, indices:Tind) -> (output:T); T: tensor; Tind: s32 s64",
    .attrs = attrs,
    .traits = HN_ANY_ADDRESS,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
