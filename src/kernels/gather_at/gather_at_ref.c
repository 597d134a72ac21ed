/* The definition of gather_at: byte by byte. A task is a piece. */
#include "kernels/gather_at/gather_at.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_gather_at *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_places_count(&p->places)}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_gather_at *p = call->problem;
    const unsigned char *x = call->ptr[HN_GATHER_AT_X];
    unsigned char *y = call->ptr[HN_GATHER_AT_Y];
    int32_t *outside = call->ptr[HN_GATHER_AT_OUTSIDE];
    for (int64_t i = begin; i < end; i++) {
        int64_t at;
        bool ok = hn_places_named(&p->places, call->ptr[HN_GATHER_AT_INDEX], i, &at);
        if (!ok && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
        at += hn_places_base(&p->places, i);
        for (int64_t b = 0; b < p->bytes; b++) y[i * p->bytes + b] = ok ? x[at + b] : 0;
    }
}

const hn_kernel hn_gather_at_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
