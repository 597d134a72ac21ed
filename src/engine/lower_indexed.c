/* GatherElements, GatherND, ScatterElements, ScatterND: problems of gather_at and scatter_at. A
 * scatter first copies its data to where the result is to be.
 */
#include <string.h>

#include "engine/lower.h"
#include "kernels/gather_at/gather_at.h"
#include "kernels/scatter_at/scatter_at.h"
#include "ops/indices.h"

/* What the kernel found outside, in the words of the operators' references. */
static hone_status check_places(const hn_places *p, const void *index, hn_error *err) {
    int64_t n = hn_places_count(p) * p->n;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = p->wide ? ((const int64_t *)index)[i] : ((const int32_t *)index)[i];
        HN_TRY(hn_want_index(&x, p->size[i % p->n], i, err));
    }
    return HONE_OK;
}

static hone_status check_gather(const void *problem, void *const *operands, hn_error *err) {
    const hn_gather_at *p = problem;
    return check_places(&p->places, operands[HN_GATHER_AT_INDEX], err);
}

static hone_status check_scatter(const void *problem, void *const *operands, hn_error *err) {
    const hn_scatter_at *p = problem;
    return check_places(&p->places, operands[HN_SCATTER_AT_INDEX], err);
}

/* The places in x that elements of `index` name along the axis, each one element. */
static hn_places by_element(const hn_view *x, const hn_view *index, int axis) {
    int64_t bytes = hone_dtype_bits(x->dtype) / 8;
    hn_places p = {.rank = index->rank,
                   .n = 1,
                   .size = {x->dims[axis]},
                   .step = {x->strides[axis] * bytes},
                   .wide = index->dtype == HONE_DTYPE_S64};
    for (int i = 0; i < p.rank; i++) {
        p.dims[i] = index->dims[i];
        p.base[i] = i == axis ? 0 : x->strides[i] * bytes;
    }
    return p;
}

/* The places in x, whose first `batch` axes are those of `index`, that tuples name, each a slice
 * over the axes behind those they index. */
static hn_places by_tuple(const hn_view *x, const hn_view *index, int batch) {
    int64_t bytes = hone_dtype_bits(x->dtype) / 8;
    int last = index->rank - 1;
    hn_places p = {.rank = last > 0 ? last : 1,
                   .n = (int)index->dims[last],
                   .dims = {1},
                   .wide = index->dtype == HONE_DTYPE_S64};
    for (int i = 0; i < last; i++) {
        p.dims[i] = index->dims[i];
        p.base[i] = i < batch ? x->strides[i] * bytes : 0;
    }
    for (int k = 0; k < p.n; k++) {
        p.size[k] = x->dims[batch + k];
        p.step[k] = x->strides[batch + k] * bytes;
    }
    return p;
}

/* The elements of the slices of x behind its first `indexed` axes; 0: they are not adjacent. */
static int64_t slice_of(const hn_view *x, int indexed) {
    int64_t n = 1;
    for (int i = x->rank - 1; i >= indexed; i--) {
        if (x->dims[i] > 1 && x->strides[i] != n) return 0;
        n *= x->dims[i];
    }
    return n;
}

/* Why the kernels cannot have it, or NULL. */
static const char *refusal(const hn_view *x, const hn_view *index, const hn_view *moved) {
    if (hone_dtype_bits(x->dtype) < 8) return "elements are not whole bytes";
    if (x->rank > HN_PLACES_MAX || index->rank > HN_PLACES_MAX) return "more than eight axes";
    if (hn_view_count(x) == 0 || hn_view_count(moved) == 0) return "nothing to move";
    return NULL;
}

static hone_status gather(hn_lower *L, const hn_node *n, const hn_gather_at *p, const hn_view *x,
                          const hn_view *index, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    hn_step *s;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    HN_TRY(hn_lower_step(L, n, &hn_gather_at_family, p, sizeof *p, &s, err));
    hn_step_reads(s, HN_GATHER_AT_X, x);
    hn_step_reads(s, HN_GATHER_AT_INDEX, index);
    hn_step_writes(s, HN_GATHER_AT_Y, &y);
    s->check = check_gather;
    s->flag = HN_GATHER_AT_OUTSIDE;
    s->facts->bytes = 2.0 * (double)hn_view_count(&y) * hone_dtype_bits(y.dtype) / 8;
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

hone_status hn_lower_gather_elements(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), index = hn_lower_in(L, n, 1);
    int64_t axis = hn_attr_i(n, "axis");
    const char *why = refusal(&x, &index, &index);
    if (why != NULL) HN_DECLINE(L, why);
    if (axis < 0) axis += x.rank;
    HN_TRY(hn_lower_dense(L, n, &index, err));
    hn_gather_at p = {.places = by_element(&x, &index, (int)axis),
                      .bytes = hone_dtype_bits(x.dtype) / 8};
    *done = true;
    return gather(L, n, &p, &x, &index, err);
}

hone_status hn_lower_gather_nd(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), index = hn_lower_in(L, n, 1), y = hn_lower_out(n, 0);
    int batch = (int)hn_attr_i(n, "batch_dims");
    const char *why = refusal(&x, &index, &y);
    if (why != NULL) HN_DECLINE(L, why);
    int indexed = batch + (int)index.dims[index.rank - 1];
    HN_TRY(hn_lower_dense(L, n, &index, err));
    if (slice_of(&x, indexed) == 0) HN_TRY(hn_lower_dense(L, n, &x, err));
    hn_gather_at p = {.places = by_tuple(&x, &index, batch),
                      .bytes = slice_of(&x, indexed) * hone_dtype_bits(x.dtype) / 8};
    *done = true;
    return gather(L, n, &p, &x, &index, err);
}

/* ---- scatters ---- */

static hn_scatter_op op_of(const hn_node *n) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    int op = 4;
    while (op > 0 && !hn_attr_is(n, "reduction", names[op])) op--;
    return (hn_scatter_op)op;
}

enum { DATA, INDICES, UPDATES };

hone_status hn_lower_scatter(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    bool nd = strcmp(n->op->name, "ScatterND") == 0;
    hn_view x = hn_lower_in(L, n, DATA), index = hn_lower_in(L, n, INDICES);
    hn_view u = hn_lower_in(L, n, UPDATES), y = hn_lower_out(n, 0);
    hn_scatter_at p = {.op = op_of(n), .dtype = x.dtype, .count = 1};
    bool computes =
        x.dtype == HONE_DTYPE_F32 || x.dtype == HONE_DTYPE_S64 || x.dtype == HONE_DTYPE_S32;
    const char *why = refusal(&x, &index, &u);
    if (why != NULL) HN_DECLINE(L, why);
    if (p.op != HN_SCATTER_SET && !computes) HN_DECLINE(L, "a reduction of other types");
    HN_TRY(hn_lower_dense(L, n, &index, err));
    HN_TRY(hn_lower_dense(L, n, &u, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    HN_TRY(hn_lower_copy(L, n, &x, &y, err));
    if (nd) {
        p.places = by_tuple(&y, &index, 0);
        p.count = slice_of(&y, p.places.n);
    } else {
        int64_t axis = hn_attr_i(n, "axis");
        p.apart = (int)(axis < 0 ? axis + x.rank : axis);
        p.places = by_element(&y, &index, p.apart);
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_scatter_at_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_SCATTER_AT_U, &u);
    hn_step_reads(s, HN_SCATTER_AT_INDEX, &index);
    hn_step_writes(s, HN_SCATTER_AT_Y, &y);
    s->check = check_scatter;
    s->flag = HN_SCATTER_AT_OUTSIDE;
    s->facts->bytes = 2.0 * (double)hn_view_count(&u) * hone_dtype_bits(u.dtype) / 8;
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}
