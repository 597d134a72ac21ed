/* Gather: constant indices in even steps make a view of the data, others a problem of gather_rows.
 */
#include "engine/lower.h"
#include "kernels/gather_rows/gather_rows.h"
#include "ops/indices.h"

/* Constant indices as first + k * step; false: they are not so, or outside the axis. */
static bool even_steps(const hn_tensor *index, int64_t size, int64_t *first, int64_t *step) {
    *first = *step = 0;
    for (int64_t k = 0; k < index->n; k++) {
        int64_t at = hn_tensor_s64(index, k);
        if (at < -size || at >= size) return false;
        if (at < 0) at += size;
        if (k == 0) *first = at;
        if (k == 1) *step = at - *first;
        if (at != *first + k * *step) return false;
    }
    return true;
}

/* The axis of x becomes those of the indices. */
static hn_view view_of(const hn_view *x, int axis, const hn_tensor *index, int64_t first,
                       int64_t step) {
    hn_view y = *x;
    y.offset += first * x->strides[axis];
    y.rank = x->rank - 1 + index->rank;
    for (int i = axis + 1; i < x->rank; i++) {
        y.dims[i - 1 + index->rank] = x->dims[i];
        y.strides[i - 1 + index->rank] = x->strides[i];
    }
    int64_t stride = step * x->strides[axis];
    for (int i = index->rank - 1; i >= 0; i--) {
        y.dims[axis + i] = index->dims[i];
        y.strides[axis + i] = stride;
        stride *= index->dims[i];
    }
    return y;
}

static hone_status check_indices(const void *problem, void *const *operands, hn_error *err) {
    const hn_gather_rows *p = problem;
    const void *index = operands[HN_GATHER_INDEX];
    for (int64_t k = 0; k < p->count; k++) {
        int64_t at = p->wide ? ((const int64_t *)index)[k] : ((const int32_t *)index)[k];
        HN_TRY(hn_want_index(&at, p->axis, k, err));
    }
    return HONE_OK;
}

static hone_status gather(hn_lower *L, const hn_node *n, int axis, hn_view x, hn_view *y,
                          hn_error *err) {
    hn_view index = hn_lower_in(L, n, 1), rows;
    int64_t dims[3] = {1, x.dims[axis], 1}, bytes = hone_dtype_bits(x.dtype) / 8;
    for (int i = 0; i < x.rank; i++)
        if (i != axis) dims[i < axis ? 0 : 2] *= x.dims[i];
    if (!hn_view_reshape(&x, 3, dims, &rows) || (rows.strides[2] != 1 && dims[2] > 1)) {
        HN_TRY(hn_lower_dense(L, n, &x, err));
        hn_view_reshape(&x, 3, dims, &rows);
    }
    HN_TRY(hn_lower_dense(L, n, &index, err));
    HN_TRY(hn_lower_place(L, y, NULL, err));
    hn_gather_rows p = {.outer = dims[0],
                        .axis = dims[1],
                        .count = hn_view_count(&index),
                        .bytes = dims[2] * bytes,
                        .x_outer = rows.strides[0] * bytes,
                        .x_axis = rows.strides[1] * bytes,
                        .wide = index.dtype == HONE_DTYPE_S64};
    p.y_count = p.bytes;
    p.y_outer = p.count * p.bytes;
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_gather_rows_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_GATHER_X, &rows);
    hn_step_reads(s, HN_GATHER_INDEX, &index);
    hn_step_writes(s, HN_GATHER_Y, y);
    s->check = check_indices;
    s->flag = HN_GATHER_OUTSIDE;
    s->facts->bytes = 2.0 * (double)(p.outer * p.count * p.bytes);
    return HONE_OK;
}

hone_status hn_lower_gather(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    const hn_tensor *index = hn_node_constant(n, 1);
    int64_t axis = hn_attr_i(n, "axis"), first, step;
    if (axis < 0) axis += x.rank;
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to move");
    if (index != NULL && even_steps(index, x.dims[axis], &first, &step))
        y = view_of(&x, (int)axis, index, first, step);
    else
        HN_TRY(gather(L, n, (int)axis, x, &y, err));
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}
