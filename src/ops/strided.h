/* Moving elements, whatever their type: by the width of an element, never by its meaning.
 *
 * A strided copy is the plain loop nest
 *
 *     for i0 < n0: for i1 < n1: ...  dst[dst_at + i0*d0 + i1*d1 + ..] = src[src_at + i0*s0 + ..]
 *
 * described by one (n, src stride, dst stride) per axis, outermost first, in elements. A source
 * stride of 0 repeats, a negative one reverses; destination elements are distinct. Transpose,
 * Slice, Expand, Tile, Pad, Concat, Split and DepthToSpace are such copies. The same description
 * moves the contents of a tensor (ref) and the contents inference knows as dims.
 *
 * Elements under 8 bits are moved one at a time; strings are refused (hn_movable).
 */
#ifndef HN_OPS_STRIDED_H
#define HN_OPS_STRIDED_H

#include "ops/op.h"

/* Tile splits each axis in two. */
#define HN_STRIDED_MAX (2 * HONE_MAX_RANK)

typedef struct hn_strided {
    int64_t src_at, dst_at;
    bool empty;
    int rank;
    struct {
        int64_t n, src, dst;
    } axis[HN_STRIDED_MAX];
} hn_strided;

/* Adds the next inner axis; axes of size 1 are dropped, and one that continues the axis before it
 * is merged into that. */
void hn_strided_add(hn_strided *s, int64_t n, int64_t src, int64_t dst);
/* Strides in elements of a dense tensor. */
void hn_strides(int rank, const int64_t *dims, int64_t *strides);
/* The copy of a source into a destination of other sizes: source index i lands at i + at[axis];
 * what falls outside either is left out. */
hn_strided hn_strided_place(int rank, const int64_t *src_dims, const int64_t *dst_dims,
                            const int64_t *at);

/* Runs the copy. src and dst do not overlap. pool may be NULL. */
void hn_strided_copy(hn_pool *pool, hone_dtype t, const void *src, void *dst, const hn_strided *s);
void hn_strided_dims(const hn_dim *src, hn_dim *dst, const hn_strided *s);

/* n consecutive elements: dst[to ..] = src[from ..]. */
void hn_copy_run(hone_dtype t, void *dst, int64_t to, const void *src, int64_t from, int64_t n);
/* The first `bytes` bytes at dst, times - 1 more times behind them. */
void hn_repeat(void *dst, size_t bytes, int64_t times);
/* dst[0 .. n) = src[from]. */
void hn_fill(hn_pool *pool, hone_dtype t, void *dst, int64_t n, const void *src, int64_t from);

/* HONE_E_UNSUPPORTED for string tensors, whose elements have text elsewhere. */
hone_status hn_movable(const hn_tensor *t, hn_error *err);
/* ref of operators whose output 0 has the elements of input 0 in the same order. */
hone_status hn_ref_copy(hn_eval *e, hn_error *err);
/* For infer of such operators: output 0 has the contents known of input 0. */
void hn_infer_same_values(hn_infer *c);
/* The contents of input i as dims when they and its sizes (into dims, [HONE_MAX_RANK]) are known:
 * what a strided copy can read. Else, or where the node will be evaluated, NULL. Their count is
 * c->in[i].n_values. */
const hn_dim *hn_known_values(const hn_infer *c, int i, int64_t *dims);
/* Room for the contents of output i of shape y when its sizes (into dims) are known and few: what a
 * strided copy can write. Else NULL. */
hn_dim *hn_room_for_values(hn_infer *c, int i, const hn_shape *y, int64_t *dims);

#endif
