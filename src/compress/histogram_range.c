/* Ranges that are read off a histogram. All methods work on sums over the bins up to each, so that
 * what lies in any stretch of bins costs two lookups, and a candidate as much as it has levels. */
#include <math.h>

#include "compress/histogram.h"

enum { BINS = HN_HISTOGRAM_BINS };

/* Positions are counted in bins from the start of that of the least value: wherever the window
 * lies, sums are the same. */
typedef struct sums {
    double width, zero; /* of a bin; where 0 lies */
    double least, most; /* where a range may end: the extremes, and 0 where they do not pass it */
    double total;       /* values that are not 0 */
    double count[BINS + 1], by_place[BINS + 1], by_square[BINS + 1]; /* of the bins before */
    double by_log[BINS + 1];                                         /* count * log(count) */
    int filled[BINS + 1];                                            /* bins that hold any */
} sums;

static double entropy_of(double count) { return count > 0 ? count * log(count) : 0; }

static void sum_up(sums *s, const hn_histogram *h) {
    double width = ldexp(1, h->exponent), first = floor((double)h->least / width);
    int64_t skipped = (int64_t)first - h->first;
    *s = (sums){.width = width, .zero = -first};
    s->least = fmin((double)h->least / s->width, 0) + s->zero;
    s->most = fmax((double)h->greatest / s->width, 0) + s->zero;
    for (int i = 0; i < BINS; i++) {
        double n = i + skipped < BINS ? (double)h->bins[i + skipped] : 0, at = i + 0.5;
        s->count[i + 1] = s->count[i] + n;
        s->by_place[i + 1] = s->by_place[i] + n * at;
        s->by_square[i + 1] = s->by_square[i] + n * at * at;
        s->by_log[i + 1] = s->by_log[i] + entropy_of(n);
        s->filled[i + 1] = s->filled[i] + (n > 0);
    }
    s->total = s->count[BINS];
}

static hn_range range_of(const sums *s, const hn_histogram *h, double from, double to) {
    return (hn_range){fmin(fmax((from - s->zero) * s->width, h->least), 0),
                      fmax(fmin((to - s->zero) * s->width, h->greatest), 0)};
}

static double clamp(double x, double least, double most) { return fmin(fmax(x, least), most); }

/* The farthest end, from 0. */
static double reach(const sums *s) { return fmax(s->zero - s->least, s->most - s->zero); }

static bool mirrors(const hn_qtype *t) { return t->symmetric || t->bits == 1; }

/* ---- percentiles ---- */

/* Values before a position; those of a bin lie evenly in it. */
static double before(const sums *s, double at) {
    at = clamp(at, 0, BINS);
    int i = (int)fmin(at, BINS - 1);
    return s->count[i] + (s->count[i + 1] - s->count[i]) * (at - i);
}

/* The least position with that many values before it, or within that distance from 0. */
static double position(const sums *s, double count, bool distance) {
    double from = distance ? 0 : s->least, to = distance ? reach(s) : s->most;
    for (int step = 0; step < 60; step++) {
        double half = from + (to - from) / 2;
        double inside =
            distance ? before(s, s->zero + half) - before(s, s->zero - half) : before(s, half);
        if (inside < count)
            from = half;
        else
            to = half;
    }
    return to;
}

hn_range hn_histogram_percentile(const hn_histogram *h, const hn_qtype *t, double percent) {
    sums s;
    sum_up(&s, h);
    double outside = s.total * (1 - clamp(percent / 100, 0, 1));
    if (mirrors(t)) {
        double distance = position(&s, s.total - outside, true);
        return range_of(&s, h, s.zero - distance, s.zero + distance);
    }
    if (h->least < 0 && h->greatest > 0) outside /= 2;
    double from = h->least < 0 ? position(&s, outside, false) : s.zero;
    double to = h->greatest > 0 ? position(&s, s.total - outside, false) : s.zero;
    return range_of(&s, h, from, to);
}

/* ---- entropy ---- */

/* What a level holds in the eyes of the grid where nothing but clipped values came to it. */
#define HARDLY_ANY 0.5

static int bin_at(double position) { return (int)clamp(rint(position), 0, BINS); }

/* The divergence, up to what is the same for all ranges. Levels of the grid spread what lies inside
 * evenly over their bins that hold any, clipped values included. */
static double divergence(const sums *s, int levels, double from, double to) {
    int first = bin_at(floor(from)), end = bin_at(ceil(to)); /* all bins that reach inside */
    if (end <= first) return INFINITY;
    double inside = s->count[end] - s->count[first];
    if (inside <= 0) return INFINITY;
    double below = s->count[first], above = s->total - s->count[end];
    double lowest = s->count[first + 1] - s->count[first];
    double highest = s->count[end] - s->count[end - 1];
    double sum = s->by_log[end] - s->by_log[first] + s->total * log(inside);
    if (end - first == 1) {
        sum += entropy_of(s->total) - entropy_of(lowest);
    } else {
        sum += entropy_of(lowest + below) - entropy_of(lowest);
        sum += entropy_of(highest + above) - entropy_of(highest);
    }
    double width = (to - from) / levels;
    for (int level = 0, a = first; level < levels && a < end; level++) {
        int b = level + 1 < levels ? bin_at(from + width * (level + 1)) : end;
        if (b <= a) continue;
        double held = s->count[b] - s->count[a];
        double real = held + (a == first ? below : 0) + (b == end ? above : 0);
        int filled = s->filled[b] - s->filled[a];
        filled +=
            (a == first && below > 0 && lowest == 0) + (b == end && above > 0 && highest == 0);
        if (real > 0) sum -= real * log(held > 0 ? held / filled : HARDLY_ANY);
        a = b;
    }
    return sum;
}

enum { STEPS = 64 }; /* distances tried, and again as many between those beside the best */

/* The best distance of the upper end from 0 (or of the lower one: `down`), that of the other end
 * being given. Symmetric: both have it. A level is one bin wide at least. */
static double best_end(const sums *s, int levels, double other, bool down, bool symmetric) {
    double most = symmetric ? reach(s) : down ? s->zero - s->least : s->most - s->zero;
    double nearest = fmax(symmetric ? levels / 2.0 : levels - other, 1), farthest = most;
    double best = most, least = INFINITY;
    for (int round = 0; round < 2 && nearest <= farthest; round++) {
        double step = fmax((farthest - nearest) / STEPS, 1);
        for (double d = farthest; d >= nearest; d -= step) {
            double beside = symmetric ? d : other;
            double found =
                divergence(s, levels, s->zero - (down ? d : beside), s->zero + (down ? beside : d));
            if (found < least) {
                least = found;
                best = d;
            }
        }
        farthest = fmin(best + step, most);
        nearest = fmax(best - step, nearest);
    }
    return best;
}

static int levels_of(const hn_qtype *t) {
    int32_t least, most;
    hn_qtype_limits(t, &least, &most);
    return most - least + 1;
}

hn_range hn_histogram_entropy(const hn_histogram *h, const hn_qtype *t) {
    sums s;
    int levels = levels_of(t);
    sum_up(&s, h);
    if (mirrors(t)) {
        double end = best_end(&s, levels, 0, false, true);
        return range_of(&s, h, s.zero - end, s.zero + end);
    }
    double below = s.zero - s.least, above = s.most - s.zero;
    for (int round = 0; round < 2; round++) {
        if (above > 0) above = best_end(&s, levels, below, false, false);
        if (below > 0) below = best_end(&s, levels, above, true, false);
    }
    return range_of(&s, h, s.zero - below, s.zero + above);
}

/* ---- squared error ---- */

/* In squares of bins. Values lie in the middle of their bin: what they lie beside it adds the same
 * to all ranges. */
static double squared_error(const sums *s, const hn_qtype *t, hn_range r) {
    int32_t least, most;
    hn_grid_point p = hn_grid_of_range(t, r);
    double step = (double)p.scale / s->width, sum = 0;
    hn_qtype_limits(t, &least, &most);
    int apart = t->bits == 1 ? 2 : 1; /* of codes */
    for (int32_t code = least, a = 0; code <= most && a < BINS; code += apart) {
        double at = s->zero + step * (code - p.zero);
        int b = code < most ? bin_at(at + step * apart / 2) : BINS;
        if (b <= a) continue;
        sum += s->by_square[b] - s->by_square[a] - 2 * at * (s->by_place[b] - s->by_place[a]) +
               at * at * (s->count[b] - s->count[a]);
        a = b;
    }
    return sum;
}

/* Both ends are moved towards 0 by powers of the root of 2, which outliers a hundred times as far
 * as the rest call for, and then by ever smaller ones about the best. */
enum { COARSE = 16, FINE = 5 };
#define ROOT 0.70710678118654752440

typedef struct search {
    const sums *s;
    const hn_qtype *t;
    hn_range full;
    double min_by, max_by; /* the best factors so far */
    double least;          /* their error */
} search;

static void attempt(search *k, double min_by, double max_by) {
    min_by = fmin(min_by, 1);
    max_by = fmin(max_by, 1);
    double error =
        squared_error(k->s, k->t, (hn_range){k->full.min * min_by, k->full.max * max_by});
    if (!(error < k->least)) return;
    k->least = error;
    k->min_by = min_by;
    k->max_by = max_by;
}

hn_range hn_histogram_mse(const hn_histogram *h, const hn_qtype *t) {
    sums s;
    sum_up(&s, h);
    search k = {.s = &s, .t = t, .min_by = 1, .max_by = 1, .least = INFINITY};
    bool mirror = mirrors(t);
    double from = mirror ? s.zero - reach(&s) : s.least, to = mirror ? s.zero + reach(&s) : s.most;
    k.full = (hn_range){(from - s.zero) * s.width, (to - s.zero) * s.width};
    /* Bins as wide as the steps of the grid tell nothing of rounding, which hardly matters then. */
    if (levels_of(t) > BINS / 2) return range_of(&s, h, from, to);
    int n_min = !mirror && k.full.min < 0 ? COARSE : 1, n_max = k.full.max > 0 ? COARSE : 1;
    double factor = ROOT, min_by = 1;
    for (int i = 0; i < n_min; i++, min_by *= factor) {
        double max_by = 1;
        for (int j = 0; j < n_max; j++, max_by *= factor)
            attempt(&k, mirror ? max_by : min_by, max_by);
    }
    for (int round = 0; round < FINE; round++) {
        min_by = k.min_by;
        double max_by = k.max_by;
        factor = sqrt(factor);
        const double by[] = {factor, 1, 1 / factor};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                if (!mirror || i == j) attempt(&k, min_by * by[i], max_by * by[j]);
    }
    return range_of(&s, h, s.zero + k.min_by * (from - s.zero), s.zero + k.max_by * (to - s.zero));
}
