/* pool_planes_f32: pool_f32 over images that are planar, one plane per channel.
 *
 *   y[plane][oy][ox] = the largest, the mean or the sum of
 *                      x[plane][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl]     over ky, kx
 *
 * What is taken, counted and done with NaN is as in pool_f32. Of MAX, `places` may be wanted too:
 * where the value lies, plane*h*w + row*w + column; the first in that order of several, of the
 * first NaN if there is one, and -1 where a window has no position inside the image.
 *
 * Columns are adjacent, other strides are in floats. y and places overlap nothing; places is dense.
 *
 * Error: MAX none; of a sum in f32 otherwise, column of the window by column.
 */
#ifndef HN_KERNELS_POOL_PLANES_F32_H
#define HN_KERNELS_POOL_PLANES_F32_H

#include "kernels/pool_f32/pool_f32.h"

typedef struct hn_pool_planes_f32 {
    hn_pool_f32_kind kind;
    bool count_pads;
    int64_t planes, h, w, oh, ow;
    int64_t kh, kw, sh, sw, dh, dw;
    int64_t pt, pl, pb, pr; /* padding above, to the left, below, to the right */
    int64_t x_plane, x_row, y_plane, y_row;
} hn_pool_planes_f32;

/* Operands. places, of int64_t, may be NULL. */
enum { HN_POOL_PLANES_X, HN_POOL_PLANES_Y, HN_POOL_PLANES_PLACES, HN_POOL_PLANES_OPERANDS_ };

extern const hn_family hn_pool_planes_f32_family;

#endif
