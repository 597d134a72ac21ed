/* Transpose: y's axis i is x's axis perm[i]; without perm the axes are reversed. */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

static hone_status permutation(const hn_node *n, int rank, int64_t *perm, hn_error *err) {
    int count;
    const int64_t *given = hn_attr_ints(n, "perm", &count);
    for (int i = 0; given == NULL && i < rank; i++) perm[i] = rank - 1 - i;
    if (given == NULL) return HONE_OK;
    HN_CHECK(err, count == rank, HONE_E_ARG, "perm has %d entries, but the input has rank %d",
             count, rank);
    for (int i = 0; i < rank; i++) perm[i] = given[i];
    return hn_want_axes(perm, rank, rank, err);
}

static hn_strided plan(int rank, const int64_t *dims, const int64_t *perm) {
    int64_t src[HONE_MAX_RANK], out[HONE_MAX_RANK], dst[HONE_MAX_RANK];
    hn_strided s = {0};
    for (int i = 0; i < rank; i++) out[i] = dims[perm[i]];
    hn_strides(rank, dims, src);
    hn_strides(rank, out, dst);
    for (int i = 0; i < rank; i++) hn_strided_add(&s, out[i], src[perm[i]], dst[i]);
    return s;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    int64_t perm[HONE_MAX_RANK], dims[HONE_MAX_RANK], out[HONE_MAX_RANK];
    const hn_shape *x = hn_in_shape(c, 0);
    if (x->rank < 0) {
        int count;
        if (hn_attr_ints(c->node, "perm", &count) == NULL) return HONE_OK;
        HN_CHECK(err, count <= HONE_MAX_RANK, HONE_E_ARG,
                 "perm has %d entries, at most %d are possible", count, HONE_MAX_RANK);
        hn_shape y = hn_shape_fresh(c->dims, count);
        hn_set_shape(c, 0, &y);
        return HONE_OK;
    }
    HN_TRY(permutation(c->node, x->rank, perm, err));
    hn_shape y = {.rank = x->rank};
    for (int i = 0; i < x->rank; i++) y.dim[i] = x->dim[perm[i]];
    hn_set_shape(c, 0, &y);

    const hn_dim *src = hn_known_values(c, 0, dims);
    hn_dim *dst = src != NULL ? hn_room_for_values(c, 0, &y, out) : NULL;
    if (dst == NULL) return HONE_OK;
    hn_strided s = plan(x->rank, dims, perm);
    hn_strided_dims(src, dst, &s);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    int64_t perm[HONE_MAX_RANK];
    HN_TRY(hn_movable(x, err));
    HN_TRY(permutation(e->node, x->rank, perm, err));
    hn_strided s = plan(x->rank, x->dims, perm);
    hn_strided_copy(e->pool, x->dtype, x->data, e->out[0]->data, &s);
    return HONE_OK;
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    int rank = hn_grad_in(g, 0)->type.shape.rank, n;
    const int64_t *perm = hn_attr_ints(g->node, "perm", &n);
    int64_t back[HONE_MAX_RANK];
    for (int i = 0; i < rank; i++) back[perm != NULL ? perm[i] : rank - 1 - i] = i;
    hn_grad_give(g, 0, hn_emit_transposed(g, g->dy[0], rank, back));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_OPT("perm", INTS), {0}};

const hn_op_def hn_op_transpose = {
    .name = "Transpose",
    .versions = "1 13 21 23 24 25",
    .sig = "(data:T) -> (transposed:T); T: all",
    .attrs = attrs,
    .role = HN_ROLE_MOVE,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
