#include "measure/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define AGREEMENT 0.1     /* of the medians of the last windows, for a stable series */
#define LEAST_MARGIN 0.05 /* of a change: what one build takes seldom differs by more */
#define LOW_WINDOW 2      /* which window counts, fastest first */
#define NEXT_WINDOWS 2    /* behind it, that must agree for it to be believed */
#define FULL_PACE 0.7     /* of the best, or more */
#define CALM_PACE 0.88    /* beside series that may settle a time or confirm a change */
#define SETTLED 0.02      /* what two of them may differ by */
#define MANY_RUNS 1000

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void sort(double *v, size_t n) { qsort(v, n, sizeof *v, by_value); }

/* Of sorted values, straight between the two it falls between. */
static double percentile(const double *v, size_t n, double p) {
    double at = p / 100 * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

double hn_pace(double *best) {
    enum { WORDS = 512, ROUNDS = 30, LOOKS = 8 };
    static const volatile uint64_t words[WORDS];
    double looks[LOOKS];
    for (int k = 0; k < LOOKS; k++) {
        int64_t begun = hn_clock_ns();
        for (int r = 0; r < ROUNDS; r++)
            for (int i = 0; i < WORDS; i += 4) /* as many loads at once as a core has ways for */
                (void)words[i], (void)words[i + 1], (void)words[i + 2], (void)words[i + 3];
        looks[k] = WORDS * ROUNDS / (double)(hn_clock_ns() - begun + 1);
    }
    sort(looks, LOOKS);
    *best = fmax(*best, looks[LOOKS - 1]);
    return percentile(looks, LOOKS, 50);
}

/* (largest - least) / least of the values. */
static double spread(const double *v, int n) {
    double least = v[0], most = v[0];
    for (int i = 1; i < n; i++) {
        least = fmin(least, v[i]);
        most = fmax(most, v[i]);
    }
    return least > 0 ? most / least - 1 : NAN;
}

/* v in the order of measuring; is sorted window by window. */
static void windows(hone_timing *t, double *v, size_t n) {
    t->n_windows = n < HONE_TIMING_WINDOWS ? (int)n : HONE_TIMING_WINDOWS;
    for (int w = 0; w < t->n_windows; w++) {
        size_t first = n * (size_t)w / (size_t)t->n_windows;
        size_t count = n * ((size_t)w + 1) / (size_t)t->n_windows - first;
        sort(v + first, count);
        t->median[w] = percentile(v + first, count, 50);
        t->fastest[w] = v[first];
    }
    int last = t->n_windows < 4 ? 0 : t->n_windows / 2;
    t->noise = t->n_windows > 1 ? spread(t->median + last, t->n_windows - last) : NAN;
    t->stable = t->noise <= AGREEMENT;
}

/* Beside the fastest runs. Long runs, of which there are few, take what the looks beside them say
 * on average; short ones slip through between disturbances that those looks meet, so that of them a
 * quarter of the looks at full speed is enough. sorted: the durations; is used up. */
static double fast_pace(const double *durations, const double *pace, size_t n, double *sorted) {
    bool many = n >= MANY_RUNS;
    double last = percentile(sorted, n, many ? 2 : 10);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (durations[i] <= last) sorted[k++] = pace[i];
    sort(sorted, k);
    return percentile(sorted, k, many ? 75 : 50);
}

/* From the least to the 99th percentile, or three medians if that is less: a few slow runs would
 * leave no room for the others. They are counted in the last part. v is sorted. */
static void histogram(hone_timing *t, const double *v, size_t n) {
    t->low = t->min;
    t->high = fmin(t->p99, 3 * t->p50);
    double part = (t->high - t->low) / HONE_TIMING_BINS;
    for (size_t i = 0; i < n; i++) {
        double at = part > 0 ? (v[i] - t->low) / part : 0;
        t->counts[at < HONE_TIMING_BINS - 1 ? (int)at : HONE_TIMING_BINS - 1]++;
    }
}

hone_status hn_timing_of(hone_timing *out, const double *durations, const double *pace, double best,
                         size_t n, hn_allocator *alloc, hn_error *err) {
    HN_CHECK(err, n > 0, HONE_E_ARG, "there are no durations to tell anything of");
    for (size_t i = 0; i < n; i++)
        HN_CHECK(err, durations[i] >= 0 && isfinite(durations[i]), HONE_E_ARG,
                 "duration %zu is %g, expected a number of at least 0", i, durations[i]);
    double *v = hn_alloc_array(alloc, n, sizeof *v, HN_MEM_SCRATCH);
    if (v == NULL) return HN_NOMEM(err);
    memcpy(v, durations, n * sizeof *v);
    hone_timing t = {.size = sizeof t, .n = (int64_t)n};
    windows(&t, v, n);
    sort(v, n);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    t.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (v[i] - t.mean) * (v[i] - t.mean);
    t.std = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    t.min = v[0];
    t.max = v[n - 1];
    t.p50 = percentile(v, n, 50);
    t.p90 = percentile(v, n, 90);
    t.p95 = percentile(v, n, 95);
    t.p99 = percentile(v, n, 99);
    t.p99_9 = percentile(v, n, 99.9);
    histogram(&t, v, n);
    t.pace = pace != NULL ? fast_pace(durations, pace, n, v) / best : NAN;
    t.disturbed = t.pace < FULL_PACE;
    hn_free(alloc, v);
    *out = t;
    return HONE_OK;
}

/* The median of a window, fastest window first; of the last where there are fewer. */
static double window(const hone_timing *t, int i) {
    double v[HONE_TIMING_WINDOWS];
    int n = t->n_windows;
    if (n == 0) return t->min;
    memcpy(v, t->median, (size_t)n * sizeof *v);
    sort(v, (size_t)n);
    return v[i < n ? i : n - 1];
}

/* How well the time is known. */
static double doubt(const hone_timing *t) {
    if (t->n_windows <= LOW_WINDOW + NEXT_WINDOWS) return AGREEMENT;
    return window(t, LOW_WINDOW + NEXT_WINDOWS) / window(t, LOW_WINDOW) - 1;
}

/* By how much the machine may have slowed down the fastest runs: they were seen to suffer more than
 * the loop that is timed beside them, never more than its square. */
static double excuse(const hone_timing *t) { return t->disturbed ? 1 / (t->pace * t->pace) : 1; }

hone_timing_change hn_timing_compare(const hone_timing *then, const hone_timing *now) {
    hone_timing_change c = {.then = window(then, LOW_WINDOW),
                            .now = window(now, LOW_WINDOW),
                            .margin = fmax(LEAST_MARGIN, fmax(doubt(then), doubt(now)))};
    double ratio = c.ratio = c.now / c.then, margin = c.margin;
    c.verdict = ratio > 1 + margin         ? HONE_CHANGE_SLOWER
                : ratio > 1 + LEAST_MARGIN ? HONE_CHANGE_UNKNOWN
                : ratio < 1 / (1 + margin) ? HONE_CHANGE_FASTER
                                           : HONE_CHANGE_NONE;
    /* Whether without the disturbance it could be otherwise. Slower than on a disturbed machine is
     * slower, and as fast as before on one is not. */
    bool could = c.verdict == HONE_CHANGE_SLOWER ? ratio / excuse(now) <= 1 + margin
                                                 : ratio * excuse(then) > 1 + margin;
    if (could) c.verdict = HONE_CHANGE_UNKNOWN;
    return c;
}

/* ---- several series ---- */

/* Puts the values of the next list among those that are there, lowest first, as far as there is
 * room; how many there are then. */
static int merge(double *v, int n, const double *next, int n_next) {
    double all[2 * HONE_TIMING_WINDOWS];
    memcpy(all, v, (size_t)n * sizeof *v);
    memcpy(all + n, next, (size_t)n_next * sizeof *v);
    n += n_next;
    sort(all, (size_t)n);
    if (n > HONE_TIMING_WINDOWS) n = HONE_TIMING_WINDOWS;
    memcpy(v, all, (size_t)n * sizeof *v);
    return n;
}

bool hn_timing_is_calm(const hone_timing *t) { return !(t->pace < CALM_PACE); }

size_t hn_timing_join(hone_timing *out, const hone_timing *series, size_t n, bool *settled) {
    size_t best = 0;
    int agree = 0;
    bool disturbed = true;
    for (size_t i = 0; i < n; i++) {
        if (window(&series[i], LOW_WINDOW) < window(&series[best], LOW_WINDOW)) best = i;
        disturbed &= series[i].disturbed;
    }
    hone_timing all = series[best];
    all.disturbed = disturbed;
    all.n_windows = 0;
    for (size_t i = 0; i < n; i++) {
        merge(all.fastest, all.n_windows, series[i].fastest, series[i].n_windows);
        all.n_windows = merge(all.median, all.n_windows, series[i].median, series[i].n_windows);
    }
    for (size_t i = 0; i < n; i++)
        agree += hn_timing_is_calm(&series[i]) &&
                 window(&series[i], LOW_WINDOW) <= (1 + SETTLED) * window(&all, LOW_WINDOW);
    *settled = agree >= 2;
    *out = all;
    return best;
}

hone_timing_change hn_timing_judge(const hone_timing *then, const hone_timing *series, size_t n,
                                   bool *more) {
    enum { CONFIRMED = 4, MOST_SERIES = 12 };
    hone_timing all;
    bool settled;
    hn_timing_join(&all, series, n, &settled);
    hone_timing_change c = hn_timing_compare(then, &all);
    int slower = 0;
    for (size_t i = 0; i < n; i++) {
        double pace = hn_timing_is_calm(&series[i]) ? 1 : series[i].pace;
        slower += window(&series[i], LOW_WINDOW) * pace * pace > (1 + c.margin) * c.then;
    }
    bool sure = slower >= CONFIRMED;
    *more = n < MOST_SERIES && (c.verdict == HONE_CHANGE_SLOWER
                                    ? !sure
                                    : c.verdict == HONE_CHANGE_UNKNOWN && !then->disturbed);
    if (c.verdict == HONE_CHANGE_SLOWER && !sure) c.verdict = HONE_CHANGE_UNKNOWN;
    return c;
}
