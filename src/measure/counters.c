#include "measure/counters.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_one(uint64_t event) {
    struct perf_event_attr a = {
        .size = sizeof a,
        .type = PERF_TYPE_HARDWARE,
        .config = event,
        .exclude_kernel = 1, /* what an unprivileged process may count */
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool hn_counters_open(hn_counters *c) {
    static const uint64_t events[HN_COUNTER_COUNT_] = {
        PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES};
    bool any = false;
    for (int i = 0; i < HN_COUNTER_COUNT_; i++) {
        c->fd[i] = open_one(events[i]);
        any = any || c->fd[i] >= 0;
    }
    return any;
}

void hn_counters_close(hn_counters *c) {
    for (int i = 0; i < HN_COUNTER_COUNT_; i++) {
        if (c->fd[i] >= 0) close(c->fd[i]);
        c->fd[i] = -1;
    }
}

void hn_counters_read(const hn_counters *c, double counts[HN_COUNTER_COUNT_]) {
    for (int i = 0; i < HN_COUNTER_COUNT_; i++) {
        uint64_t got[3]; /* the count, and ns it was enabled and counting */
        counts[i] = -1;
        if (c->fd[i] < 0 || read(c->fd[i], got, sizeof got) != (ssize_t)sizeof got) continue;
        if (got[2] > 0) counts[i] = (double)got[0] * ((double)got[1] / (double)got[2]);
    }
}
