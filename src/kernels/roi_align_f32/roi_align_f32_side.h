/* The points of a region along one axis, in double: what all rows of roi_align_f32 agree on. */
#ifndef HN_KERNELS_ROI_ALIGN_F32_SIDE_H
#define HN_KERNELS_ROI_ALIGN_F32_SIDE_H

#include <math.h>

#include "kernels/roi_align_f32/roi_align_f32.h"

typedef struct roi_side {
    double start, bin; /* where bin 0 starts, and the size of a bin */
    double samples;    /* points per bin */
    int64_t size;      /* of x */
} roi_side;

/* A point: between elements lo and hi, `up` of the way. */
typedef struct roi_point {
    int64_t lo, hi;
    double up;
} roi_point;

/* Of the region at roi, along x (axis 0) or y (axis 1). */
static inline roi_side roi_side_of(const hn_roi_align_f32 *p, const float *roi, int axis) {
    double shift = p->aligned ? 0.5 : 0, bins = (double)(axis == 0 ? p->ow : p->oh);
    double start = (double)roi[axis] * p->scale - shift;
    double extent = (double)roi[axis + 2] * p->scale - shift - start;
    if (!p->aligned && extent < 1) extent = 1;
    roi_side s = {.start = start, .bin = extent / bins, .size = axis == 0 ? p->w : p->h};
    s.samples = p->samples > 0 ? (double)p->samples : ceil(s.bin);
    return s;
}

/* Whether x can be read for region r; its numbers are then far from where double loses elements. */
static inline bool roi_is_valid(const hn_roi_align_f32 *p, const float *roi, int64_t batch) {
    for (int i = 0; i < 4; i++)
        if (!(fabs((double)roi[i] * p->scale) <= 0x1p31)) return false;
    return batch >= 0 && batch < p->images;
}

static inline double roi_point_at(const roi_side *s, int64_t bin, double i) {
    return s->start + (double)bin * s->bin + (i + 0.5) * s->bin / s->samples;
}

/* False: the point counts as 0. */
static inline bool roi_locate(const roi_side *s, double at, roi_point *p) {
    if (at < -1 || at > (double)s->size) return false;
    double v = at > 0 ? at : 0;
    int64_t lo = (int64_t)v;
    *p = lo >= s->size - 1 ? (roi_point){s->size - 1, s->size - 1, 0}
                           : (roi_point){lo, lo + 1, v - (double)lo};
    return true;
}

/* The points [*from, *to) of a bin that may lie inside; a region can be far larger than x. */
static inline void roi_inside(const roi_side *s, int64_t bin, double *from, double *to) {
    double step = s->bin / s->samples, first = roi_point_at(s, bin, 0);
    *from = 0;
    *to = s->samples;
    if (step == 0) return;
    double a = (-1 - first) / step, b = ((double)s->size - first) / step;
    double low = floor(a < b ? a : b) - 1, high = ceil(a < b ? b : a) + 2;
    if (low > *from) *from = low;
    if (high < *to) *to = high;
}

#endif
