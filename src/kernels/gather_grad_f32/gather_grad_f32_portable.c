/* gather_grad_f32: zeros first, then every row is added where it belongs. A task of the second phase
 * is a range of the columns, in which all rows are gone through in order. */
#include <string.h>

#include "base/least.h"
#include "kernels/gather_grad_f32/gather_grad_f32.h"

enum { ZEROS = 16384, COLUMNS = 64 }; /* floats of a task */

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_gather_grad_f32 *p = problem;
    int64_t ranges = p->outer * ((p->n + COLUMNS - 1) / COLUMNS);
    int64_t zeros = (p->outer * p->axis * p->n + ZEROS - 1) / ZEROS;
    *w = (hn_work){.n_phases = 2, .tasks = {zeros, ranges, ranges, ranges}};
}

static void add_columns(const hn_call *call, int64_t o, int64_t first) {
    const hn_gather_grad_f32 *p = call->problem;
    const float *dy = (const float *)call->ptr[HN_GATHER_GRAD_DY] + o * p->count * p->n + first;
    float *dx = (float *)call->ptr[HN_GATHER_GRAD_DX] + o * p->axis * p->n + first;
    int64_t n = hn_least(COLUMNS, p->n - first);
    for (int64_t k = 0; k < p->count; k++) {
        int64_t at = hn_gather_grad_at(p, call->ptr[HN_GATHER_GRAD_INDEX], k);
        if (at < 0) continue;
        for (int64_t i = 0; i < n; i++) dx[at * p->n + i] += dy[k * p->n + i];
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)lane;
    const hn_gather_grad_f32 *p = call->problem;
    int64_t ranges = (p->n + COLUMNS - 1) / COLUMNS, all = p->outer * p->axis * p->n;
    if (phase == 0 && begin < end)
        memset((float *)call->ptr[HN_GATHER_GRAD_DX] + begin * ZEROS, 0,
               (size_t)(hn_least(end * ZEROS, all) - begin * ZEROS) * sizeof(float));
    for (int64_t t = begin; t < end && phase == 1; t++)
        add_columns(call, t / ranges, t % ranges * COLUMNS);
}

const hn_kernel hn_gather_grad_f32_portable = {
    .name = "portable", .order = "in order", .work = work, .run = run};
