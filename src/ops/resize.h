/* How Resize samples each axis: the taps an output index is a weighted sum of. */
#ifndef HN_OPS_RESIZE_H
#define HN_OPS_RESIZE_H

#include "ops/op.h"

typedef struct hn_resize_axis {
    int64_t in, out;
    double num, den;   /* the scale */
    double start, end; /* the roi */
    bool same;         /* output o is input o; there are no taps then */
    /* Taps of output o: [first[o], first[o + 1]). None: the extrapolation value. */
    int64_t *first, *index;
    double *weight; /* of nearest neighbours 1 */
} hn_resize_axis;

typedef struct hn_resize {
    enum {
        HN_RESIZE_HALF_PIXEL,
        HN_RESIZE_HALF_PIXEL_SYMMETRIC,
        HN_RESIZE_PYTORCH_HALF_PIXEL,
        HN_RESIZE_ALIGN_CORNERS,
        HN_RESIZE_ASYMMETRIC,
        HN_RESIZE_CROP,
    } transform;
    enum { HN_RESIZE_NEAREST, HN_RESIZE_LINEAR, HN_RESIZE_CUBIC } mode;
    enum { HN_RESIZE_PREFER_FLOOR, HN_RESIZE_PREFER_CEIL, HN_RESIZE_FLOOR, HN_RESIZE_CEIL } nearest;
    double cubic_a, outside; /* outside: the extrapolation value */
    bool antialias, exclude_outside;
    int rank;
    hn_resize_axis axis[HONE_MAX_RANK];
} hn_resize;

/* The taps of node n from x to y, of these dims and not empty. roi, scales and sizes are its
 * inputs; NULL: not there. The tables lie in the arena. */
hone_status hn_resize_plan(const hn_node *n, int rank, const int64_t *x, const int64_t *y,
                           const hn_tensor *roi, const hn_tensor *scales, const hn_tensor *sizes,
                           hn_arena *arena, hn_resize *r, hn_error *err);

#endif
