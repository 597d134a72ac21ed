/* The definition of copy. A task is a run of the innermost axis. */
#include <string.h>

#include "kernels/copy/copy.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_copy *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
    for (int i = 0; i + 1 < p->rank; i++) w->tasks[0] *= p->dims[i];
    if (p->rank > 0 && p->dims[p->rank - 1] == 0) w->tasks[0] = 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_copy *p = call->problem;
    const char *src = call->ptr[HN_COPY_SRC];
    char *dst = call->ptr[HN_COPY_DST];
    int64_t size = (int64_t)p->size, inner = p->rank - 1;
    int64_t n = p->rank > 0 ? p->dims[inner] : 1;
    int64_t ss = p->rank > 0 ? p->src[inner] : 1, ds = p->rank > 0 ? p->dst[inner] : 1;
    for (int64_t t = begin; t < end; t++) {
        int64_t s = 0, d = 0, rest = t;
        for (int64_t i = inner - 1; i >= 0; i--) {
            s += rest % p->dims[i] * p->src[i];
            d += rest % p->dims[i] * p->dst[i];
            rest /= p->dims[i];
        }
        if (ss == 1 && ds == 1) {
            memcpy(dst + d * size, src + s * size, (size_t)(n * size));
            continue;
        }
        for (int64_t k = 0; k < n; k++)
            memcpy(dst + (d + k * ds) * size, src + (s + k * ss) * size, p->size);
    }
}

const hn_kernel hn_copy_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
