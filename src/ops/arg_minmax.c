/* ArgMax and ArgMin: the position of the largest or smallest element along an axis; of equal ones
 * the first, or the last if asked. A NaN is taken for the largest and for the smallest, as NumPy
 * does. x is [outer, size, inner]. */
#include "ops/order.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t axis = hn_attr_i(c->node, "axis");
    bool keep = hn_attr_i(c->node, "keepdims") != 0;
    HN_TRY(hn_want_rank(c, 0, 1, HONE_MAX_RANK, err));
    if (x->rank < 0) return HONE_OK;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    hn_shape y = {.rank = 0};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            y.dim[y.rank++] = x->dim[i];
        else if (keep)
            y.dim[y.rank++] = hn_dim_const(c->dims, 1);
    }
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* Elements looked at together. */
#define BLOCK 4096

/* Keys of which the largest is wanted. */
static void load(const hn_tensor *x, int64_t from, int64_t n, bool smallest, int64_t *keys) {
    bool nan = hn_dtype_is_float(x->dtype);
    hn_load_keys(x->dtype, x->data, from, n, keys);
    /* ~ turns the order around. */
    for (int64_t k = 0; smallest && k < n; k++)
        if (!nan || keys[k] != HN_KEY_NAN) keys[k] = ~keys[k];
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    const bool *smallest = e->node->op->data;
    bool last = hn_attr_i(e->node, "select_last_index") != 0;
    int64_t axis = hn_attr_i(e->node, "axis"), outer = 1, inner = 1;
    HN_TRY(hn_want_axis(&axis, x->rank, err));
    int64_t size = x->dims[axis], *where = y->data;
    if (y->n == 0) return HONE_OK;
    HN_CHECK(err, size > 0, HONE_E_SHAPE, "axis %lld is empty, so it has no extreme",
             (long long)axis);
    for (int i = 0; i < axis; i++) outer *= x->dims[i];
    for (int i = (int)axis + 1; i < x->rank; i++) inner *= x->dims[i];
    int64_t rows = inner >= BLOCK ? 1 : BLOCK / inner;
    int64_t *keys = hn_scratch(e, rows * inner, sizeof *keys);
    int64_t *best = hn_scratch(e, inner, sizeof *best);
    if (keys == NULL || best == NULL) return HN_NOMEM(err);
    for (int64_t o = 0; o < outer; o++, where += inner)
        for (int64_t k = 0; k < size; k++) {
            int64_t at = k % rows, n = size - k < rows ? size - k : rows;
            if (at == 0) load(x, (o * size + k) * inner, n * inner, *smallest, keys);
            for (int64_t i = 0; i < inner; i++) {
                int64_t now = keys[at * inner + i];
                if (k == 0 || now > best[i] || (last && now == best[i])) {
                    best[i] = now;
                    where[i] = k;
                }
            }
        }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("axis", 0), HN_ATTR_I("keepdims", 1), HN_ATTR_I("select_last_index", 0), {0}};

const hn_op_def hn_op_arg_max = {
    .name = "ArgMax",
    .versions = "1 11 12 13",
    .sig = "(data:T) -> (reduced:s64); T: num",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .data = &(const bool){false},
};

const hn_op_def hn_op_arg_min = {
    .name = "ArgMin",
    .versions = "1 11 12 13",
    .sig = "(data:T) -> (reduced:s64); T: num",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .data = &(const bool){true},
};
