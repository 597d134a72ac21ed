/* How often values occur, in fixed memory, whatever their range turns out to be.
 *
 * Bins are as wide as a power of two and lie at multiples of it, on both sides of 0. A value that
 * falls outside moves the window, or makes bins twice as wide by merging them in pairs: no count is
 * ever split, so what is found does not depend on how the values came in parts.
 *
 *     width 1    | 0 | 1 | 2 | 3 | 4 | 5 |            bins [first, first + 2048)
 *     width 2    |   0   |   1   |   2   |   ...
 */
#ifndef HN_COMPRESS_HISTOGRAM_H
#define HN_COMPRESS_HISTOGRAM_H

#include "base/pool.h"
#include "compress/grid.h"

#define HN_HISTOGRAM_BINS 2048
#define HN_HISTOGRAM_ZEROS 32 /* places where 0 is counted */

typedef struct hn_extremes {
    float least, greatest;
    bool finite; /* all of them are; else the others say nothing */
} hn_extremes;
/* Of n values, at least one. */
hn_extremes hn_extremes_of(const float *x, int64_t n, hn_pool *pool);

typedef struct hn_histogram {
    int exponent;   /* of the width of a bin */
    int64_t first;  /* bin i holds [first + i, first + i + 1) times the width */
    uint64_t n;     /* values counted; 0: there are no bins yet */
    uint64_t zeros; /* of them, which every grid has: they are in no bin */
    float least, greatest;
    uint64_t bins[HN_HISTOGRAM_BINS];
} hn_histogram;

/* What counting needs beside: a row of bins for each thread. */
typedef struct hn_histogram_lanes {
    hn_allocator *alloc;
    hn_pool *pool;
    int n;
    uint64_t (*bins)[HN_HISTOGRAM_BINS + HN_HISTOGRAM_ZEROS]; /* those for 0 last */
} hn_histogram_lanes;
hone_status hn_histogram_lanes_init(hn_histogram_lanes *l, hn_pool *pool, hn_allocator *alloc,
                                    hn_error *err);
void hn_histogram_lanes_deinit(hn_histogram_lanes *l); /* one that is all zero accepted */

/* n finite values, at least one, and their extremes. A histogram begins all zero. */
void hn_histogram_add(hn_histogram *h, const float *x, int64_t n, hn_extremes of,
                      hn_histogram_lanes *l);

/* The same, coarser, for people to look at: whole bins joined to bars of equal width, from the one
 * that holds the least value to that of the greatest. */
#define HN_HISTOGRAM_BARS 64
typedef struct hn_bars {
    double from, step; /* bar i holds [from + i * step, from + (i + 1) * step), 0 left out */
    int n;             /* 0: nothing was counted */
    uint64_t v[HN_HISTOGRAM_BARS];
} hn_bars;
void hn_histogram_bars(const hn_histogram *h, hn_bars *out);
/* The share of the values that lie outside, a bin being where its middle is. */
double hn_histogram_outside(const hn_histogram *h, hn_range r);

/* Ranges for a grid of type t, by what is counted (histogram_range.c). An end is at most as far out
 * as the extremes, and 0 where no value is on its side. */

/* That share of the values that are not 0 lies inside, of the rest as much on each side that has
 * values: `symmetric`, at equal distances from 0. */
hn_range hn_histogram_percentile(const hn_histogram *h, const hn_qtype *t, double percent);
/* Loses the least information: least Kullback-Leibler divergence of the values from what the levels
 * of the grid can tell of them, what is clipped counting as the last bin inside. */
hn_range hn_histogram_entropy(const hn_histogram *h, const hn_qtype *t);
/* Least squared error of rounding and clipping. */
hn_range hn_histogram_mse(const hn_histogram *h, const hn_qtype *t);

#endif
