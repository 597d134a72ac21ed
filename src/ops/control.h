/* What If, Loop and Scan share. */
#ifndef HN_OPS_CONTROL_H
#define HN_OPS_CONTROL_H

#include "ops/op.h"

/* The shape that covers both: equal dims stay, others become fresh symbols; unknown if the ranks
 * differ. */
hn_shape hn_shape_cover(hn_dims *dims, const hn_shape *a, const hn_shape *b);

/* What inference knows of a value, as the input of a subgraph or the result of one. */
hn_infer_in hn_infer_type(hone_dtype dtype, const hn_shape *shape);

/* Fails unless a carried value has the same type before and after an iteration; HONE_DTYPE_NONE:
 * not known. */
hone_status hn_want_carried(hone_dtype before, hone_dtype after, int index, hn_error *err);

/* A size of what a body gives, in the graph around it, where the body may not have run at all: d if
 * the sizes of the node's inputs tell it, else a fresh symbol. */
hn_dim hn_untouched_dim(hn_infer *c, hn_dim d);
/* The same size when the body has not run; 0 when the inputs do not tell it. */
int64_t hn_untouched_size(const hn_eval *e, hn_dim d);

/* Element `at` of an axis of src, with that axis gone. */
hone_status hn_axis_take(hn_tensor **out, hn_allocator *alloc, const hn_tensor *src, int axis,
                         int64_t at, hn_error *err);
/* Puts part, which has dst's dims without the axis, at `at` of that axis. */
void hn_axis_put(hn_tensor *dst, int axis, int64_t at, const hn_tensor *part);

/* A tensor of one bool; what: "the condition". */
hone_status hn_want_flag(const hn_tensor *t, const char *what, bool *flag, hn_error *err);

/* Fails unless the parts have one type and shape; what and index: "scan output", 2. */
hone_status hn_want_alike(const hn_tensor *first, const hn_tensor *part, const char *what,
                          int index, hn_error *err);

#endif
