/* TensorScatter: a cache [batch, .., length, ..] with `update` written into it along `axis`, for
 * each sample from its own write index on; circular mode wraps around at the end. */
#include "ops/grad.h"
#include "ops/strided.h"

enum { PAST, UPDATE, WRITE };

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, PAST), *u = hn_in_shape(c, UPDATE);
    const hn_shape *w = hn_in_shape(c, hn_has_in(c, WRITE) ? WRITE : PAST);
    int64_t axis = hn_attr_i(c->node, "axis"), a, b;
    HN_TRY(hn_want_rank(c, PAST, 2, HONE_MAX_RANK, err));
    if (hn_has_in(c, WRITE)) HN_TRY(hn_want_rank(c, WRITE, 1, 1, err));
    hn_set_shape(c, 0, x);
    if (x->rank < 0) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    HN_CHECK(err, axis != 0, HONE_E_ARG, "axis is 0, which is the batch");
    HN_TRY(hn_want_rank(c, UPDATE, x->rank, x->rank, err));
    for (int i = 0; i < u->rank; i++)
        if (i != axis)
            HN_TRY(hn_want_equal(x->dim[i], u->dim[i], "sizes of cache and update", err));
    if (u->rank >= 0 && hn_dim_is_const(x->dim[axis], &a) && hn_dim_is_const(u->dim[axis], &b))
        HN_CHECK(err, b <= a, HONE_E_SHAPE, "the update has length %lld, the cache only %lld",
                 (long long)b, (long long)a);
    if (w->rank == 1)
        HN_TRY(hn_want_equal(x->dim[0], w->dim[0], "batch sizes of cache and write_indices", err));
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[PAST], *u = e->in[UPDATE], *w = hn_eval_in(e, WRITE);
    hn_tensor *y = e->out[0];
    int64_t axis = hn_attr_i(e->node, "axis"), per_sample = 1, inner = 1;
    bool circular = hn_attr_is(e->node, "mode", "circular");
    HN_TRY(hn_movable(x, err));
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    if (y->data != x->data) hn_copy_run(x->dtype, y->data, 0, x->data, 0, x->n);
    if (u->n == 0) return HONE_OK;
    for (int i = 1; i < axis; i++) per_sample *= x->dims[i];
    for (int i = (int)axis + 1; i < x->rank; i++) inner *= x->dims[i];
    int64_t length = x->dims[axis], n = u->dims[axis];
    for (int64_t p = 0; p < x->dims[0] * per_sample; p++) {
        int64_t first = w != NULL ? hn_tensor_s64(w, p / per_sample) : 0;
        HN_CHECK(err, first >= 0 && (circular || first <= length - n), HONE_E_ARG,
                 "write index %lld of sample %lld: %lld elements do not fit a cache of length %lld",
                 (long long)first, (long long)(p / per_sample), (long long)n, (long long)length);
        for (int64_t k = 0; k < n; k++)
            hn_copy_run(x->dtype, y->data, (p * length + (first % length + k) % length) * inner,
                        u->data, (p * n + k) * inner, inner);
    }
    return HONE_OK;
}

/* Where element k of each sample's update lies along the axis, in the update's shape. */
static hn_value *places(hn_grad *g, int rank, const int64_t *update, int axis, int64_t length) {
    int64_t along[HONE_MAX_RANK], samples[HONE_MAX_RANK], *k;
    for (int i = 0; i < rank; i++) along[i] = samples[i] = 1;
    along[axis] = update[axis];
    samples[0] = update[0];
    hn_value *at = hn_emit_indices(g, rank, along, &k), *first = hn_grad_in(g, WRITE);
    if (at == NULL) return NULL;
    for (int64_t i = 0; i < update[axis]; i++) k[i] = i;
    if (first != NULL) {
        at = HN_EMIT2(g, "Add", at, hn_emit_reshape(g, first, rank, samples));
        at = HN_EMIT2(g, "Mod", at, hn_emit_ints(g, &length, 1));
    }
    return hn_emit_expanded(g, at, rank, update);
}

static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t past[HONE_MAX_RANK], update[HONE_MAX_RANK], axis = hn_attr_i(g->node, "axis");
    int rank = hn_grad_dims(g, hn_grad_in(g, PAST), past);
    hn_grad_dims(g, hn_grad_in(g, UPDATE), update);
    HN_TRY(g->status);
    HN_TRY(hn_want_axis(&axis, rank, err));
    if (hn_grad_wants(g, PAST)) { /* what is overwritten is lost */
        hn_value *in[] = {g->dy[0], hn_emit_filled(g, 0, rank, update), hn_grad_in(g, WRITE)};
        if (in[1] == NULL) return HONE_OK;
        hn_node *n = hn_emit_node(g, "", "TensorScatter", 1, 3, in);
        hn_emit_copied(g, n, "axis");
        hn_emit_copied(g, n, "mode");
        g->dx[PAST] = hn_emitted(n, 0);
    }
    if (hn_grad_wants(g, UPDATE)) {
        hn_value *in[] = {g->dy[0], places(g, rank, update, (int)axis, past[axis])};
        if (in[1] == NULL) return HONE_OK;
        hn_node *n = hn_emit_node(g, "", "GatherElements", 1, 2, in);
        hn_emit_i(g, n, "axis", axis);
        g->dx[UPDATE] = hn_emitted(n, 0);
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("axis", -2), HN_ATTR_S("mode", "linear", "linear circular"), {0}};

const hn_op_def hn_op_tensor_scatter = {
    .name = "TensorScatter",
    .versions = "24",
    .sig =
        "(past_cache:T, update:T, write_indices:s64?) -> (present_cache:T);"
        "T: tensor fp8 f8e8m0 f4e2m1 int4",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
