/* The definition of mean_planes_q8. A task is a plane. */
#include "kernels/mean_planes_q8/mean_planes_q8.h"
#include "kernels/q8_ref.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_mean_planes_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->planes}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_mean_planes_q8 *p = call->problem;
    float m = p->sx / (p->sy * (float)p->size);
    for (int64_t plane = begin; plane < end; plane++) {
        uint32_t sum = 0;
        for (int64_t i = 0; i < p->size; i++) {
            int32_t value = hn_q8_load(p->x, call->ptr[HN_MEAN_PLANES_X], plane * p->size + i);
            sum += (uint32_t)(value - p->xz);
        }
        hn_q8_store(p->y, call->ptr[HN_MEAN_PLANES_Y], plane,
                    hn_q8_round((float)(int32_t)sum * m, p->yz, p->lo, p->hi));
    }
}

const hn_kernel hn_mean_planes_q8_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
