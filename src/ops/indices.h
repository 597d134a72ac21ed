/* Indices that come as a tensor: checked against the axis they are for, negative ones counted from
 * its end. */
#ifndef HN_OPS_INDICES_H
#define HN_OPS_INDICES_H

#include "ops/op.h"

/* Brings an index into [0, size), or fails with HONE_E_ARG naming its position k. */
hone_status hn_want_index(int64_t *index, int64_t size, int64_t k, hn_error *err);
/* All of input i, brought into [0, size), in scratch. */
hone_status hn_read_indices(hn_eval *e, int i, int64_t size, int64_t **out, hn_error *err);
/* For GatherElements and ScatterElements: the indices (input i, of the rank of `data`) as positions
 * of elements of data, in scratch. Index k of axis `axis` is replaced, the others stay. */
hone_status hn_read_positions(hn_eval *e, int i, const hn_tensor *data, int axis, int64_t **out,
                              hn_error *err);
/* For their infer: no other axis of the indices may be longer than that of data. */
hone_status hn_want_inside(const hn_shape *data, const hn_shape *indices, int axis, hn_error *err);
/* For GatherND and ScatterND: input i as tuples of k indices into the leading k axes of `dims`,
 * each brought to the position of the slice it names, in slices: *out has n / k entries. With a
 * batch, tuple t belongs to batch t / per_batch, which comes first in the position. */
hone_status hn_read_tuples(hn_eval *e, int i, int k, const int64_t *dims, int64_t per_batch,
                           int64_t **out, hn_error *err);

#endif
