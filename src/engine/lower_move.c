/* Operators that move elements and compute nothing. Where strides can say it the output is a view
 * of the input; else it is copied once. A view of all elements is still what the step before made,
 * which may take in what follows: Conv ─▶ Transpose ─▶ Reshape ─▶ Sigmoid is one step. */
#include <string.h>

#include "engine/lower.h"

/* The output has the input's elements in the same order. */
hone_status hn_lower_reshape(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), r;
    if (x.dtype != y.dtype || hone_dtype_bits(x.dtype) % 8 != 0)
        HN_DECLINE(L, "elements are not whole bytes");
    hn_step *maker = hn_lower_maker(L, n, 0);
    if (!hn_view_reshape(&x, y.rank, y.dims, &r)) {
        HN_TRY(hn_lower_reshapable(L, n, &x, y.rank, y.dims, err));
        hn_view_reshape(&x, y.rank, y.dims, &r);
        maker = NULL; /* but, it may be, of a copy */
    }
    hn_lower_set(L, n, 0, &r, maker);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_transpose(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    (void)err;
    hn_view x = hn_lower_in(L, n, 0), y = x;
    int count;
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    const int64_t *perm = hn_attr_ints(n, "perm", &count);
    for (int i = 0; i < x.rank; i++) {
        int64_t from = perm != NULL ? perm[i] : x.rank - 1 - i;
        y.dims[i] = x.dims[from];
        y.strides[i] = x.strides[from];
    }
    hn_lower_set(L, n, 0, &y, hn_lower_maker(L, n, 0));
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_expand(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    (void)err;
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    y.buffer = x.buffer;
    y.offset = x.offset;
    int missing = y.rank - x.rank;
    for (int i = 0; i < y.rank; i++)
        y.strides[i] = i >= missing && x.dims[i - missing] > 1 ? x.strides[i - missing] : 0;
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* Adds an axis of so many elements, if there are several. */
static void add_axis(hn_view *v, int64_t n, int64_t stride) {
    if (n == 1) return;
    v->dims[v->rank] = n;
    v->strides[v->rank++] = stride;
}

/* Where only axes of one element are repeated, the output is a view of the input that reads it
 * again and again. Else it is copied, each axis as two: the repeats, and the places in the input.
 */
hone_status hn_lower_tile(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), src = x, dst = y;
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    int axes = 0;
    bool copies = false;
    for (int i = 0; i < x.rank; i++) {
        bool repeated = y.dims[i] != x.dims[i];
        axes += (x.dims[i] > 1) + repeated;
        copies = copies || (repeated && x.dims[i] > 1);
    }
    if (axes > HONE_MAX_RANK) HN_DECLINE(L, "too many axes");
    *done = true;
    if (!copies) {
        memcpy(src.dims, y.dims, sizeof src.dims);
        for (int i = 0; i < x.rank; i++)
            if (x.dims[i] == 1) src.strides[i] = 0;
        hn_lower_set(L, n, 0, &src, NULL);
        return HONE_OK;
    }
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    dst = y;
    src.rank = dst.rank = 0;
    for (int i = 0; i < x.rank; i++) {
        add_axis(&src, y.dims[i] / x.dims[i], 0);
        add_axis(&dst, y.dims[i] / x.dims[i], y.strides[i] * x.dims[i]);
        add_axis(&src, x.dims[i], x.strides[i]);
        add_axis(&dst, x.dims[i], y.strides[i]);
    }
    HN_TRY(hn_lower_copy(L, n, &src, &dst, err));
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* Entry i of a list that may be absent. */
static int64_t entry(const hn_tensor *t, int i, int64_t otherwise) {
    return t != NULL ? hn_tensor_s64(t, i) : otherwise;
}

hone_status hn_lower_slice(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    (void)err;
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    const hn_tensor *starts = hn_node_constant(n, 1), *axes = hn_node_constant(n, 3);
    const hn_tensor *steps = hn_node_constant(n, 4);
    if (starts == NULL || (hn_node_input(n, 3) != NULL && axes == NULL) ||
        (hn_node_input(n, 4) != NULL && steps == NULL))
        HN_DECLINE(L, "starts, axes or steps are computed");
    hn_view r = x;
    memcpy(r.dims, y.dims, sizeof r.dims);
    for (int i = 0; i < starts->n && hn_view_count(&y) > 0; i++) {
        int64_t axis = entry(axes, i, i), step = entry(steps, i, 1), at = hn_tensor_s64(starts, i);
        if (axis < 0) axis += x.rank;
        int64_t size = x.dims[axis], most = step > 0 ? size : size - 1;
        if (at < 0) at += size;
        at = at < 0 ? 0 : at > most ? most : at;
        r.offset += at * x.strides[axis];
        r.strides[axis] = x.strides[axis] * step;
    }
    hn_lower_set(L, n, 0, &r, NULL);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_split(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    (void)err;
    hn_view x = hn_lower_in(L, n, 0);
    int64_t axis = hn_attr_i(n, "axis");
    if (axis < 0) axis += x.rank;
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    for (int i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] == NULL) HN_DECLINE(L, "an output is missing");
    for (int i = 0; i < n->n_outputs; i++) {
        hn_view y = hn_lower_out(n, i), r = x;
        r.dims[axis] = y.dims[axis];
        hn_lower_set(L, n, i, &r, NULL);
        x.offset += x.strides[axis] * y.dims[axis];
    }
    *done = true;
    return HONE_OK;
}

/* The axes of the largest part that steps compute, or of the first part: the fewer are copied, the
 * better. */
static void concat_order(const hn_lower *L, const hn_node *n, int *order) {
    hn_view like = hn_lower_in(L, n, 0);
    int64_t most = 0;
    for (int i = 0; i < n->n_inputs; i++) {
        hn_view x = hn_lower_in(L, n, i);
        if (L->plan->buffers[x.buffer].kind != HN_BUFFER_SLAB || hn_view_count(&x) <= most)
            continue;
        most = hn_view_count(&x);
        like = x;
    }
    hn_lower_order(&like, order);
}

/* Parts are computed where they belong; those that are elsewhere for good are copied. */
hone_status hn_lower_concat(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    int64_t axis = hn_attr_i(n, "axis");
    if (axis < 0) axis += y.rank;
    if (hone_dtype_bits(y.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    int order[HONE_MAX_RANK];
    concat_order(L, n, order);
    HN_TRY(hn_lower_place(L, &y, order, err));
    hn_view to = y;
    for (int i = 0; i < n->n_inputs; i++) {
        hn_view x = hn_lower_in(L, n, i);
        to.dims[axis] = x.dims[axis];
        if (hn_view_count(&x) > 0 && !hn_lower_rehome(L, &x, &to))
            HN_TRY(hn_lower_copy(L, n, &x, &to, err));
        to.offset += to.strides[axis] * x.dims[axis];
    }
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* The output is the input as it is. */
hone_status hn_lower_same(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    (void)err;
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    for (int i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL) HN_DECLINE(L, "a second output");
    if (x.dtype != y.dtype || hone_dtype_bits(x.dtype) % 8 != 0)
        HN_DECLINE(L, "the elements change");
    hn_lower_set(L, n, 0, &x, hn_lower_maker(L, n, 0));
    *done = true;
    return HONE_OK;
}
