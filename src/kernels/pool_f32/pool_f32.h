/* pool_f32: windows that slide over channels-last images and become one number per channel.
 *
 *   y[b][oy][ox][c] = the largest, the mean or the sum of
 *                     x[b][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl][c]     over ky, kx
 *
 * where only positions inside the image are taken. The largest is NaN if one of them is, and
 * -infinity if there are none. The mean divides by the number of positions taken or, with
 * count_pads, by that of positions inside the padded image; it is 0 if there are none. A window of
 * the image's size pools it globally.
 *
 * Strides are in elements, channels are adjacent. y overlaps nothing. x and y are each stored as
 * f32 or bf16, rounded to the nearest, to even in between; NaN stays NaN.
 *
 * Error: MAX none; of a sum in f32 otherwise, row of the window by row.
 */
#ifndef HN_KERNELS_POOL_F32_H
#define HN_KERNELS_POOL_F32_H

#include "kernels/kernel.h"
#include "kernels/window.h"

typedef enum hn_pool_f32_kind {
    HN_POOL_F32_MAX,
    HN_POOL_F32_MEAN,
    HN_POOL_F32_SUM,
} hn_pool_f32_kind;

typedef struct hn_pool_f32 {
    HN_WINDOWS; /* n and groups are c, x_channel is 1; r is not used */
    hn_pool_f32_kind kind;
    bool count_pads;
    hn_float x_type, y_type;
} hn_pool_f32;

/* Operands. */
enum { HN_POOL_F32_X, HN_POOL_F32_Y, HN_POOL_F32_OPERANDS_ };

extern const hn_family hn_pool_f32_family;

#endif
