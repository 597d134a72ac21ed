/* deform_f32: what the taps of a deformable convolution see, for a product with the weights.
 *
 *   y[b][oy][ox][k][c] = mask[b][g*taps + k][oy][ox]
 *                        * x at row    oy*sh + ky*dh - pt + offset[b][(g*taps + k)*2][oy][ox],
 *                               column ox*sw + kx*dw - pl + offset[b][(g*taps + k)*2 + 1][oy][ox]
 *
 * for tap k = ky*kw + kx of taps = kh*kw and g, the offset group of channel c. Between pixels x is
 * interpolated linearly; a pixel outside the image counts as 0, one with the weight 0 not at all.
 * Where the position is NaN, so is y. Without a mask the factor is 1.
 *
 * x has adjacent channels, y is dense. Strides are in floats. y overlaps nothing.
 *
 * Error: of a sum of four products in f32, and of a product with the mask.
 */
#ifndef HN_KERNELS_DEFORM_F32_H
#define HN_KERNELS_DEFORM_F32_H

#include "kernels/kernel.h"

typedef struct hn_deform_f32 {
    int64_t batch, h, w, c; /* input images */
    int64_t oh, ow;         /* output images */
    int64_t kh, kw, sh, sw, dh, dw, pt, pl;
    int64_t offset_groups;
    int64_t x_image, x_row, x_pixel;
    int64_t offset_image, offset_map, offset_row, offset_pixel;
    int64_t mask_image, mask_map, mask_row, mask_pixel;
} hn_deform_f32;

/* Operands. The mask may be NULL. */
enum { HN_DEFORM_X, HN_DEFORM_OFFSET, HN_DEFORM_MASK, HN_DEFORM_Y, HN_DEFORM_OPERANDS_ };

extern const hn_family hn_deform_f32_family;

#endif
