/* GatherND: slices of `data` named by tuples. indices is [batch.., tuples.., k]; each tuple indexes
 * the k axes of data after the batch_dims leading ones, which both share. */
#include "ops/grad.h"
#include "ops/indices.h"
#include "ops/strided.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0), *i = hn_in_shape(c, 1);
    int64_t b = hn_attr_i(c->node, "batch_dims"), k;
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    HN_TRY(hn_want_rank(c, 1, 1, HONE_MAX_RANK, err));
    if (x->rank < 0 || i->rank < 0) return HONE_OK;
    int least = x->rank < i->rank ? x->rank : i->rank;
    HN_CHECK(err, b >= 0 && b < least, HONE_E_ARG, "batch_dims is %lld, expected 0 to %d",
             (long long)b, least - 1);
    for (int a = 0; a < b; a++)
        HN_TRY(hn_want_equal(x->dim[a], i->dim[a], "batch sizes of data and indices", err));
    if (!hn_dim_is_const(i->dim[i->rank - 1], &k)) return HONE_OK;
    HN_CHECK(err, k >= 1 && k <= x->rank - b, HONE_E_SHAPE,
             "the last axis of the indices has size %lld, expected 1 to %d", (long long)k,
             x->rank - (int)b);
    int rest = x->rank - (int)(b + k);
    HN_CHECK(err, i->rank - 1 + rest <= HONE_MAX_RANK, HONE_E_SHAPE,
             "the output has rank %d, at most %d is supported", i->rank - 1 + rest, HONE_MAX_RANK);
    hn_shape y = {.rank = 0};
    for (int a = 0; a < i->rank - 1; a++) y.dim[y.rank++] = i->dim[a];
    for (int a = (int)(b + k); a < x->rank; a++) y.dim[y.rank++] = x->dim[a];
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0], *i = e->in[1];
    hn_tensor *y = e->out[0];
    int b = (int)hn_attr_i(e->node, "batch_dims"), k = (int)i->dims[i->rank - 1];
    int64_t inner = 1, per_batch = 1, *from;
    HN_TRY(hn_movable(x, err));
    if (y->n == 0) return HONE_OK;
    for (int a = b; a < i->rank - 1; a++) per_batch *= i->dims[a];
    HN_TRY(hn_read_tuples(e, 1, k, x->dims + b, per_batch, &from, err));
    for (int a = b + k; a < x->rank; a++) inner *= x->dims[a];
    for (int64_t j = 0; j < i->n / k; j++)
        hn_copy_run(x->dtype, y->data, j * inner, x->data, from[j] * inner, inner);
    return HONE_OK;
}

/* The tuples with the batch's own place before them, so that they index all of data. */
static hn_value *whole_tuples(hn_grad *g, int batch_dims) {
    int64_t dims[HONE_MAX_RANK], *at, inner = 1;
    hn_value *indices = hn_grad_in(g, 1);
    int rank = hn_grad_dims(g, indices, dims);
    if (batch_dims == 0 || g->status != HONE_OK) return indices;
    dims[rank - 1] = batch_dims;
    hn_value *before = hn_emit_indices(g, rank, dims, &at);
    if (before == NULL) return NULL;
    for (int a = batch_dims; a < rank - 1; a++) inner *= dims[a];
    for (int64_t i = 0; i < before->constant->n / batch_dims; i++) {
        int64_t place = i / inner;
        for (int a = batch_dims - 1; a >= 0; a--) {
            at[i * batch_dims + a] = place % dims[a];
            place /= dims[a];
        }
    }
    return hn_emit_concat(g, rank - 1, 2, (hn_value *const[]){before, indices});
}

static hone_status grad(hn_grad *g, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    hn_value *in[] = {hn_emit_filled(g, 0, rank, dims),
                      whole_tuples(g, (int)hn_attr_i(g->node, "batch_dims")), g->dy[0]};
    if (in[0] == NULL || in[1] == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, "", "ScatterND", 1, 3, in);
    hn_emit_s(g, n, "reduction", "add");
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_I("batch_dims", 0), {0}};

const hn_op_def hn_op_gather_nd = {
    .name = "GatherND",
    .versions = "11 12 13",
    .sig = "(data:T, indices:s64) -> (output:T); T: tensor",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
