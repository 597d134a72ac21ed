/* gather_at by memcpy, pieces of one or two words by themselves. A task is a group of pieces; along
 * the last axis of the space the share that no index tells grows by a constant. */
#include <string.h>

#include "kernels/gather_at/gather_at.h"

enum { TASK = 32768 }; /* bytes */

static int64_t group_of(const hn_gather_at *p) {
    return p->bytes < TASK ? TASK / (p->bytes + 1) + 1 : 1;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_gather_at *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){.n_phases = 1, .tasks = {(hn_places_count(&p->places) + group - 1) / group}};
}

static void piece(char *to, const char *from, int64_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, (size_t)bytes);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_gather_at *p = call->problem;
    const hn_places *places = &p->places;
    const char *x = call->ptr[HN_GATHER_AT_X];
    const void *index = call->ptr[HN_GATHER_AT_INDEX];
    int32_t *outside = call->ptr[HN_GATHER_AT_OUTSIDE];
    int64_t group = group_of(p), count = hn_places_count(places);
    int64_t last = end * group < count ? end * group : count;
    int64_t row = places->dims[places->rank - 1], step = places->base[places->rank - 1];
    bool bad = false;
    for (int64_t i = begin * group; i < last;) {
        int64_t base = hn_places_base(places, i), stop = i - i % row + row;
        char *to = (char *)call->ptr[HN_GATHER_AT_Y] + i * p->bytes;
        for (; i < stop && i < last; i++, base += step, to += p->bytes) {
            int64_t at;
            if (hn_places_named(places, index, i, &at)) {
                piece(to, x + base + at, p->bytes);
            } else {
                memset(to, 0, (size_t)p->bytes);
                bad = true;
            }
        }
    }
    if (bad && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
}

const hn_kernel hn_gather_at_portable = {
    .name = "portable", .order = "exact", .work = work, .run = run};
