/* prefix: sums or products of all elements of a line so far.
 *
 *   x, y [outer][size][inner], adjacent
 *   y[o][j][i] = sum (or product) of x[o][m][i] over m <= j
 *                                            (exclusive: m < j; reverse: m >= j; both: m > j)
 *
 * Elements are f32, f64, s64 or s32. Floats are summed in double, in the order of the line, and rounded
 * once each; integers wrap. y may be x.
 */
#ifndef HN_KERNELS_SCAN_H
#define HN_KERNELS_SCAN_H

#include "base/dtype.h"
#include "kernels/kernel.h"

typedef struct hn_prefix {
    hone_dtype dtype;
    int64_t outer, size, inner;
    bool product, exclusive, reverse;
} hn_prefix;

enum { HN_PREFIX_X, HN_PREFIX_Y };

extern const hn_family hn_prefix_family;

#endif
