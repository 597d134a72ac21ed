/* The definition of hot_rows: element by element. A task is an element. */
#include <string.h>

#include "kernels/hot_rows/hot_rows.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_hot_rows *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->depth * p->inner}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_hot_rows *p = call->problem;
    const void *index = call->ptr[HN_HOT_ROWS_INDEX];
    const char *values = call->ptr[HN_HOT_ROWS_VALUES];
    for (int64_t t = begin; t < end; t++) {
        int64_t d = t / p->inner % p->depth, k = t / p->inner / p->depth * p->inner + t % p->inner;
        int64_t x = p->wide ? ((const int64_t *)index)[k] : ((const int32_t *)index)[k];
        bool hot = x == d || (x < 0 && x + p->depth == d);
        memcpy((char *)call->ptr[HN_HOT_ROWS_Y] + t * p->bytes, values + (hot ? p->bytes : 0),
               (size_t)p->bytes);
    }
}

const hn_kernel hn_hot_rows_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
