/* reduce_f32: sums and their kin along one axis.
 *
 *   y[o][i] = the reduction of x[o][0][i], x[o][1][i], ... x[o][r-1][i]
 *
 * x is [outer][r][inner], y [outer][inner]. Strides are in floats; along inner (when it is not 1)
 * elements are adjacent on both sides. Neighbouring axes that are reduced together are one axis r
 * where they are dense. y overlaps nothing.
 *
 * NaN gives NaN. Of no elements (r = 0): 0 for sums, 1 for PROD, NaN for MEAN, -inf for MAX and the
 * logarithms, +inf for MIN. LOGSUMEXP never overflows.
 *
 * Error: as a sum of r terms in f32, in the order the row names: vectors along r with inner = 1,
 * along inner otherwise.
 */
#ifndef HN_KERNELS_REDUCE_F32_H
#define HN_KERNELS_REDUCE_F32_H

#include "kernels/kernel.h"

/* Name, formula. */
#define HN_REDUCE_LIST(X)            \
    X(SUM, "sum of x")               \
    X(MEAN, "sum of x / r")          \
    X(MAX, "largest x")              \
    X(MIN, "smallest x")             \
    X(PROD, "product of x")          \
    X(SUMSQ, "sum of x^2")           \
    X(L1, "sum of abs(x)")           \
    X(L2, "sqrt of the sum of x^2")  \
    X(LOGSUM, "log of the sum of x") \
    X(LOGSUMEXP, "log of the sum of exp(x)")

typedef enum hn_reduce_op {
#define HN_X(name, formula) HN_REDUCE_##name,
    HN_REDUCE_LIST(HN_X)
#undef HN_X
        HN_REDUCE_OPS_
} hn_reduce_op;

typedef struct hn_reduce_f32 {
    hn_reduce_op op;
    int64_t outer, r, inner;
    int64_t x_outer, x_r, y_outer; /* strides */
} hn_reduce_f32;

enum { HN_REDUCE_X, HN_REDUCE_Y, HN_REDUCE_OPERANDS_ };

extern const hn_family hn_reduce_f32_family;

#endif
