<<<<<<< HEAD
/* copy: moves elements between two places with any strides.
 *
 *   dst[sum of i*dst_stride] = src[sum of i*src_stride]     for every index i within dims
 *
 * Strides are in elements. A source stride of 0 repeats, a negative one reverses; destination
 * elements are distinct and lie nowhere in the source. */
=======
/* copy: elements from one strided place to another.
 *
 *   dst[dst_offset + i0*dst_stride[0] + i1*dst_stride[1] + ...] =
 *       src[src_offset + i0*src_stride[0] + i1*src_stride[1] + ...]
 *
 * for all indices below `dims`: slices, pieces of concatenations, the inside of a padding,
 * expansions (source strides 0), reversals (negative strides) and transposes of any kind. Offsets
 * and strides are in elements; elements have 1, 2, 4 or 8 bytes, both places that alignment. The
 * destination's elements are all different places; the source overlaps none of them.
 */
>>>>>>> 1253c63 (kernels: copy, reduce_f32, gather)
#ifndef HN_KERNELS_COPY_H
#define HN_KERNELS_COPY_H

#include "kernels/kernel.h"

<<<<<<< HEAD
#define HN_COPY_AXES 16

typedef struct hn_copy {
    size_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int rank;    /* after neighbouring axes were merged */
    int64_t dims[HN_COPY_AXES], src[HN_COPY_AXES], dst[HN_COPY_AXES];
=======
enum { HN_COPY_MAX_RANK = 8 };

typedef struct hn_copy {
    int rank; /* 1 to 8 */
    int elem; /* bytes of an element: 1, 2, 4 or 8 */
    int64_t dims[HN_COPY_MAX_RANK];
    int64_t src_offset, dst_offset;
    int64_t src_stride[HN_COPY_MAX_RANK], dst_stride[HN_COPY_MAX_RANK];
>>>>>>> 1253c63 (kernels: copy, reduce_f32, gather)
} hn_copy;

enum { HN_COPY_SRC, HN_COPY_DST, HN_COPY_OPERANDS_ };

extern const hn_family hn_copy_family;

<<<<<<< HEAD
/* The problem with axes of one element dropped, the others by falling destination stride, and
 * merged where both places allow it. */
void hn_copy_init(hn_copy *p, size_t size, int rank, const int64_t *dims, const int64_t *src,
                  const int64_t *dst);
=======
/* The same problem with as few axes as it can have: ordered by the strides of the destination,
 * those of length 1 dropped, those that both sides walk as one joined. Rows expect problems in this
 * form, and are slow otherwise. */
void hn_copy_collapse(hn_copy *p);
>>>>>>> 1253c63 (kernels: copy, reduce_f32, gather)

#endif
