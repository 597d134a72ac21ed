/* grid_sample_f32: images of one to three axes looked up at the positions that a grid lists.
 *
 *   y[n][c][p] = sum over taps e of depth, r of rows, k of columns of position p of image n
 *                    of e.weight * r.weight * k.weight * x[n][c][e.at][r.at][k.at]
 *
 * grid[n][p] is {across, down, deep}, as many of them as there are axes; an axis that an image does
 * not have is of size 1, and its only element has weight 1. -1 and 1 are the centers of the corner
 * elements (align_corners), or their outer edges. A position has one tap per axis (nearest, ties to
 * even), two (linear) or four (cubic: Keys' kernel with a = -3/4). A tap outside counts nothing
 * (zeros), or is moved to the border or reflected there. NaN means -1. Elements of weight 0 are not
 * read.
 *
 * Strides are in floats. y overlaps nothing. Error: of the sums in f32; positions are computed in
 * double.
 */
#ifndef HN_KERNELS_GRID_SAMPLE_F32_H
#define HN_KERNELS_GRID_SAMPLE_F32_H

#include "kernels/kernel.h"

typedef enum hn_sample_mode { HN_SAMPLE_NEAREST, HN_SAMPLE_LINEAR, HN_SAMPLE_CUBIC } hn_sample_mode;
typedef enum hn_sample_padding {
    HN_SAMPLE_ZEROS,
    HN_SAMPLE_BORDER,
    HN_SAMPLE_REFLECTION
} hn_sample_padding;

typedef struct hn_grid_sample_f32 {
    int axes; /* 1 to 3 */
    int64_t images, c, d, h, w, positions;
    int64_t x_image, x_channel, x_slice, x_row, x_pixel;
    int64_t y_image, y_channel, y_position;
    hn_sample_mode mode;
    hn_sample_padding padding;
    bool align_corners;
} hn_grid_sample_f32;

/* Operands: grid f32 [images, positions, axes]. */
enum { HN_GRID_SAMPLE_X, HN_GRID_SAMPLE_GRID, HN_GRID_SAMPLE_Y };

extern const hn_family hn_grid_sample_f32_family;

#endif
