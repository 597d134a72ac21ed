#include "compress/histogram.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"

enum { BINS = HN_HISTOGRAM_BINS };

/* Values a thread is worth waking for. */
#define PIECE 16384

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t lanes_for(const hn_pool *pool, int64_t n) {
    return least_of(hn_pool_threads(pool), (n + PIECE - 1) / PIECE);
}

/* ---- extremes ---- */

/* Values looked at side by side, so that the compiler makes vectors of them. */
enum { WIDE = 16 };

static hn_extremes extremes_of(const float *x, int64_t n) {
    float least[WIDE], greatest[WIDE], odd[WIDE] = {0};
    int64_t i = 0;
    for (int k = 0; k < WIDE; k++) least[k] = greatest[k] = x[0];
    for (; i + WIDE <= n; i += WIDE)
        for (int k = 0; k < WIDE; k++) {
            float v = x[i + k];
            least[k] = v < least[k] ? v : least[k];
            greatest[k] = v > greatest[k] ? v : greatest[k];
            odd[k] += v * 0; /* NaN once one is not finite */
        }
    for (int k = 0; i < n; i++, k++) {
        least[k] = x[i] < least[k] ? x[i] : least[k];
        greatest[k] = x[i] > greatest[k] ? x[i] : greatest[k];
        odd[k] += x[i] * 0;
    }
    hn_extremes e = {least[0], greatest[0], true};
    for (int k = 0; k < WIDE; k++) {
        e.least = least[k] < e.least ? least[k] : e.least;
        e.greatest = greatest[k] > e.greatest ? greatest[k] : e.greatest;
        e.finite &= odd[k] == 0;
    }
    return e;
}

typedef struct extremes_task {
    const float *x;
    int64_t n, lanes;
    hn_extremes found[HN_THREADS_MAX];
} extremes_task;

static void extremes_lane(void *ctx, int64_t lane) {
    extremes_task *t = ctx;
    int64_t from = t->n * lane / t->lanes, to = t->n * (lane + 1) / t->lanes;
    t->found[lane] = extremes_of(t->x + from, to - from);
}

hn_extremes hn_extremes_of(const float *x, int64_t n, hn_pool *pool) {
    extremes_task t = {.x = x, .n = n, .lanes = lanes_for(pool, n)};
    hn_pool_run(pool, t.lanes, extremes_lane, &t);
    hn_extremes e = t.found[0];
    for (int64_t i = 1; i < t.lanes; i++) {
        e.least = fminf(e.least, t.found[i].least);
        e.greatest = fmaxf(e.greatest, t.found[i].greatest);
        e.finite &= t.found[i].finite;
    }
    return e;
}

/* ---- making room ---- */

/* Bins are numbered with at most this many bits: a float tells their numbers apart then. */
#define INDEX_BITS 22
/* Widths whose inverse is a float, and so is the number of the bin of any float. */
#define LEAST_EXPONENT (-120)

static int64_t bin_of(float x, int exponent) { return (int64_t)floor(ldexp(x, -exponent)); }

static bool fits(const hn_histogram *h, int exponent) {
    return bin_of(h->greatest, exponent) - bin_of(h->least, exponent) < BINS;
}

/* The narrowest bins in which the extremes fit. */
static int choose_exponent(const hn_histogram *h, int at_least) {
    float most = fmaxf(fabsf(h->least), fabsf(h->greatest));
    int exponent = at_least;
    if (most > 0 && ilogbf(most) - INDEX_BITS > exponent) exponent = ilogbf(most) - INDEX_BITS;
    while (!fits(h, exponent)) exponent++;
    return exponent;
}

/* Number of the bin that bin i is a part of once widths have doubled `times` times. */
static int64_t merged(int64_t i, int times) {
    int64_t width = INT64_C(1) << (times < 62 ? times : 62);
    return i >= 0 ? i / width : -((-i + width - 1) / width);
}

static void make_room(hn_histogram *h, hn_extremes of) {
    bool empty = h->n == 0;
    h->least = empty ? of.least : fminf(h->least, of.least);
    h->greatest = empty ? of.greatest : fmaxf(h->greatest, of.greatest);
    int exponent = choose_exponent(h, empty ? LEAST_EXPONENT : h->exponent);
    int64_t lo = bin_of(h->least, exponent), hi = bin_of(h->greatest, exponent);
    if (!empty && exponent == h->exponent && lo >= h->first && hi < h->first + BINS) return;
    uint64_t old[BINS];
    int64_t first = lo - (BINS - (hi - lo + 1)) / 2;
    memcpy(old, h->bins, sizeof old);
    memset(h->bins, 0, sizeof h->bins);
    for (int i = 0; i < BINS; i++)
        if (old[i] > 0) h->bins[merged(h->first + i, exponent - h->exponent) - first] += old[i];
    h->exponent = exponent;
    h->first = first;
}

/* ---- counting ---- */

/* Counts in 16 bits, four sets of them in turn, and several places for 0: values in a row are often
 * alike, and adding to one place waits for the last addition to it. */
enum { SETS = 4, BLOCK = 256, MOST_BLOCKS = SETS * UINT16_MAX / BLOCK };
enum { ZEROS = HN_HISTOGRAM_ZEROS };

typedef struct count_task {
    const hn_histogram *h;
    const float *x;
    int64_t n, lanes;
    hn_histogram_lanes *to;
} count_task;

/* Numbers are found before the first is taken off them: exactly, wherever the window lies. */
static void find_bins(const hn_histogram *h, const float x[BLOCK], int32_t bin[BLOCK]) {
    const float inverse = ldexpf(1, -h->exponent);
    const int32_t first = (int32_t)h->first;
    for (int i = 0; i < BLOCK; i++) {
        float at = x[i] * inverse;
        int32_t whole = (int32_t)at;
        whole -= (at < (float)whole) + first;
        whole = whole < BINS ? whole : BINS - 1; /* what is too little below 0 */
        int32_t zero = -(x[i] == 0);
        bin[i] = (whole & ~zero) | ((BINS + i % ZEROS) & zero);
    }
}

static void count_lane(void *ctx, int64_t lane) {
    count_task *t = ctx;
    const hn_histogram *h = t->h;
    uint64_t *to = t->to->bins[lane];
    int64_t i = t->n * lane / t->lanes, end = t->n * (lane + 1) / t->lanes;
    int32_t bin[BLOCK];
    uint16_t sets[SETS][BINS + ZEROS];
    while (end - i >= BLOCK) {
        memset(sets, 0, sizeof sets);
        for (int b = 0; b < MOST_BLOCKS && end - i >= BLOCK; b++, i += BLOCK) {
            find_bins(h, t->x + i, bin);
            for (int k = 0; k < BLOCK; k += SETS) {
                sets[0][bin[k]]++;
                sets[1][bin[k + 1]]++;
                sets[2][bin[k + 2]]++;
                sets[3][bin[k + 3]]++;
            }
        }
        for (int s = 0; s < SETS; s++)
            for (int b = 0; b < BINS + ZEROS; b++) to[b] += sets[s][b];
    }
    if (i == end) return;
    float rest[BLOCK];
    for (int k = 0; k < BLOCK; k++) rest[k] = t->x[i + (k < end - i ? k : 0)];
    find_bins(h, rest, bin);
    for (int k = 0; k < end - i; k++) to[bin[k]]++;
}

hone_status hn_histogram_lanes_init(hn_histogram_lanes *l, hn_pool *pool, hn_allocator *alloc,
                                    hn_error *err) {
    int n = hn_pool_threads(pool);
    *l = (hn_histogram_lanes){.alloc = alloc, .pool = pool, .n = n};
    l->bins = hn_alloc_array(alloc, (size_t)n, sizeof *l->bins, HN_MEM_SCRATCH);
    return l->bins != NULL ? HONE_OK : HN_NOMEM(err);
}

void hn_histogram_lanes_deinit(hn_histogram_lanes *l) {
    if (l->alloc != NULL) hn_free(l->alloc, l->bins);
    *l = (hn_histogram_lanes){0};
}

void hn_histogram_add(hn_histogram *h, const float *x, int64_t n, hn_extremes of,
                      hn_histogram_lanes *l) {
    make_room(h, of);
    count_task t = {.h = h, .x = x, .n = n, .lanes = lanes_for(l->pool, n), .to = l};
    memset(l->bins, 0, (size_t)t.lanes * sizeof *l->bins);
    hn_pool_run(l->pool, t.lanes, count_lane, &t);
    for (int64_t k = 0; k < t.lanes; k++) {
        for (int b = 0; b < BINS; b++) h->bins[b] += l->bins[k][b];
        for (int b = BINS; b < BINS + ZEROS; b++) h->zeros += l->bins[k][b];
    }
    h->n += (uint64_t)n;
}

/* ---- to look at ---- */

void hn_histogram_bars(const hn_histogram *h, hn_bars *out) {
    *out = (hn_bars){0};
    if (h->n == 0) return;
    int lo = (int)(bin_of(h->least, h->exponent) - h->first);
    int bins = (int)(bin_of(h->greatest, h->exponent) - h->first) - lo + 1;
    int each = (bins + HN_HISTOGRAM_BARS - 1) / HN_HISTOGRAM_BARS;
    out->n = (bins + each - 1) / each;
    out->from = ldexp((double)(h->first + lo), h->exponent);
    out->step = ldexp(each, h->exponent);
    for (int i = 0; i < bins; i++) out->v[i / each] += h->bins[lo + i];
}

double hn_histogram_outside(const hn_histogram *h, hn_range r) {
    double lo = ldexp(r.min, -h->exponent), hi = ldexp(r.max, -h->exponent);
    uint64_t outside = 0;
    for (int i = 0; i < BINS; i++) {
        double middle = (double)(h->first + i) + 0.5;
        if (middle < lo || middle > hi) outside += h->bins[i];
    }
    return h->n > 0 ? (double)outside / (double)h->n : 0;
}
