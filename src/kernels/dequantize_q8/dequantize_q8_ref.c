/* The definition of dequantize_q8. A task is an element. */
#include "kernels/dequantize_q8/dequantize_q8.h"
#include "kernels/q8_ref.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_dequantize_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_space_count(&p->space)}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_dequantize_q8 *p = call->problem;
    const hn_space *s = &p->space;
    const void *x = call->ptr[HN_DEQUANTIZE_Q8_X], *z = call->ptr[HN_DEQUANTIZE_Q8_Z];
    const float *scale = call->ptr[HN_DEQUANTIZE_Q8_S];
    float *y = call->ptr[HN_DEQUANTIZE_Q8_Y];
    for (int64_t t = begin; t < end; t++) {
        uint32_t v = (uint32_t)hn_q8_load(p->type, x, hn_space_offset(s, HN_DEQUANTIZE_Q8_X, t));
        if (z != NULL)
            v -= (uint32_t)hn_q8_load(p->type, z, hn_space_offset(s, HN_DEQUANTIZE_Q8_Z, t));
        y[hn_space_offset(s, HN_DEQUANTIZE_Q8_Y, t)] =
            (float)(int32_t)v * scale[hn_space_offset(s, HN_DEQUANTIZE_Q8_S, t)];
    }
}

const hn_kernel hn_dequantize_q8_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
