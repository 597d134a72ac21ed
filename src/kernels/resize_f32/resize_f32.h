/* resize_f32: images sampled anew, each output from a few taps of a row and of a column.
 *
 *   y[n][oy][ox][c] = sum over row taps r of oy, column taps k of ox
 *                         of row_weight[r] * column_weight[k] *
 * x[n][row_index[r]][column_index[k]][c]
 *
 * `rows` holds, for each output row and one more, the number of its first tap, then the indices of
 * all taps; the taps of a row end where those of the next begin. Columns likewise. A pixel that has
 * no tap of either is `outside`. A single tap of weight 1 copies, so nearest neighbours are exact.
 *
 * Images are numbered by up to three axes. Strides are in floats; the c values of a pixel are
 * adjacent: the channels of a channels-last image, or one value of a planar one. y overlaps
 * nothing.
 *
 * Error: of the sums in f32, over rows first.
 */
#ifndef HN_KERNELS_RESIZE_F32_H
#define HN_KERNELS_RESIZE_F32_H

#include "kernels/kernel.h"

enum { HN_RESIZE_AXES = 3 };

typedef struct hn_resize_f32 {
    int64_t images[HN_RESIZE_AXES], x_image[HN_RESIZE_AXES], y_image[HN_RESIZE_AXES];
    int64_t h, w, c, oh, ow;
    int64_t x_row, x_pixel, y_row, y_pixel;
    float outside;
} hn_resize_f32;

/* Operands; rows and columns are s32. */
enum {
    HN_RESIZE_X,
    HN_RESIZE_ROWS,
    HN_RESIZE_ROW_WEIGHT,
    HN_RESIZE_COLUMNS,
    HN_RESIZE_COLUMN_WEIGHT,
    HN_RESIZE_Y,
    HN_RESIZE_OPERANDS_
};

extern const hn_family hn_resize_f32_family;

#endif
