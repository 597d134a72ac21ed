/* The definition of lut_q8. A task is an element. */
#include "kernels/lut_q8/lut_q8.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_lut_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_space_count(&p->space)}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_lut_q8 *p = call->problem;
    const uint8_t *x = call->ptr[HN_LUT_Q8_X], *table = call->ptr[HN_LUT_Q8_TABLE];
    uint8_t *y = call->ptr[HN_LUT_Q8_Y];
    for (int64_t t = begin; t < end; t++)
        y[hn_space_offset(&p->space, HN_LUT_Q8_Y, t)] =
            table[x[hn_space_offset(&p->space, HN_LUT_Q8_X, t)]];
}

const hn_kernel hn_lut_q8_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
