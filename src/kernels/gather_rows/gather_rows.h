/* gather_rows: pieces picked by index along an axis.
 *
 *   y[o][k] = x[o][index[k]]      o < outer, k < count; each a piece of `bytes` bytes
 *
 * An index counts from the end when it is negative: from -axis to axis - 1 there is a piece, or,
 * with `from_start`, from 0 on. For any other the nearest is taken (of an empty axis: zeros), and
 * `outside`, if it is there, is set to 1: kernels cannot fail, so the caller clears it before and
 * looks at it after.
 *
 * Strides are in bytes. y overlaps nothing.
 */
#ifndef HN_KERNELS_GATHER_ROWS_H
#define HN_KERNELS_GATHER_ROWS_H

#include "kernels/kernel.h"

typedef struct hn_gather_rows {
    int64_t outer, axis, count, bytes;
    int64_t x_outer, x_axis, y_outer, y_count; /* strides */
    bool wide;                                 /* indices are s64, else s32 */
    bool from_start;                           /* a negative index is outside */
} hn_gather_rows;

/* Operands; outside, one s32, may be NULL. */
enum { HN_GATHER_X, HN_GATHER_INDEX, HN_GATHER_Y, HN_GATHER_OUTSIDE, HN_GATHER_OPERANDS_ };

extern const hn_family hn_gather_rows_family;

#endif
