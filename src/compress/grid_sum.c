/* The scale of a sum that rounds alike everywhere.
 *
 *     y = rne((a - za) * sa / sy + (b - zb) * sb / sy) + zy
 *
 * Runtimes compute this in floats, in one order or another: with zero points taken off first or
 * last, with two roundings or four. What they round is some 2^-17 apart, which matters where it
 * lies that close to the middle of two codes; and in a deep network one code that differs makes
 * many. There are only 2^16 pairs of codes, though: of some scales just below sy that one is taken
 * whose sums keep the greatest distance.
 */
#include <math.h>

#include "compress/grid.h"

/* 256 of 2^-17 are half a step in 256. */
enum { TRIED = 256 };
#define APART 0x1p-17

/* The least distance of a sum from the middle of two codes; or any that is less than `enough`. */
static double distance(const int32_t *a, double ra, const int32_t *b, double rb, const int32_t *y,
                       double enough) {
    double least = 0.5;
    for (int32_t i = a[0]; i <= a[1] && least >= enough; i++)
        for (int32_t k = b[0]; k <= b[1]; k++) {
            double v = i * ra + k * rb;
            if (v < y[0] - 1 || v > y[1] + 1) continue; /* the first or last code, by far */
            double off = fabs(fabs(v - (double)(int64_t)v) - 0.5);
            if (off < least) least = off;
        }
    return least;
}

static void limits(const hn_qtype *t, hn_grid_point p, int32_t *l) {
    hn_qtype_limits(t, &l[0], &l[1]);
    l[0] -= p.zero;
    l[1] -= p.zero;
}

hn_grid_point hn_grid_of_sum(const hn_qtype *ta, hn_grid_point a, const hn_qtype *tb,
                             hn_grid_point b, const hn_qtype *ty, hn_grid_point y) {
    int32_t la[2], lb[2], ly[2];
    limits(ta, a, la);
    limits(tb, b, lb);
    limits(ty, y, ly);
    hn_grid_point best = y;
    double most = -1;
    for (int i = 0; i < TRIED; i++) {
        float scale = hn_grid_scale((double)y.scale * (1 - i * APART));
        double found = distance(la, (double)a.scale / (double)scale, lb,
                                (double)b.scale / (double)scale, ly, most);
        if (found > most) {
            most = found;
            best.scale = scale;
        }
    }
    return best;
}
