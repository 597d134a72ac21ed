/* Lists of axes, sizes and positions that an operator takes as a 1-d input: their contents may be
 * known as numbers, known as dims, or not known yet. */
#ifndef HN_OPS_AXES_H
#define HN_OPS_AXES_H

#include "ops/op.h"

/* Brings axes into [0, rank), in place. Fails with HONE_E_ARG on one that is outside or repeated.
 */
hone_status hn_want_axes(int64_t *axes, int n, int rank, hn_error *err);

/* How many entries the list in input i has, -1 when not known. Fails with HONE_E_SHAPE when the
 * input is no list (rank above 1) or is known to have more than `max` entries. */
hone_status hn_list_length(const hn_infer *c, int i, int max, int *n, hn_error *err);
/* The list's numbers in v[max]; *n is -1 when they are not known. */
hone_status hn_list_ints(const hn_infer *c, int i, int max, int64_t *v, int *n, hn_error *err);
/* The list as dims; *v is NULL when they are not known (never for an empty list). *n is its length,
 * -1 when that is not known either. */
hone_status hn_list_dims(const hn_infer *c, int i, int max, const hn_dim **v, int *n,
                         hn_error *err);

/* The number in input i, a scalar or a list of one. */
hone_status hn_one_int(const hn_infer *c, int i, int64_t *v, bool *known, hn_error *err);

/* A size nobody knows yet that is at most d. */
hn_dim hn_dim_at_most(hn_dims *t, hn_dim d);
/* A shape of which only the rank is known. */
hn_shape hn_shape_fresh(hn_dims *t, int rank);

#endif
