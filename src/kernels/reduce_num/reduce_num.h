/* reduce_num: sums and their kin along one axis, of types other than f32.
 *
 *   y[o][i] = the reduction of x[o][0][i], x[o][1][i], ... x[o][r-1][i]
 *
 * x is [outer][r][inner], y [outer][inner], both adjacent; r is at least 1. y overlaps nothing.
 *
 *   SUM, MEAN, PROD    f64, s64, s32
 *   MAX, MIN           f64, s64, s32, s8, u8, bool
 *   L1, L2             f64: the sum of absolute values, the root of the sum of squares
 *   SUMSQ, LOGSUM      f64: the sum of squares, the logarithm of the sum
 *   LOGSUMEXP          f64: the logarithm of the sum of exponentials
 *
 * Sums and products of integers wrap; the mean is that of the true sum, cut toward zero. Sums of
 * doubles have the error of r terms, in the order the row names. NaN gives NaN. Truth values are
 * bytes: read as any but 0, written as 1 or 0.
 */
#ifndef HN_KERNELS_REDUCE_NUM_H
#define HN_KERNELS_REDUCE_NUM_H

#include "base/dtype.h"
#include "kernels/kernel.h"

typedef enum hn_reduce_num_op {
    HN_REDUCE_NUM_SUM,
    HN_REDUCE_NUM_MEAN,
    HN_REDUCE_NUM_PROD,
    HN_REDUCE_NUM_MAX,
    HN_REDUCE_NUM_MIN,
    HN_REDUCE_NUM_L1,
    HN_REDUCE_NUM_L2,
    HN_REDUCE_NUM_SUMSQ,
    HN_REDUCE_NUM_LOGSUM,
    HN_REDUCE_NUM_LOGSUMEXP,
    HN_REDUCE_NUM_OPS_
} hn_reduce_num_op;

typedef struct hn_reduce_num {
    hn_reduce_num_op op;
    hone_dtype dtype;
    int64_t outer, r, inner;
} hn_reduce_num;

enum { HN_REDUCE_NUM_X, HN_REDUCE_NUM_Y };

extern const hn_family hn_reduce_num_family;

/* Whether the family has the operation on that type. */
bool hn_reduce_num_has(hn_reduce_num_op op, hone_dtype t);

#endif
