/* scatter_at: pieces put to where one or several indices each say.
 *
 *   y at place(i) = y at place(i) op u[i]     in the order of the space; u adjacent, in that order
 *
 * What a place is: kernels/places.h. A piece is `count` elements. SET takes elements of any type,
 * of 1, 2, 4, 8 or 16 bytes, and the last of several pieces for one place stays. The others compute
 * in the type, one update after the other: f32, s64 or s32; integers wrap, and a NaN stays in MIN
 * and MAX.
 *
 * The first `apart` axes of the space tell places apart whatever the indices are.
 *
 * Where an index is outside, nothing is put, and `outside`, if it is there, is set to 1: kernels
 * cannot fail, so the caller clears it before and looks at it after. y overlaps nothing.
 */
#ifndef HN_KERNELS_SCATTER_AT_H
#define HN_KERNELS_SCATTER_AT_H

#include "base/dtype.h"
#include "kernels/kernel.h"
#include "kernels/places.h"

typedef enum hn_scatter_op {
    HN_SCATTER_SET,
    HN_SCATTER_ADD,
    HN_SCATTER_MUL,
    HN_SCATTER_MAX,
    HN_SCATTER_MIN
} hn_scatter_op;

typedef struct hn_scatter_at {
    hn_places places;
    hn_scatter_op op;
    hone_dtype dtype;
    int64_t count;
    int apart;
} hn_scatter_at;

/* Operands; outside, one s32, may be NULL. */
enum { HN_SCATTER_AT_U, HN_SCATTER_AT_INDEX, HN_SCATTER_AT_Y, HN_SCATTER_AT_OUTSIDE };

extern const hn_family hn_scatter_at_family;

#endif
