/* The definition, with sums in double. A task is a row of dx. */
#include "kernels/gather_grad_f32/gather_grad_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_gather_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {p->outer * p->axis}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_gather_grad_f32 *p = call->problem;
    const float *dy = call->ptr[HN_GATHER_GRAD_DY];
    float *dx = call->ptr[HN_GATHER_GRAD_DX];
    for (int64_t t = begin; t < end; t++)
        for (int64_t i = 0; i < p->n; i++) {
            double sum = 0;
            for (int64_t k = 0; k < p->count; k++)
                if (hn_gather_grad_at(p, call->ptr[HN_GATHER_GRAD_INDEX], k) == t % p->axis)
                    sum += (double)dy[(t / p->axis * p->count + k) * p->n + i];
            dx[t * p->n + i] = (float)sum;
        }
}

const hn_kernel hn_gather_grad_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};
