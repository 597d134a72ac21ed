/* roi_align_f32: regions of images, each averaged over a grid of bins, or its largest values.
 *
 *   y[r][c][by][bx] = average over the points of bin (by, bx) of region r of
 *                         x[batch[r]][c], interpolated between its four nearest elements
 *
 * A region is {x0, y0, x1, y1} in `rois`; times `scale`, less half an element where `aligned`, it
 * is in elements of x. Without `aligned` each of its sides is at least 1. A bin has `samples`
 * points per side, at equal distances; 0: as many as it takes to have one per element. A point more
 * than one element outside x counts as 0, others outside are moved to the edge. A bin without
 * points is 0.
 *
 * With `max`, a bin is the largest of all its points' four corners, each times its weight in the
 * interpolation, NaN passed over; points outside and corners of weight 0 count as 0.
 *
 * Of x the channels are adjacent; y has any strides; both in floats. y overlaps nothing. Where
 * batch[r] is no image, or a coordinate is not finite or beyond 2^31, the region's results are
 * zeros and `outside`, if it is there, is set to 1: kernels cannot fail, so the caller clears it
 * before and looks at it after.
 *
 * Error: of the sums in f32; positions and weights are computed in double.
 */
#ifndef HN_KERNELS_ROI_ALIGN_F32_H
#define HN_KERNELS_ROI_ALIGN_F32_H

#include "kernels/kernel.h"

typedef struct hn_roi_align_f32 {
    int64_t images, h, w;
    int64_t x_image, x_row, x_pixel;
    int64_t regions, c, oh, ow;                  /* the axes of y ... */
    int64_t y_region, y_channel, y_row, y_pixel; /* ... and their strides */
    int64_t samples;
    double scale;
    bool aligned, max;
} hn_roi_align_f32;

/* Operands: rois f32 [regions, 4], batch s64 [regions]; outside, one s32, may be NULL. */
enum {
    HN_ROI_ALIGN_X,
    HN_ROI_ALIGN_ROIS,
    HN_ROI_ALIGN_BATCH,
    HN_ROI_ALIGN_Y,
    HN_ROI_ALIGN_OUTSIDE
};

extern const hn_family hn_roi_align_f32_family;

#endif
