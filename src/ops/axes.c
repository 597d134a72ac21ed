#include "ops/axes.h"

hone_status hn_want_axes(int64_t *axes, int n, int rank, hn_error *err) {
    uint32_t seen = 0;
    for (int i = 0; i < n; i++) {
        HN_TRY(hn_want_axis(&axes[i], rank, err));
        HN_CHECK(err, ((seen >> axes[i]) & 1u) == 0, HONE_E_ARG, "axis %lld is listed twice",
                 (long long)axes[i]);
        seen |= 1u << axes[i];
    }
    return HONE_OK;
}

hone_status hn_list_length(const hn_infer *c, int i, int max, int *n, hn_error *err) {
    int64_t count = 1;
    *n = -1;
    HN_TRY(hn_want_rank(c, i, 0, 1, err));
    if (hn_in_rank(c, i) < 0) return HONE_OK;
    if (hn_in_rank(c, i) == 1 && !hn_dim_is_const(hn_in_shape(c, i)->dim[0], &count))
        return HONE_OK;
    HN_CHECK(err, count <= max, HONE_E_SHAPE, "input %d has %lld entries, expected at most %d", i,
             (long long)count, max);
    *n = (int)count;
    return HONE_OK;
}

hone_status hn_list_ints(const hn_infer *c, int i, int max, int64_t *v, int *n, hn_error *err) {
    HN_TRY(hn_list_length(c, i, max, n, err));
    if (*n != 0) *n = hn_in_ints(c, i, v, max);
    return HONE_OK;
}

hone_status hn_list_dims(const hn_infer *c, int i, int max, const hn_dim **v, int *n,
                         hn_error *err) {
    static const hn_dim none[1];
    int count;
    HN_TRY(hn_list_length(c, i, max, n, err));
    *v = *n == 0 ? none : hn_in_values(c, i, &count);
    if (*n == 0 || *v == NULL) return HONE_OK;
    HN_CHECK(err, count <= max, HONE_E_SHAPE, "input %d has %d entries, expected at most %d", i,
             count, max);
    *n = count;
    return HONE_OK;
}

hone_status hn_one_int(const hn_infer *c, int i, int64_t *v, bool *known, hn_error *err) {
    int n;
    HN_TRY(hn_list_ints(c, i, 1, v, &n, err));
    HN_CHECK(err, n != 0, HONE_E_SHAPE, "input %d is empty, expected one number", i);
    *known = n == 1;
    return HONE_OK;
}

hn_dim hn_dim_at_most(hn_dims *t, hn_dim d) {
    int64_t lo, hi;
    hn_dim_range(d, &lo, &hi);
    return hn_dim_fresh(t, hi == INT64_MAX ? -1 : hi < 0 ? 0 : hi);
}

hn_shape hn_shape_fresh(hn_dims *t, int rank) {
    hn_shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) s.dim[i] = hn_dim_fresh(t, -1);
    return s;
}
