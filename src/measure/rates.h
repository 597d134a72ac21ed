/* The rates of a machine: arithmetic by precision and instruction, memory by level, on one thread
 * and on all.
 *
 * On a shared machine most of what can go wrong makes a window of time too slow: another process
 * takes the core, a quota is used up, the core's other hardware thread is busy. So windows are
 * short, go round through all rates in turn so that a bad phase spoils a few windows of each rate
 * and not all of one, and each is judged by what can be seen around it:
 *
 *     probe | barrier | ----- window ----- | probe      on every thread
 *
 * A window is clean if the threads had their CPUs all the time, and the slower probe of each is, on
 * average over the threads, near the best that the thread ever showed. A rate is a quantile of its
 * clean windows, above the median. It is measured until it has enough of them or time is up, and
 * without a few of them it is the best window there was, and the machine counts as disturbed.
 */
#ifndef HN_MEASURE_RATES_H
#define HN_MEASURE_RATES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/isa.h"
#include "hone/hone.h"

typedef struct hn_rates {
    hn_isa isa;
    size_t n_peaks, n_bandwidths;
    hone_peak_info *peaks;
    hone_bandwidth_info *bandwidths;
    double noise;   /* share of the windows that were not clean */
    bool disturbed; /* a rate had too few clean windows */
    int measured;   /* how often, the best of each rate being kept */
} hn_rates;

/* Says what there is to measure: everything but the rates themselves. m: the facts. */
hone_status hn_rates_lay_out(hn_rates *r, const hone_machine *m, hn_isa isa, hn_arena *arena,
                             hn_error *err);
/* Takes over what is better in rates of the same layout that were measured before. */
void hn_rates_join(hn_rates *r, const hn_rates *before);
/* Fills in the rates within a few seconds. */
hone_status hn_rates_measure(hn_rates *r, const hone_machine_options *o, hn_allocator *alloc,
                             hn_error *err);

#endif
