/* Unique: the distinct elements of a tensor, or the distinct slices along an axis, sorted or in the
 * order they first occur. NaNs are one value. */
#include "ops/axes.h"
#include "ops/order.h"
#include "ops/strided.h"

enum { Y, INDICES, INVERSE, COUNTS };

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    bool flat = hn_node_attr(c->node, "axis") == NULL;
    int64_t axis = flat ? 0 : hn_attr_i(c->node, "axis");
    hn_shape list = {.rank = 1}, y = *x;
    hn_dim all = hn_dim_fresh(c->dims, -1);
    if (x->rank >= 0) {
        if (!flat) HN_TRY(hn_want_axis(&axis, x->rank, err));
        all = flat ? hn_shape_product(c->dims, x, 0, x->rank) : x->dim[axis];
    }
    hn_dim n = hn_dim_at_most(c->dims, all);
    list.dim[0] = n;
    if (flat)
        y = list;
    else if (y.rank >= 0)
        y.dim[axis] = n;
    hn_set_shape(c, Y, &y);
    hn_set_shape(c, INDICES, &list);
    hn_set_shape(c, COUNTS, &list);
    list.dim[0] = all;
    hn_set_shape(c, INVERSE, &list);
    return HONE_OK;
}

/* One row of keys per item: x is [outer, items, inner], a row is [outer, inner], complex numbers
 * take two keys. */
static int64_t *rows_of(hn_eval *e, const hn_tensor *x, int64_t outer, int64_t items,
                        int64_t inner) {
    hone_dtype t = x->dtype;
    if (hn_dtype_in(t, HN_DTYPES_COMPLEX)) {
        t = t == HONE_DTYPE_C64 ? HONE_DTYPE_F32 : HONE_DTYPE_F64;
        inner *= 2;
    }
    int64_t *keys = hn_scratch(e, items, (size_t)(outer * inner) * sizeof *keys);
    /* Without elements there may be no end of items. */
    if (x->n == 0) return keys;
    if (outer == 1 && keys != NULL) {
        hn_load_keys(t, x->data, 0, items * inner, keys);
        return keys;
    }
    for (int64_t o = 0; keys != NULL && o < outer; o++)
        for (int64_t i = 0; i < items; i++)
            hn_load_keys(t, x->data, (o * items + i) * inner, inner,
                         keys + (i * outer + o) * inner);
    return keys;
}

/* first[g] and count[g] of each group, group[i] of each item; returns the number of groups. order:
 * the items sorted, equal ones together and in the order they came. */
static int64_t group_items(const int64_t *keys, int64_t m, const int64_t *order, int64_t items,
                           int64_t *first, int64_t *count, int64_t *group) {
    int64_t n = 0;
    for (int64_t k = 0; k < items; k++) {
        const int64_t *a = keys + order[k > 0 ? k - 1 : 0] * m, *b = keys + order[k] * m;
        if (k == 0 || (m == 1 ? *a != *b : hn_compare_rows(a, b, m) != 0)) {
            first[n] = order[k];
            count[n++] = 0;
        }
        count[n - 1]++;
        group[order[k]] = n - 1;
    }
    return n;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    bool flat = hn_node_attr(e->node, "axis") == NULL;
    int64_t axis = flat ? 0 : hn_attr_i(e->node, "axis"), outer = 1, inner = 1, items = x->n;
    HN_TRY(hn_movable(x, err));
    if (!flat) {
        HN_TRY(hn_want_axis(&axis, x->rank, err));
        items = x->dims[axis];
        for (int i = 0; x->n > 0 && i < axis; i++) outer *= x->dims[i];
        for (int i = (int)axis + 1; x->n > 0 && i < x->rank; i++) inner *= x->dims[i];
        if (x->n == 0) inner = 0; /* slices without elements are all equal */
    }
    int64_t m = outer * inner * (hn_dtype_in(x->dtype, HN_DTYPES_COMPLEX) ? 2 : 1);
    int64_t *keys = rows_of(e, x, outer, items, inner);
    int64_t *order = hn_scratch(e, items, sizeof *order), *tmp = hn_scratch(e, items, sizeof *tmp);
    int64_t *first = hn_scratch(e, items, sizeof *first);
    int64_t *count = hn_scratch(e, items, sizeof *count);
    int64_t *group = hn_scratch(e, items, sizeof *group);
    if (keys == NULL || order == NULL || tmp == NULL || first == NULL || count == NULL ||
        group == NULL)
        return HN_NOMEM(err);
    for (int64_t i = 0; i < items; i++) order[i] = i;
    hn_sort_rows(keys, m, order, items, tmp);
    int64_t n = group_items(keys, m, order, items, first, count, group);

    /* order: the groups as they come out; tmp: the place of each group. */
    for (int64_t g = 0; g < n; g++) order[g] = g;
    if (hn_attr_i(e->node, "sorted") == 0) hn_sort_rows(first, 1, order, n, tmp);
    for (int64_t g = 0; g < n; g++) tmp[order[g]] = g;

    int64_t dims[HONE_MAX_RANK] = {n};
    for (int i = 0; !flat && i < x->rank; i++) dims[i] = i == axis ? n : x->dims[i];
    HN_TRY(hn_eval_alloc(e, Y, x->dtype, flat ? 1 : x->rank, dims, err));
    HN_TRY(hn_eval_alloc(e, INDICES, HONE_DTYPE_S64, 1, &n, err));
    HN_TRY(hn_eval_alloc(e, INVERSE, HONE_DTYPE_S64, 1, &items, err));
    HN_TRY(hn_eval_alloc(e, COUNTS, HONE_DTYPE_S64, 1, &n, err));
    hn_tensor *y = hn_eval_out(e, Y), *indices = hn_eval_out(e, INDICES);
    hn_tensor *inverse = hn_eval_out(e, INVERSE), *counts = hn_eval_out(e, COUNTS);
    for (int64_t k = 0; k < n; k++) {
        int64_t from = first[order[k]];
        for (int64_t o = 0; y != NULL && o < outer; o++)
            hn_copy_run(x->dtype, y->data, (o * n + k) * inner, x->data, (o * items + from) * inner,
                        inner);
        if (indices != NULL) hn_store_s64(HONE_DTYPE_S64, indices->data, k, from);
        if (counts != NULL) hn_store_s64(HONE_DTYPE_S64, counts->data, k, count[order[k]]);
    }
    int64_t *place = inverse != NULL ? inverse->data : NULL;
    for (int64_t i = 0; place != NULL && i < items; i++) place[i] = tmp[group[i]];
    return HONE_OK;
}

static const hn_attr_def attrs[] = {HN_ATTR_OPT("axis", INT), HN_ATTR_I("sorted", 1), {0}};

const hn_op_def hn_op_unique = {
    .name = "Unique",
    .versions = "11 28",
    .sig = "(X:T) -> (Y:T, indices:s64?, inverse_indices:s64?, counts:s64?); T: tensor",
    .attrs = attrs,
    .traits = HN_DYNAMIC,
    .no_grad = "how many numbers it gives depends on their values",
    .infer = infer,
    .ref = ref,
};
