/* Hardware counters of the calling thread, through perf_event_open. */
#ifndef HN_MEASURE_COUNTERS_H
#define HN_MEASURE_COUNTERS_H

#include <stdbool.h>

typedef enum hn_counter {
    HN_COUNTER_CYCLES,
    HN_COUNTER_INSTRUCTIONS,
    HN_COUNTER_CACHE_MISSES,
    HN_COUNTER_COUNT_
} hn_counter;

typedef struct hn_counters {
    int fd[HN_COUNTER_COUNT_]; /* -1: not available */
} hn_counters;

/* False: the system counts none of them, and there is nothing to close. */
bool hn_counters_open(hn_counters *c);
void hn_counters_close(hn_counters *c);
/* So far; -1: not available. Where the CPU has fewer counters than were asked for they take turns,
 * and what they missed is estimated. */
void hn_counters_read(const hn_counters *c, double counts[HN_COUNTER_COUNT_]);

#endif
