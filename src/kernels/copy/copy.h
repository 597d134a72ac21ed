/* copy: moves elements between two places with any strides.
 *
 *   dst[sum of i*dst_stride] = src[sum of i*src_stride]     for every index i within dims
 *
 * Strides are in elements. A source stride of 0 repeats, a negative one reverses; destination
 * elements are distinct and lie nowhere in the source. */
#ifndef HN_KERNELS_COPY_H
#define HN_KERNELS_COPY_H

#include "kernels/kernel.h"

#define HN_COPY_AXES 16

typedef struct hn_copy {
    size_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int rank;    /* after neighbouring axes were merged */
    int64_t dims[HN_COPY_AXES], src[HN_COPY_AXES], dst[HN_COPY_AXES];
} hn_copy;

enum { HN_COPY_SRC, HN_COPY_DST, HN_COPY_OPERANDS_ };

extern const hn_family hn_copy_family;

/* The problem with axes of one element dropped, the others by falling destination stride, and
 * merged where both places allow it. */
void hn_copy_init(hn_copy *p, size_t size, int rank, const int64_t *dims, const int64_t *src,
                  const int64_t *dst);

#endif
