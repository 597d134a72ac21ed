/* hot_rows: all of it is made values[0], by doubling, then the hot elements are set. A task is an
 * outer line's depth * inner elements, or several where these are few. */
#include <string.h>

#include "kernels/hot_rows/hot_rows.h"

enum { TASK = 32768 }; /* bytes */

static int64_t group_of(const hn_hot_rows *p) {
    int64_t bytes = p->depth * p->inner * p->bytes;
    return bytes < TASK ? TASK / (bytes + 1) + 1 : 1;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_hot_rows *p = problem;
    (void)lanes;
    int64_t group = group_of(p);
    *w = (hn_work){.n_phases = 1, .tasks = {(p->outer + group - 1) / group}};
}

static void fill(char *y, const char *value, size_t bytes, size_t all) {
    if (all == 0) return;
    memcpy(y, value, bytes);
    for (size_t done = bytes; done < all; done *= 2)
        memcpy(y + done, y, all - done < done ? all - done : done);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_hot_rows *p = call->problem;
    const void *index = call->ptr[HN_HOT_ROWS_INDEX];
    const char *values = call->ptr[HN_HOT_ROWS_VALUES];
    int64_t group = group_of(p), line = p->depth * p->inner * p->bytes;
    int64_t first = begin * group, last = end * group < p->outer ? end * group : p->outer;
    char *y = (char *)call->ptr[HN_HOT_ROWS_Y] + first * line;
    if (first >= last) return;
    fill(y, values, (size_t)p->bytes, (size_t)((last - first) * line));
    for (int64_t k = first * p->inner; k < last * p->inner; k++) {
        int64_t x = p->wide ? ((const int64_t *)index)[k] : ((const int32_t *)index)[k];
        int64_t o = k / p->inner - first, i = k % p->inner;
        if (x < 0) x += p->depth;
        if (x >= 0 && x < p->depth)
            memcpy(y + o * line + (x * p->inner + i) * p->bytes, values + p->bytes,
                   (size_t)p->bytes);
    }
}

const hn_kernel hn_hot_rows_portable = {
    .name = "portable", .order = "exact", .work = work, .run = run};
