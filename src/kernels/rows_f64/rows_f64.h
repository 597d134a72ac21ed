/* rows_f64: softmax and normalisations of doubles along adjacent elements.
 *
 *   SOFTMAX      y[i] = exp(x[i]) / sum of exp(x)
 *   LOG_SOFTMAX  y[i] = x[i] - log(sum of exp(x))
 *   LAYER        y[i] = (x[i] - mean) / sqrt(variance + epsilon) * scale[i] + bias[i]
 *   RMS          y[i] = x[i] / sqrt(mean of squares + epsilon) * scale[i] + bias[i]
 *   LP1, LP2     y[i] = x[i] / norm, or over 1 where that is 0; the norm is the sum of absolute
 *                values, or the root of the sum of squares
 *
 * for every row of n elements, at least 1; mean and variance (divided by n) are those of the row.
 * Rows are adjacent. Scale and bias, one element for each of a row, may be absent. y may be x. A row
 * that holds +inf, or nothing but -inf, gives NaN in a softmax, as the formula does.
 *
 * Error: that of sums of n terms, in the order the row of the table names.
 */
#ifndef HN_KERNELS_ROWS_F64_H
#define HN_KERNELS_ROWS_F64_H

#include "kernels/kernel.h"

typedef enum hn_rows_f64_op {
    HN_ROWS_F64_SOFTMAX,
    HN_ROWS_F64_LOG_SOFTMAX,
    HN_ROWS_F64_LAYER,
    HN_ROWS_F64_RMS,
    HN_ROWS_F64_LP1,
    HN_ROWS_F64_LP2,
    HN_ROWS_F64_OPS_
} hn_rows_f64_op;

typedef struct hn_rows_f64 {
    hn_rows_f64_op op;
    int64_t rows, n;
    double epsilon;
} hn_rows_f64;

/* Operands; scale and bias may be NULL. */
enum { HN_ROWS_F64_X, HN_ROWS_F64_SCALE, HN_ROWS_F64_BIAS, HN_ROWS_F64_Y };

extern const hn_family hn_rows_f64_family;

#endif
