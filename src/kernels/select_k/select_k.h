/* select_k: the k first elements of lines in order, and where they were.
 *
 *   x [outer][size][inner], any strides; values, indices [outer][k][inner], adjacent
 *   values[o][j][i] = x[o][indices[o][j][i]][i], the j-th in the order of its line
 *
 * The order is by value, the greatest first, or with `smallest` the least; -0 equals 0. Equal ones
 * are in the order they came, or with `last`, for k = 1 alone, the last of them is taken. NaN
 * counts as greater than any number; with `nan_first` it is the first whichever end is wanted.
 *
 * Elements are f32, f64, s64 or s32, indices s64. Outputs overlap nothing.
 */
#ifndef HN_KERNELS_SELECT_K_H
#define HN_KERNELS_SELECT_K_H

#include "base/dtype.h"
#include "kernels/kernel.h"

typedef struct hn_select_k {
    hone_dtype dtype;
    int64_t outer, size, inner, k;    /* 1 <= k <= size */
    int64_t x_outer, x_size, x_inner; /* strides in elements */
    bool smallest, last, nan_first;
} hn_select_k;

/* Operands; either output may be NULL. */
enum { HN_SELECT_K_X, HN_SELECT_K_VALUES, HN_SELECT_K_INDICES };

extern const hn_family hn_select_k_family;

#endif
