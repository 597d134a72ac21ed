/* The taps of a position along one axis, in double: what all rows of grid_sample_f32 agree on. */
#ifndef HN_KERNELS_GRID_SAMPLE_F32_TAPS_H
#define HN_KERNELS_GRID_SAMPLE_F32_TAPS_H

#include <math.h>

#include "kernels/grid_sample_f32/grid_sample_f32.h"

enum { SAMPLE_TAPS = 4 };

typedef struct sample_taps {
    int n;
    int64_t at[SAMPLE_TAPS];
    double weight[SAMPLE_TAPS];
} sample_taps;

/* Where the coordinate v lies on an axis of this size. */
static inline double sample_position(const hn_grid_sample_f32 *p, double v, int64_t size) {
    const double far = 0x1p60; /* keeps the products finite */
    v = v > far ? far : v > -far ? v : v == v ? -far : -1;
    return p->align_corners ? (v + 1) / 2 * (double)(size - 1) : ((v + 1) * (double)size - 1) / 2;
}

/* x bounced between the borders of the axis until it lies inside. */
static inline double sample_reflect(const hn_grid_sample_f32 *p, double x, int64_t size) {
    double lo = p->align_corners ? 0 : -0.5, range = (double)size - 1 - 2 * lo;
    if (range == 0) return 0;
    x = fmod(fabs(x - lo), 2 * range);
    return lo + (x > range ? 2 * range - x : x);
}

/* The element a tap at i (a whole number) reads, -1: none. */
static inline int64_t sample_element(const hn_grid_sample_f32 *p, double i, int64_t size) {
    if (i >= 0 && i < (double)size) return (int64_t)i;
    if (p->padding == HN_SAMPLE_ZEROS) return -1;
    if (p->padding == HN_SAMPLE_REFLECTION) i = sample_reflect(p, i, size);
    return i < 0 ? 0 : i < (double)size ? (int64_t)i : size - 1;
}

/* Weights for the taps at floor(x) - 1 .. floor(x) + 2, t = x - floor(x). */
static inline void sample_cubic(double t, double *w) {
    const double a = -0.75;
    for (int k = 0; k < 4; k++) {
        double d = fabs(t + 1 - k);
        w[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : a * (((d - 5) * d + 8) * d - 4);
    }
}

/* The taps of coordinate v. Taps of one element stay apart. */
static inline sample_taps sample_taps_of(const hn_grid_sample_f32 *p, double v, int64_t size) {
    sample_taps t = {0};
    double x = sample_position(p, v, size), w[SAMPLE_TAPS] = {1};
    if (p->mode == HN_SAMPLE_NEAREST) x = rint(x);
    double low = floor(x), up = x - low;
    int n = p->mode == HN_SAMPLE_NEAREST ? 1 : p->mode == HN_SAMPLE_LINEAR ? 2 : 4;
    if (p->mode == HN_SAMPLE_LINEAR) w[0] = 1 - up, w[1] = up;
    if (p->mode == HN_SAMPLE_CUBIC) sample_cubic(up, w), low--;
    for (int k = 0; k < n; k++) {
        int64_t at = sample_element(p, low + k, size);
        if (at < 0 || w[k] == 0) continue;
        t.at[t.n] = at;
        t.weight[t.n++] = w[k];
    }
    return t;
}

/* The taps along all axes of the position at `at`: columns, rows, depth. */
static inline void sample_all_taps(const hn_grid_sample_f32 *p, const float *at, sample_taps *t) {
    const int64_t sizes[] = {p->w, p->h, p->d};
    for (int i = 0; i < 3; i++)
        t[i] = i < p->axes ? sample_taps_of(p, (double)at[i], sizes[i])
                           : (sample_taps){.n = 1, .weight = {1}};
}

#endif
