/* OneHot: a new axis of size `depth` that is on_value at the index and off_value elsewhere; an
 * index outside [-depth, depth) gives no on_value. */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

enum { INDICES, DEPTH, VALUES };

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, INDICES);
    int64_t axis = hn_attr_i(c->node, "axis"), depth;
    bool known;
    int n;
    HN_TRY(hn_one_int(c, DEPTH, &depth, &known, err));
    HN_CHECK(err, !known || depth >= 0, HONE_E_ARG, "depth is %lld, expected 0 or more",
             (long long)depth);
    HN_TRY(hn_want_rank(c, VALUES, 1, 1, err));
    HN_TRY(hn_list_length(c, VALUES, 2, &n, err));
    HN_CHECK(err, n < 0 || n == 2, HONE_E_SHAPE, "values has %d elements, expected 2", n);
    if (x->rank < 0) return HONE_OK;
    HN_CHECK(err, x->rank < HONE_MAX_RANK, HONE_E_SHAPE,
             "the output has rank %d, at most %d is supported", x->rank + 1, HONE_MAX_RANK);
    HN_TRY(hn_want_axis(&axis, x->rank + 1, err));
    hn_shape y = {.rank = x->rank + 1};
    const hn_dim *symbolic = hn_in_values(c, DEPTH, &n);
    for (int i = 0; i < x->rank; i++) y.dim[i < axis ? i : i + 1] = x->dim[i];
    y.dim[axis] = known                        ? hn_dim_const(c->dims, depth)
                  : symbolic != NULL && n == 1 ? symbolic[0]
                                               : hn_dim_fresh(c->dims, -1);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[INDICES], *values = e->in[VALUES];
    hn_tensor *y = e->out[0];
    int64_t axis = hn_attr_i(e->node, "axis"), inner = 1;
    HN_TRY(hn_movable(values, err));
    HN_TRY(hn_want_axis(&axis, y->rank, err));
    int64_t depth = y->dims[axis], *index = hn_scratch_s64(e, x);
    if (index == NULL) return HN_NOMEM(err);
    hn_fill(e->pool, y->dtype, y->data, y->n, values->data, 0);
    for (int i = (int)axis; y->n > 0 && i < x->rank; i++) inner *= x->dims[i];
    for (int64_t k = 0; y->n > 0 && k < x->n; k++) {
        int64_t i = index[k] < 0 ? index[k] + depth : index[k];
        if (i >= 0 && i < depth)
            hn_copy_element(y->dtype, y->data, (k / inner * depth + i) * inner + k % inner,
                            values->data, 1);
    }
    return HONE_OK;
}

/* The sums of what comes where the output is off_value, and where it is on_value. */
static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    const int64_t two = 2, one = 1;
    hn_tensor *t;
    hn_value *in[] = {hn_grad_in(g, INDICES), hn_grad_in(g, DEPTH), hn_emit_table(g, 1, &two, &t)};
    if (in[2] == NULL) return HONE_OK;
    hn_store_f64(t->dtype, t->data, 1, 1);
    hn_node *hot = hn_emit_node(g, "", "OneHot", 1, 3, in);
    hn_emit_copied(g, hot, "axis");
    hn_value *on = HN_EMIT2(g, "Mul", g->dy[0], hn_emitted(hot, 0)), *each[2];
    if (on == NULL) return HONE_OK;
    hn_value *off = HN_EMIT2(g, "Sub", g->dy[0], on), *sums[] = {off, on};
    for (int i = 0; i < 2; i++)
        each[i] = hn_emit_reshape(g, HN_EMIT1(g, "ReduceSum", sums[i]), 1, &one);
    hn_grad_give(g, VALUES, hn_emit_concat(g, 0, 2, each));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("axis", -1), {0}};

const hn_op_def hn_op_one_hot = {
    .name = "OneHot",
    .versions = "9 11 28",
    .sig =
        "(indices:T1, depth:T2, values:T3) -> (output:T3);"
        "T1: ieee int; T2: ieee int; T3: tensor",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
