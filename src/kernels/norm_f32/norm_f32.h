/* norm_f32: layer and RMS normalisation along adjacent elements, after a sum.
 *
 *   v[i] = x[i] + r[i] + offset[i]
 *   layer: y[i] = (v[i] - mean) / (sqrt(variance + epsilon) + outside) * scale[i] + bias[i]
 *   rms:   y[i] = v[i] / sqrt(mean of squares + epsilon) * scale[i] + bias[i]
 *
 * for every row of n elements, mean and variance (divided by n) over the row. r, offset (one for
 * all rows), scale and bias may be absent. v itself goes to `sum`, if that is there: the skip
 * connection of a transformer. Then an activation.
 *
 * Strides between rows are in floats. y or sum may be x or r (same place, same stride), and overlap
 * nothing else.
 *
 * Error: 1e-6 of the largest y of a row, times abs(mean)/deviation for layers whose mean is large.
 * With `outside`, elements that are all equal give 0.
 */
#ifndef HN_KERNELS_NORM_F32_H
#define HN_KERNELS_NORM_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"

typedef struct hn_norm_f32 {
    int64_t rows, n;
    int64_t x_row, r_row, y_row, sum_row;
    int64_t r_rows;         /* 0, or row t of x has row t % r_rows of r */
    float epsilon, outside; /* outside: 0 for rms */
    bool rms;
    hn_act act;
    int64_t
        row_scales; /* 0, or scale and bias have one element for a row: number row % row_scales */
} hn_norm_f32;

/* Operands; all but x and y may be NULL. */
enum {
    HN_NORM_X,
    HN_NORM_R,
    HN_NORM_OFFSET,
    HN_NORM_SCALE,
    HN_NORM_BIAS,
    HN_NORM_Y,
    HN_NORM_SUM,
    HN_NORM_OPERANDS_
};

extern const hn_family hn_norm_f32_family;

#endif
