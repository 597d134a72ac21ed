/* mean_planes_q8: the mean of each plane of 8-bit integers.
 *
 *   y[p] = min(max(rne((float)sum * m) + yz, lo), hi)
 *   sum of x[p][i] - xz over i < size, in s32;  m = sx / (sy * size)
 *
 * where each float operation is rounded on its own. x and y are dense; size is not 0. y overlaps
 * nothing. All is exact: the same bits from every row, and from pool_q8 on the same images with
 * channels last.
 */
#ifndef HN_KERNELS_MEAN_PLANES_Q8_H
#define HN_KERNELS_MEAN_PLANES_Q8_H

#include "kernels/kernel.h"
#include "kernels/q8.h"

typedef struct hn_mean_planes_q8 {
    int64_t planes, size;
    hn_q8_type x, y; /* u8 or s8 */
    int32_t xz, yz, lo, hi;
    float sx, sy; /* the scales of x and y */
} hn_mean_planes_q8;

enum { HN_MEAN_PLANES_X, HN_MEAN_PLANES_Y, HN_MEAN_PLANES_OPERANDS_ };

extern const hn_family hn_mean_planes_q8_family;

#endif
