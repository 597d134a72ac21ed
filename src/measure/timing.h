/* What the durations of many runs of the same thing tell: how long one takes, how sure that is, and
 * whether it takes longer than it did.
 *
 * Equal runs differ because something disturbs the machine: another process, another guest on the
 * same core, an interrupt. That only ever adds time. On a shared machine it may add half as much
 * again for ten seconds on end, so that medians of the same build differ by 50 %. Single runs may
 * also be lucky: the fastest of a thousand was seen 6 to 10 % below what the next hundred agree on.
 * Hence
 *
 *   noise    from the medians of windows, says what a user of this machine will see;
 *   compare  goes by the medians of the fastest windows, the third of them: a window is a tenth of
 *            a series, and half of its runs were no slower;
 *   join     does so over series of several processes, since one may fall into a bad phase as a
 *            whole, until two agree;
 *   judge    asks as many of them as it takes to call a build slower;
 *   pace     tells the series that were. It is the speed of a loop that always does the same, taken
 *            between runs for 2 us at a time. A core that is shared lets it through at full speed
 *            now and then, however rarely a whole run. So it is 0.75 to 1 of the best that was seen
 *            beside the fastest runs of a series of which some were let through, and 0.5 to 0.65
 *            beside those of others. (Loops that keep the vector units busy tell less: their clock
 *            depends on what ran before.)
 */
#ifndef HN_MEASURE_TIMING_H
#define HN_MEASURE_TIMING_H

#include "base/alloc.h"
#include "base/error.h"
#include "hone/hone.h"

double hn_pace(double *best);
hone_status hn_timing_of(hone_timing *out, const double *durations, const double *pace, double best,
                         size_t n, hn_allocator *alloc, hn_error *err);
/* Whether the machine had its full pace beside the fastest runs, or nobody looked. */
bool hn_timing_is_calm(const hone_timing *t);
hone_timing_change hn_timing_compare(const hone_timing *then, const hone_timing *now);
size_t hn_timing_join(hone_timing *out, const hone_timing *series, size_t n, bool *settled);
hone_timing_change hn_timing_judge(const hone_timing *then, const hone_timing *series, size_t n,
                                   bool *more);

#endif
