/* pool_q8: windows that slide over channels-last images of 8-bit integers.
 *
 *   MAX   y = the largest of x[b][oy*sh + ky*dh - pt][ox*sw + kx*dw - pl][c] over ky, kx
 *   MEAN  y = min(max(rne((float)sum * m) + yz, lo), hi)
 *         sum of x[...] - xz over the same, in s32;  m = sx / (sy * count)
 *
 * where only positions inside the image are taken and each float operation is rounded on its own.
 * The largest of none is the lowest value of the type. count is the number of positions taken or,
 * with count_pads, that of positions inside the padded image; 1 if there are none. A window of the
 * image's size pools it globally.
 *
 * MAX has x and y of one type, and uses none of the fields after `y`. Strides are in elements,
 * channels are adjacent. y overlaps nothing. All is exact: the same bits from every row.
 */
#ifndef HN_KERNELS_POOL_Q8_H
#define HN_KERNELS_POOL_Q8_H

#include "kernels/kernel.h"
#include "kernels/q8.h"
#include "kernels/window.h"

typedef enum hn_pool_q8_kind { HN_POOL_Q8_MAX, HN_POOL_Q8_MEAN } hn_pool_q8_kind;

typedef struct hn_pool_q8 {
    HN_WINDOWS; /* n and groups are c, x_channel is 1; r is not used */
    hn_pool_q8_kind kind;
    bool count_pads;
    hn_q8_type x, y; /* u8 or s8 */
    int32_t xz, yz, lo, hi;
    float sx, sy; /* the scales of x and y */
} hn_pool_q8;

enum { HN_POOL_Q8_X, HN_POOL_Q8_Y, HN_POOL_Q8_OPERANDS_ };

extern const hn_family hn_pool_q8_family;

#endif
