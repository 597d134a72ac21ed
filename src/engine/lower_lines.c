/* What goes along the lines of one axis: TopK, ArgMax, ArgMin, Hardmax, CumSum, CumProd, and
 * OneHot, which makes such an axis. x is seen as [outer, size, inner].
 */
#include <string.h>

#include "engine/lower.h"
#include "kernels/hot_rows/hot_rows.h"
#include "kernels/prefix/prefix.h"
#include "kernels/select_k/select_k.h"

#define NOT_COMPUTED "of types other than f32, f64, s64 and s32"

static bool is(const hn_node *n, const char *op) { return strcmp(n->op->name, op) == 0; }

static bool computes(hone_dtype t) {
    return hn_dtype_in(
        t, HN_DTYPE_BIT(F32) | HN_DTYPE_BIT(F64) | HN_DTYPE_BIT(S64) | HN_DTYPE_BIT(S32));
}

static int count_from_end(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }

/* The sizes of v before, of and behind the axis. */
static void cut_at(const hn_view *v, int axis, int64_t dims[3]) {
    dims[0] = dims[2] = 1;
    dims[1] = v->dims[axis];
    for (int i = 0; i < v->rank; i++)
        if (i != axis) dims[i < axis ? 0 : 2] *= v->dims[i];
}

static double bytes_of(const hn_view *v) {
    return (double)hn_view_count(v) * hone_dtype_bits(v->dtype) / 8;
}

/* A step of select_k along an axis of x, without its outputs; completes the problem. */
static hone_status select_step(hn_lower *L, const hn_node *n, hn_select_k *p, hn_view x, int axis,
                               hn_step **out, hn_error *err) {
    hn_view lines;
    int64_t dims[3];
    cut_at(&x, axis, dims);
    if (!hn_view_reshape(&x, 3, dims, &lines)) {
        HN_TRY(hn_lower_dense(L, n, &x, err));
        hn_view_reshape(&x, 3, dims, &lines);
    }
    p->dtype = x.dtype;
    p->outer = dims[0], p->size = dims[1], p->inner = dims[2];
    p->x_outer = lines.strides[0], p->x_size = lines.strides[1], p->x_inner = lines.strides[2];
    HN_TRY(hn_lower_step(L, n, &hn_select_k_family, p, sizeof *p, out, err));
    hn_step_reads(*out, HN_SELECT_K_X, &lines);
    (*out)->facts->bytes = bytes_of(&x);
    return HONE_OK;
}

static hone_status add_select(hn_lower *L, const hn_node *n, hn_select_k *p, int axis, bool pair,
                              hn_error *err) {
    hn_step *s;
    HN_TRY(select_step(L, n, p, hn_lower_in(L, n, 0), axis, &s, err));
    for (int i = 0; i < (pair ? 2 : 1); i++) {
        hn_view y = hn_lower_out(n, i);
        if (hn_node_output(n, i) == NULL) continue;
        HN_TRY(hn_lower_place(L, &y, NULL, err));
        hn_step_writes(s, pair && i == 0 ? HN_SELECT_K_VALUES : HN_SELECT_K_INDICES, &y);
        s->facts->bytes += bytes_of(&y);
        hn_lower_set(L, n, i, &y, NULL);
    }
    return HONE_OK;
}

hone_status hn_lower_top_k(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    const hn_tensor *k = hn_node_constant(n, 1);
    int axis = count_from_end(hn_attr_i(n, "axis"), x.rank);
    if (!computes(x.dtype)) HN_DECLINE(L, NOT_COMPUTED);
    if (k == NULL) HN_DECLINE(L, "K is computed");
    hn_select_k p = {.k = hn_tensor_s64(k, 0), .smallest = hn_attr_i(n, "largest") == 0};
    if (hn_view_count(&x) == 0 || p.k == 0) HN_DECLINE(L, "nothing to find");
    *done = true;
    return add_select(L, n, &p, axis, true, err);
}

hone_status hn_lower_arg(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    int axis = count_from_end(hn_attr_i(n, "axis"), x.rank);
    if (!computes(x.dtype)) HN_DECLINE(L, NOT_COMPUTED);
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to find");
    hn_select_k p = {.k = 1,
                     .smallest = is(n, "ArgMin"),
                     .last = hn_attr_i(n, "select_last_index") != 0,
                     .nan_first = true};
    *done = true;
    return add_select(L, n, &p, axis, false, err);
}

hone_status hn_lower_scan(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    const hn_tensor *axis = hn_node_constant(n, 1);
    int64_t dims[3];
    if (!computes(x.dtype)) HN_DECLINE(L, NOT_COMPUTED);
    if (axis == NULL) HN_DECLINE(L, "the axis is computed");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to sum");
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    cut_at(&x, count_from_end(hn_tensor_s64(axis, 0), x.rank), dims);
    hn_prefix p = {.dtype = x.dtype,
                   .outer = dims[0],
                   .size = dims[1],
                   .inner = dims[2],
                   .product = is(n, "CumProd"),
                   .exclusive = hn_attr_i(n, "exclusive") != 0,
                   .reverse = hn_attr_i(n, "reverse") != 0};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_prefix_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_PREFIX_X, &x);
    hn_step_writes(s, HN_PREFIX_Y, &y);
    s->facts->bytes = 2 * bytes_of(&y);
    s->facts->flops = (double)hn_view_count(&y);
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* y = values[1] at the indices along an axis, values[0] elsewhere; all are dense. */
static hone_status add_hot_rows(hn_lower *L, const hn_node *n, const hn_view *index,
                                const hn_view *values, const hn_view *y, int axis, hn_error *err) {
    int64_t dims[3];
    cut_at(y, axis, dims);
    hn_hot_rows p = {.outer = dims[0],
                     .depth = dims[1],
                     .inner = dims[2],
                     .bytes = hone_dtype_bits(y->dtype) / 8,
                     .wide = index->dtype == HONE_DTYPE_S64};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_hot_rows_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_HOT_ROWS_INDEX, index);
    hn_step_reads(s, HN_HOT_ROWS_VALUES, values);
    hn_step_writes(s, HN_HOT_ROWS_Y, y);
    s->facts->bytes = bytes_of(y);
    return HONE_OK;
}

hone_status hn_lower_one_hot(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view index = hn_lower_in(L, n, 0), values = hn_lower_in(L, n, 2), y = hn_lower_out(n, 0);
    if (index.dtype != HONE_DTYPE_S64 && index.dtype != HONE_DTYPE_S32)
        HN_DECLINE(L, "indices are neither s64 nor s32");
    if (hone_dtype_bits(y.dtype) < 8) HN_DECLINE(L, "elements are not whole bytes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to set");
    HN_TRY(hn_lower_dense(L, n, &index, err));
    HN_TRY(hn_lower_dense(L, n, &values, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    int axis = count_from_end(hn_attr_i(n, "axis"), y.rank);
    HN_TRY(add_hot_rows(L, n, &index, &values, &y, axis, err));
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* An ArgMax that becomes one hot. */
hone_status hn_lower_hardmax(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), values;
    hn_select_k p = {.k = 1, .nan_first = true};
    hn_tensor *t;
    hn_step *s;
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (x.rank == 0 || hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to find");
    int axis = count_from_end(hn_attr_i(n, "axis"), x.rank);
    HN_TRY(select_step(L, n, &p, x, axis, &s, err));
    hn_view index = {.dtype = HONE_DTYPE_S64, .rank = 2, .dims = {p.outer, p.inner}};
    HN_TRY(hn_lower_place(L, &index, NULL, err));
    hn_step_writes(s, HN_SELECT_K_INDICES, &index);
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, 2, &t, &values, err));
    ((float *)t->data)[0] = 0, ((float *)t->data)[1] = 1;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    HN_TRY(add_hot_rows(L, n, &index, &values, &y, axis, err));
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}
