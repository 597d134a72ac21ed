/* gather_at: pieces picked by one or several indices each.
 *
 *   y[i] = x at place(i)      each a piece of `bytes` bytes; y adjacent, in the order of the space
 *
 * What a place is: kernels/places.h. Where an index is outside, the piece is zeros, and `outside`,
 * if it is there, is set to 1: kernels cannot fail, so the caller clears it before and looks at it
 * after. y overlaps nothing.
 */
#ifndef HN_KERNELS_GATHER_AT_H
#define HN_KERNELS_GATHER_AT_H

#include "kernels/kernel.h"
#include "kernels/places.h"

typedef struct hn_gather_at {
    hn_places places;
    int64_t bytes;
} hn_gather_at;

/* Operands; outside, one s32, may be NULL. */
enum { HN_GATHER_AT_X, HN_GATHER_AT_INDEX, HN_GATHER_AT_Y, HN_GATHER_AT_OUTSIDE };

extern const hn_family hn_gather_at_family;

#endif
