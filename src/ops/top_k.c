/* TopK: the k largest or smallest elements along an axis, in order, and where they were; of equal
 * ones the first come first. NaN counts as greater than every number. x is [outer, size, inner].
 * The order is given whatever `sorted` says: "undefined" allows it. */
#include "ops/axes.h"
#include "ops/grad.h"
#include "ops/order.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_dim *k;
    int64_t axis = hn_attr_i(c->node, "axis"), want, size;
    int n;
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    if (x->rank < 0) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    HN_TRY(hn_list_dims(c, 1, 1, &k, &n, err));
    HN_CHECK(err, n != 0, HONE_E_SHAPE, "K is empty, expected one number");
    hn_shape y = *x;
    hn_dim *d = &y.dim[axis];
    if (k != NULL && hn_dim_is_const(k[0], &want)) {
        HN_CHECK(err, want >= 0 && (!hn_dim_is_const(*d, &size) || want <= size), HONE_E_ARG,
                 "K is %lld, but axis %lld has %lld elements", (long long)want, (long long)axis,
                 (long long)size);
    }
    *d = k != NULL ? k[0] : hn_dim_at_most(c->dims, *d);
    hn_set_shape(c, 0, &y);
    hn_set_shape(c, 1, &y);
    return HONE_OK;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *values = hn_eval_out(e, 0), *indices = hn_eval_out(e, 1);
    bool largest = hn_attr_i(e->node, "largest") != 0;
    int64_t axis = hn_attr_i(e->node, "axis"), outer = 1, inner = 1;
    int64_t k = hn_tensor_s64(e->in[1], 0);
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    int64_t size = x->dims[axis];
    if (x->n == 0 || k == 0) return HONE_OK;
    for (int i = 0; i < axis; i++) outer *= x->dims[i];
    for (int i = (int)axis + 1; i < x->rank; i++) inner *= x->dims[i];
    int64_t *all = hn_scratch(e, size * inner, sizeof *all);
    int64_t *keys = hn_scratch(e, size, sizeof *keys), *index = hn_scratch(e, size, sizeof *index);
    int64_t *tmp = hn_scratch(e, size, sizeof *tmp);
    if (all == NULL || keys == NULL || index == NULL || tmp == NULL) return HN_NOMEM(err);
    for (int64_t o = 0; o < outer; o++) {
        hn_load_keys(x->dtype, x->data, o * size * inner, size * inner, all);
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t j = 0; j < size; j++) {
                keys[j] = largest ? ~all[j * inner + i] : all[j * inner + i];
                index[j] = j;
            }
            hn_sort_rows(keys, 1, index, size, tmp);
            for (int64_t j = 0; j < k; j++) {
                int64_t to = (o * k + j) * inner + i, from = (o * size + index[j]) * inner + i;
                if (values != NULL) hn_copy_element(x->dtype, values->data, to, x->data, from);
                if (indices != NULL) hn_store_s64(HONE_DTYPE_S64, indices->data, to, index[j]);
            }
        }
    }
    return HONE_OK;
}

/* Each value goes back to where it was, by the indices, which are found anew if the node does not
 * give them. */
static hone_status grad(hn_grad *g, hn_error *err) {
    static const char *const names[] = {"axis", "largest", "sorted"};
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    int rank = hn_grad_dims(g, hn_grad_in(g, 0), dims);
    hn_value *indices = hn_grad_out(g, 1), *from[] = {hn_grad_in(g, 0), hn_grad_in(g, 1)};
    if (g->dy[0] == NULL) return HONE_OK;
    if (indices == NULL) {
        hn_node *top = hn_emit_node(g, "", "TopK", 2, 2, from);
        for (int i = 0; i < 3; i++) hn_emit_copied(g, top, names[i]);
        indices = hn_emitted(top, 1);
    }
    hn_value *in[] = {hn_emit_filled(g, 0, rank, dims), indices, g->dy[0]};
    if (in[0] == NULL || in[1] == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, "", "ScatterElements", 1, 3, in);
    hn_emit_i(g, n, "axis", hn_attr_i(g->node, "axis"));
    hn_grad_give(g, 0, hn_emitted(n, 0));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("axis", -1), HN_ATTR_I("largest", 1), HN_ATTR_I("sorted", 1), {0}};

const hn_op_def hn_op_top_k = {
    .name = "TopK",
    .versions = "1 10 11 24",
    .sig = "(X:T, K:s64) -> (Values:T, Indices:s64); T: num",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
