/* resize_f64: the problem of resize_f32 for f64 and integers, with sums in double.
 *
 *   row[i][c]    = sum over row taps r of oy of row_weight[r] * x[row_index[r]][i][c]
 *   y[oy][ox][c] = sum over column taps k of ox of column_weight[k] * row[column_index[k]][c]
 *
 * Products and sums are rounded one by one, in the order of the taps, on every instruction set: so
 * all rows give the same bits. Integers are rounded to the nearest, ties to even, and saturate; NaN
 * becomes the least value. A row or pixel without taps is `outside`; weights are f64.
 *
 * The types of x and y are any of hn_resize_type but f32. Operands are those of resize_f32.
 */
#ifndef HN_KERNELS_RESIZE_F64_H
#define HN_KERNELS_RESIZE_F64_H

#include "kernels/resize_f32/resize_f32.h"

extern const hn_family hn_resize_f64_family;

#endif
