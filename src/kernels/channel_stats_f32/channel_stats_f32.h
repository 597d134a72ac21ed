/* channel_stats_f32: mean and variance of each channel of pixels with adjacent channels.
 *
 *   mean[i] = sum over pixels of x[p][i] / n        var[i] = sum of (x[p][i] - mean[i])^2 / n
 *
 * mean or var may be NULL. There is at least one pixel.
 *
 * Error: that of a sum of n numbers in f32, of the numbers and of the squares of their deviations.
 */
#ifndef HN_KERNELS_CHANNEL_STATS_F32_H
#define HN_KERNELS_CHANNEL_STATS_F32_H

#include "kernels/kernel.h"

typedef struct hn_channel_stats_f32 {
    int64_t n, c;    /* pixels, channels */
    int64_t x_pixel; /* stride in elements */
} hn_channel_stats_f32;

enum { HN_STATS_X, HN_STATS_MEAN, HN_STATS_VAR, HN_STATS_OPERANDS_ };

extern const hn_family hn_channel_stats_f32_family;

#endif
