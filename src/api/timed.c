/* Statistics of timed runs, and energy. Where there is no error to report a struct with bytes that
 * the library does not know is taken without them. */
#include "base/alloc.h"
#include "base/border.h"
#include "measure/energy.h"
#include "measure/timing.h"

double hone_pace(double *best) { return hn_pace(best); }

hone_status hone_timing_of_sized(hone_timing *out, const double *durations, const double *pace,
                                 double best, size_t n, const hone_layout *caller,
                                 hone_error *err) {
    hone_timing own;
    HN_TRY(hn_timing_of(&own, durations, pace, best, n, hn_allocator_default(), err));
    HN_GIVE_SIZED(out, &own, caller, timing);
    return HONE_OK;
}

static hone_timing timing_of_caller(const hone_timing *given, const hone_layout *caller) {
    hone_timing own;
    hn_give(&own, sizeof own, given, HN_CALLER(caller, timing));
    return own;
}

/* An array that hn_shown_free frees; NULL: out of memory. */
static hone_timing *series_of_caller(const hone_timing *given, size_t n,
                                     const hone_layout *caller) {
    return hn_show_array((void *)given, n, HN_CALLER(caller, timing), sizeof *given);
}

void hone_timing_compare_sized(const hone_timing *then, const hone_timing *now,
                               hone_timing_change *out, const hone_layout *caller) {
    hone_timing a = timing_of_caller(then, caller), b = timing_of_caller(now, caller);
    hone_timing_change own = hn_timing_compare(&a, &b);
    HN_GIVE(out, &own, caller, timing_change);
}

/* Without memory the first of the series stands for all. */
size_t hone_timing_join_sized(hone_timing *out, const hone_timing *series, size_t n, bool *settled,
                              const hone_layout *caller) {
    hone_timing own = timing_of_caller(series, caller), *all = series_of_caller(series, n, caller);
    size_t fastest = 0;
    *settled = false;
    if (all != NULL) {
        fastest = hn_timing_join(&own, all, n, settled);
        hn_shown_free(all, series);
    }
    HN_GIVE_SIZED(out, &own, caller, timing);
    return fastest;
}

/* Without memory nothing can be told. */
void hone_timing_judge_sized(const hone_timing *then, const hone_timing *series, size_t n,
                             bool *more, hone_timing_change *out, const hone_layout *caller) {
    hone_timing first = timing_of_caller(then, caller), *all = series_of_caller(series, n, caller);
    hone_timing_change own = {.verdict = HONE_CHANGE_UNKNOWN};
    *more = false;
    if (all != NULL) {
        own = hn_timing_judge(&first, all, n, more);
        hn_shown_free(all, series);
    }
    HN_GIVE(out, &own, caller, timing_change);
}

void hone_energy_read_sized(hone_energy *out, const hone_layout *caller) {
    hone_energy own;
    hn_energy_read("", &own);
    HN_GIVE_SIZED(out, &own, caller, energy);
}

double hone_energy_between_sized(const hone_energy *from, const hone_energy *to,
                                 const hone_layout *caller) {
    size_t size = HN_CALLER(caller, energy);
    hone_energy a, b;
    hn_give(&a, sizeof a, from, size);
    hn_give(&b, sizeof b, to, size);
    return hn_energy_between(&a, &b);
}
