/* Statistics of timed runs, and energy. */
#include "measure/energy.h"
#include "measure/timing.h"

double hone_pace(double *best) { return hn_pace(best); }

hone_status hone_timing_of(hone_timing *out, const double *durations, const double *pace,
                           double best, size_t n, hone_error *err) {
    return hn_timing_of(out, durations, pace, best, n, hn_allocator_default(), err);
}

hone_timing_change hone_timing_compare(const hone_timing *then, const hone_timing *now) {
    return hn_timing_compare(then, now);
}

size_t hone_timing_join(hone_timing *out, const hone_timing *series, size_t n, bool *settled) {
    return hn_timing_join(out, series, n, settled);
}

hone_timing_change hone_timing_judge(const hone_timing *then, const hone_timing *series, size_t n,
                                     bool *more) {
    return hn_timing_judge(then, series, n, more);
}

void hone_energy_read(hone_energy *out) { hn_energy_read("", out); }

double hone_energy_between(const hone_energy *from, const hone_energy *to) {
    return hn_energy_between(from, to);
}
