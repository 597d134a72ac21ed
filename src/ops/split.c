/* Split: an axis cut into parts of the listed lengths, or into num_outputs equal ones of which the
 * last may be shorter. */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/strided.h"

/* The length of each part along an axis of size d; fresh ones when they are not known. */
static hone_status lengths(hn_infer *c, hn_dim d, hn_dim *part, bool *known, hn_error *err) {
    hn_dims *t = c->dims;
    int n = c->n_out, count;
    *known = true;
    if (hn_has_in(c, 1)) {
        const hn_dim *listed;
        HN_TRY(hn_list_dims(c, 1, n, &listed, &count, err));
        HN_CHECK(err, count < 0 || count == n, HONE_E_SHAPE, "%d lengths are listed for %d outputs",
                 count, n);
        *known = listed != NULL;
        hn_dim sum = hn_dim_const(t, 0);
        for (int i = 0; i < n; i++) {
            int64_t v;
            part[i] = *known ? listed[i] : hn_dim_at_most(t, d);
            sum = hn_dim_add(t, sum, part[i]);
            HN_CHECK(err, !hn_dim_is_const(part[i], &v) || v >= 0, HONE_E_ARG,
                     "length %d is %lld, expected 0 or more", i, (long long)v);
        }
        return *known
                   ? hn_want_equal(sum, d, "the sum of the lengths and the size of the axis", err)
                   : HONE_OK;
    }
    int64_t wanted = hn_node_attr(c->node, "num_outputs") != NULL
                         ? hn_attr_i(c->node, "num_outputs")
                         : n; /* older models leave it to the number of outputs */
    HN_CHECK(err, wanted == n, HONE_E_ARG, "num_outputs is %lld, but there are %d outputs",
             (long long)wanted, n);
    hn_dim each = hn_dim_div_ceil(t, d, hn_dim_const(t, n));
    bool even = hn_dim_mulc(t, each, n) == d;
    for (int i = 0; i < n; i++) {
        part[i] = each;
        if (i == 0 || even) continue;
        /* An axis too short for that many parts leaves the last ones empty. */
        hn_dim left = hn_dim_sub(t, d, hn_dim_mulc(t, each, i));
        if (n > 2) left = hn_dim_max(t, left, hn_dim_const(t, 0));
        part[i] = i == n - 1 ? left : hn_dim_min(t, each, left);
    }
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t axis = hn_attr_i(c->node, "axis"), dims[HONE_MAX_RANK], out[HONE_MAX_RANK];
    int64_t at[HONE_MAX_RANK] = {0};
    bool known;
    if (x->rank < 0) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    hn_dim *part = hn_arena_array(c->scratch, (size_t)c->n_out, sizeof *part);
    if (part == NULL) return HN_NOMEM(err);
    HN_TRY(lengths(c, x->dim[axis], part, &known, err));
    const hn_dim *src = known ? hn_known_values(c, 0, dims) : NULL;
    for (int i = 0; i < c->n_out; i++) {
        hn_shape y = *x;
        y.dim[axis] = part[i];
        hn_set_shape(c, i, &y);
        if (src == NULL) continue;
        if (!hn_shape_is_const(&y, out)) {
            src = NULL; /* where the next parts begin is not known */
            continue;
        }
        hn_dim *dst = hn_room_for_values(c, i, &y, out);
        hn_strided s = hn_strided_place(y.rank, dims, out, at);
        if (dst != NULL) hn_strided_dims(src, dst, &s);
        at[axis] -= out[axis];
    }
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    int64_t axis = hn_attr_i(e->node, "axis"), at[HONE_MAX_RANK] = {0};
    HN_TRY(hn_movable(x, err));
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    const hn_tensor *split = hn_eval_in(e, 1);
    int64_t each = (x->dims[axis] + e->n_out - 1) / e->n_out;
    for (int i = 0; i < e->n_out; i++) {
        hn_tensor *y = e->out[i];
        if (y != NULL) {
            hn_strided s = hn_strided_place(x->rank, x->dims, y->dims, at);
            hn_strided_copy(e->pool, x->dtype, x->data, y->data, &s);
        }
        at[axis] -= split != NULL ? hn_tensor_s64(split, i) : each;
    }
    return HONE_OK;
}

/* The parts together again; zeros stand for those that nothing depends on. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], axis = hn_attr_i(g->node, "axis");
    int n = g->node->n_outputs;
    HN_TRY(hn_want_axis(&axis, hn_grad_in(g, 0)->type.shape.rank, err));
    hn_value **parts = hn_arena_array(&g->graph->model->arena, (size_t)n, sizeof *parts);
    if (parts == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) {
        parts[i] = g->dy[i];
        if (parts[i] != NULL) continue;
        if (hn_grad_out(g, i) == NULL)
            return hn_grad_refuse(g, "one of its outputs has no name", err);
        int rank = hn_grad_dims(g, hn_grad_out(g, i), dims);
        parts[i] = hn_emit_filled(g, 0, rank, dims);
        if (parts[i] == NULL) return g->status;
    }
    hn_node *concat = hn_emit_node(g, "", "Concat", 1, n, parts);
    hn_emit_i(g, concat, "axis", axis);
    hn_grad_give(g, 0, hn_emitted(concat, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("axis", 0), HN_ATTR_OPT("num_outputs", INT), {0}};

const hn_op_def hn_op_split = {
    .name = "Split",
    .versions = "1 2 11 13 18",
    .sig = "(input:T, split:s64?) -> (outputs:T...); T: tensor",
    .attrs = attrs,
    .role = HN_ROLE_MOVE,
    .sizes = {HN_SIZES_PARTS, 1},
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
