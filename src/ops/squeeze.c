/* Squeeze takes axes of size 1 out, Unsqueeze puts them in. */
#include "ops/axes.h"
#include "ops/strided.h"

/* Without a list Squeeze takes out every axis of size 1, so the rank is known only when it is known
 * of each axis whether it is one. */
static hone_status infer_squeeze(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t axes[HONE_MAX_RANK];
    int n = 0;
    bool listed = hn_has_in(c, 1), out[HONE_MAX_RANK] = {0};
    if (x->rank < 0) return HONE_OK;
    if (listed) HN_TRY(hn_list_ints(c, 1, x->rank, axes, &n, err));
    if (n < 0) return HONE_OK;
    HN_TRY(hn_want_axes(axes, n, x->rank, err));
    for (int i = 0; i < n; i++) {
        int64_t d;
        out[axes[i]] = true;
        HN_CHECK(err, !hn_dim_is_const(x->dim[axes[i]], &d) || d == 1, HONE_E_SHAPE,
                 "axis %lld to take out has size %lld, expected 1", (long long)axes[i],
                 (long long)d);
    }
    hn_shape y = {.rank = 0};
    for (int i = 0; i < x->rank; i++) {
        int64_t lo, hi;
        hn_dim_range(x->dim[i], &lo, &hi);
        if (!listed) out[i] = lo == 1 && hi == 1;
        if (!listed && lo <= 1 && hi >= 1 && !out[i]) return HONE_OK;
        if (!out[i]) y.dim[y.rank++] = x->dim[i];
    }
    hn_set_shape(c, 0, &y);
    hn_infer_same_values(c);
    return HONE_OK;
}

static hone_status infer_unsqueeze(hn_infer *c, hn_error *err) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t axes[HONE_MAX_RANK];
    int n;
    bool in[HONE_MAX_RANK] = {0};
    HN_TRY(hn_list_length(c, 1, HONE_MAX_RANK, &n, err));
    if (x->rank < 0 || n < 0) return HONE_OK;
    HN_CHECK(err, x->rank + n <= HONE_MAX_RANK, HONE_E_SHAPE,
             "%d axes are put into rank %d; at most rank %d is supported", n, x->rank,
             HONE_MAX_RANK);
    hn_shape y = hn_shape_fresh(c->dims, x->rank + n);
    HN_TRY(hn_list_ints(c, 1, n, axes, &n, err));
    if (n >= 0) {
        HN_TRY(hn_want_axes(axes, n, y.rank, err));
        for (int i = 0; i < n; i++) in[axes[i]] = true;
        for (int i = 0, k = 0; i < y.rank; i++)
            y.dim[i] = in[i] ? hn_dim_const(c->dims, 1) : x->dim[k++];
    }
    hn_set_shape(c, 0, &y);
    hn_infer_same_values(c);
    return HONE_OK;
}

const hn_op_def hn_op_squeeze = {
    .name = "Squeeze",
    .versions = "1 11 13 21 23 24 25",
    .sig = "(data:T, axes:s64?) -> (squeezed:T); T: all",
    .traits = HN_VIEW,
    .role = HN_ROLE_MOVE,
    .infer = infer_squeeze,
    .ref = hn_ref_copy,
};

const hn_op_def hn_op_unsqueeze = {
    .name = "Unsqueeze",
    .versions = "1 11 13 21 23 24 25",
    .sig = "(data:T, axes:s64) -> (expanded:T); T: all",
    .traits = HN_VIEW,
    .role = HN_ROLE_MOVE,
    .infer = infer_unsqueeze,
    .ref = hn_ref_copy,
};
