/* The definition of gather_rows: byte by byte. A task is a piece. */
#include "kernels/gather_rows/gather_rows.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_gather_rows *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->count}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_gather_rows *p = call->problem;
    const unsigned char *x = call->ptr[HN_GATHER_X];
    unsigned char *y = call->ptr[HN_GATHER_Y];
    const void *index = call->ptr[HN_GATHER_INDEX];
    int32_t *outside = call->ptr[HN_GATHER_OUTSIDE];
    for (int64_t t = begin; t < end; t++) {
        int64_t k = t % p->count, o = t / p->count;
        int64_t i = p->wide ? ((const int64_t *)index)[k] : ((const int32_t *)index)[k];
        int64_t least = p->from_start ? 0 : -p->axis;
        if ((i < least || i >= p->axis) && outside != NULL)
            __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
        if (i < 0) i = i < least ? 0 : i + p->axis;
        if (i >= p->axis) i = p->axis - 1;
        for (int64_t b = 0; b < p->bytes; b++)
            y[o * p->y_outer + k * p->y_count + b] =
                p->axis > 0 ? x[o * p->x_outer + i * p->x_axis + b] : 0;
    }
}

const hn_kernel hn_gather_rows_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
