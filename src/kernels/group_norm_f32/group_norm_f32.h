/* group_norm_f32: group and instance normalisation of channels-last images.
 *
 *   y[b][p][c] = act((x[b][p][c] - mean) / sqrt(variance + epsilon) * scale[c] + bias[c])
 *
 * mean and variance of image b over all pixels p and over the channels of c's group; groups of
 * equal size, `groups` divides `channels`. groups = channels normalises each channel of each image
 * by itself, groups = 1 each image.
 *
 * Strides are in floats, channels are adjacent. y may be x (same place, same strides), and overlaps
 * nothing else. scale and bias may be absent.
 *
 * Error: 1e-6 of the largest y, times abs(mean)/deviation where the mean is large.
 */
#ifndef HN_KERNELS_GROUP_NORM_F32_H
#define HN_KERNELS_GROUP_NORM_F32_H

#include "kernels/act.h"
#include "kernels/kernel.h"

typedef struct hn_group_norm_f32 {
    int64_t batch, pixels, channels, groups;
    int64_t x_image, x_pixel, y_image, y_pixel;
    float epsilon;
    hn_act act;
} hn_group_norm_f32;

/* Operands; scale and bias may be NULL. */
enum {
    HN_GROUP_NORM_X,
    HN_GROUP_NORM_SCALE,
    HN_GROUP_NORM_BIAS,
    HN_GROUP_NORM_Y,
    HN_GROUP_NORM_OPERANDS_
};

extern const hn_family hn_group_norm_f32_family;

#endif
