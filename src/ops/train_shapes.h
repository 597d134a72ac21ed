/* What the operators of training check of shapes: their kernels and references rely on it. */
#ifndef HN_OPS_TRAIN_SHAPES_H
#define HN_OPS_TRAIN_SHAPES_H

#include "ops/spatial.h"

/* Inputs i and k, if they are there, have the same shape, as far as is known. */
static inline hone_status hn_want_same(const hn_infer *c, int i, int k, const char *what,
                                       hn_error *err) {
    int a = hn_in_rank(c, i), b = hn_in_rank(c, k);
    if (a < 0 || b < 0) return HONE_OK;
    HN_CHECK(err, a == b, HONE_E_SHAPE, "ranks of %s differ: %d and %d", what, a, b);
    for (int d = 0; d < a; d++)
        HN_TRY(hn_want_equal(hn_in_shape(c, i)->dim[d], hn_in_shape(c, k)->dim[d], what, err));
    return HONE_OK;
}

/* Attribute `dims` as a shape of that rank at least. */
static inline hone_status hn_want_dims(const hn_infer *c, int least, hn_shape *s, hn_error *err) {
    int n;
    const int64_t *dims = hn_attr_ints(c->node, "dims", &n);
    HN_CHECK(err, n >= least && n <= HONE_MAX_RANK, HONE_E_ARG,
             "attribute 'dims' has %d sizes, expected %d to %d", n, least, HONE_MAX_RANK);
    *s = (hn_shape){.rank = n};
    for (int i = 0; i < n; i++) {
        HN_CHECK(err, dims[i] >= 0 && dims[i] < (int64_t)1 << 48, HONE_E_ARG,
                 "attribute 'dims' holds %lld", (long long)dims[i]);
        s->dim[i] = hn_dim_const(c->dims, dims[i]);
    }
    return HONE_OK;
}

/* Input dy is what the windows of the node make of images x: it has its images, its channels where
 * `channels` says so, and a size for each window. */
static inline hone_status hn_want_windows(const hn_infer *c, const hn_shape *x, int dy,
                                          bool channels, hn_error *err) {
    const hn_shape *y = hn_in_shape(c, dy);
    hn_spatial s;
    if (x->rank < 0 || hn_in_rank(c, dy) < 0) return HONE_OK;
    HN_CHECK(err, x->rank == y->rank, HONE_E_SHAPE, "X has rank %d but dY has rank %d", x->rank,
             y->rank);
    HN_TRY(hn_want_equal(x->dim[0], y->dim[0], "images of X and dY", err));
    if (channels) HN_TRY(hn_want_equal(x->dim[1], y->dim[1], "channels of X and dY", err));
    HN_TRY(hn_spatial_read(c->node, x->rank - 2, &s, err));
    for (int i = 0; i < s.rank; i++) {
        hn_dim windows;
        HN_TRY(hn_spatial_out(&s, c->dims, i, x->dim[2 + i], &windows, err));
        HN_TRY(hn_want_equal(windows, y->dim[2 + i], "windows of X and sizes of dY", err));
    }
    return HONE_OK;
}

#endif
