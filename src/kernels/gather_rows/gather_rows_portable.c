/* gather_rows by memcpy, pieces of one or two words by themselves. A task is a group of pieces. */
#include <string.h>

#include "kernels/gather_rows/gather_rows.h"

enum { TASK = 32768 }; /* bytes */

static int64_t group_of(const hn_gather_rows *p) {
    return p->bytes < TASK ? TASK / (p->bytes + 1) + 1 : 1;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_gather_rows *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){.n_phases = 1, .tasks = {(p->outer * p->count + group - 1) / group}};
}

/* The place of index i, no less than `least`; *bad is set where there is none. */
static int64_t place(int64_t i, int64_t least, int64_t axis, bool *bad) {
    int64_t at = i < 0 && i >= least ? i + axis : i;
    if (at >= 0 && at < axis) return at;
    *bad = true;
    return at < 0 || axis == 0 ? 0 : axis - 1;
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
    const hn_gather_rows *p = call->problem;
    const char *x = call->ptr[HN_GATHER_X];
    char *y = call->ptr[HN_GATHER_Y];
    const void *index = call->ptr[HN_GATHER_INDEX];
    int32_t *outside = call->ptr[HN_GATHER_OUTSIDE];
    int64_t group = group_of(p), last = p->outer * p->count;
    int64_t least = p->from_start ? 0 : -p->axis;
    bool bad = false;
    if (begin == end) return;
    if (end * group < last) last = end * group;
    int64_t k = begin * group % p->count, o = begin * group / p->count;
    for (int64_t t = begin * group; t < last; t++) {
        int64_t i = p->wide ? ((const int64_t *)index)[k] : ((const int32_t *)index)[k];
        char *to = y + o * p->y_outer + k * p->y_count;
        i = place(i, least, p->axis, &bad);
        if (p->axis == 0)
            memset(to, 0, (size_t)p->bytes);
        else
            piece(to, x + o * p->x_outer + i * p->x_axis, p->bytes);
        if (++k == p->count) k = 0, o++;
    }
    if (bad && outside != NULL) __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
}

const hn_kernel hn_gather_rows_portable = {
    .name = "portable", .order = "exact", .work = work, .run = run};
