/* The pixels around a position, and their weights. */
#ifndef HN_KERNELS_DEFORM_F32_CORNERS_H
#define HN_KERNELS_DEFORM_F32_CORNERS_H

#include <math.h>

#include "kernels/deform_f32/deform_f32.h"

/* The pixels that count at a position: how many, where each is in an image, its weight. Where the
 * position is NaN, there is one and its weight is NaN. */
typedef struct hn_deform_corners {
    int n;
    int64_t at[4];
    double weight[4];
} hn_deform_corners;

static inline hn_deform_corners hn_deform_corners_of(const hn_deform_f32 *p, double row,
                                                     double column) {
    hn_deform_corners c = {0};
    if (isnan(row) || isnan(column)) return (hn_deform_corners){.n = 1, .weight = {NAN}};
    if (!(row > -1 && row < (double)p->h && column > -1 && column < (double)p->w)) return c;
    double top = floor(row), left = floor(column);
    for (int i = 0; i < 4; i++) {
        int64_t y = (int64_t)top + i / 2, x = (int64_t)left + i % 2;
        double weight = (i / 2 == 1 ? row - top : 1 - (row - top)) *
                        (i % 2 == 1 ? column - left : 1 - (column - left));
        if (y < 0 || y >= p->h || x < 0 || x >= p->w || weight == 0) continue;
        c.at[c.n] = y * p->x_row + x * p->x_pixel;
        c.weight[c.n++] = weight;
    }
    return c;
}

/* Where tap k of an output pixel of image b lies for offset group g, and the factor of the mask. */
static inline hn_deform_corners hn_deform_tap(const hn_deform_f32 *p, const float *offset,
                                              const float *mask, int64_t b, int64_t oy, int64_t ox,
                                              int64_t g, int64_t k, double *factor) {
    int64_t map = g * p->kh * p->kw + k;
    const float *o = offset + b * p->offset_image + map * 2 * p->offset_map + oy * p->offset_row +
                     ox * p->offset_pixel;
    int64_t at = b * p->mask_image + map * p->mask_map + oy * p->mask_row + ox * p->mask_pixel;
    *factor = mask != NULL ? (double)mask[at] : 1;
    return hn_deform_corners_of(
        p, (double)(oy * p->sh + k / p->kw * p->dh - p->pt) + (double)o[0],
        (double)(ox * p->sw + k % p->kw * p->dw - p->pl) + (double)o[p->offset_map]);
}

#endif
