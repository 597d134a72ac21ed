#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t hn_clock_ns(void) { return read_clock(CLOCK_MONOTONIC); }

int64_t hn_clock_cpu_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
