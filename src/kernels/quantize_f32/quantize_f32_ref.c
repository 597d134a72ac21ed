/* The definition of quantize_f32. A task is an element or, dynamic, all that share a scale. */
#include "kernels/q8_ref.h"
#include "kernels/quantize_f32/quantize_f32.h"

/* Scales, and elements that follow each other and share one. */
typedef struct groups {
    hn_space lead;
    int64_t count, n;
} groups;

static groups groups_of(const hn_quantize_f32 *p) {
    groups g = {.lead = p->space, .n = 1};
    if (p->dynamic) g.lead.rank = hn_quantize_f32_lead(p);
    g.count = hn_space_count(&g.lead);
    for (int i = g.lead.rank; i < p->space.rank; i++) g.n *= p->space.dims[i];
    return g;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {groups_of(problem).count}};
}

static float element(const hn_call *call, int64_t i) {
    const hn_quantize_f32 *p = call->problem;
    const float *x = call->ptr[HN_QUANTIZE_F32_X];
    return x[hn_space_offset(&p->space, HN_QUANTIZE_F32_X, i)];
}

static void find(const hn_call *call, int64_t first, int64_t n, int64_t at) {
    const hn_quantize_f32 *p = call->problem;
    float lo = 0, hi = 0;
    for (int64_t i = first; i < first + n; i++) {
        float x = element(call, i);
        if (x < lo) lo = x;
        if (x > hi) hi = x;
    }
    float s = lo == hi ? 1.0f : (hi - lo) / 255.0f;
    int32_t z = hn_q8_round(-lo / s, 0, 0, 255);
    ((float *)call->ptr[HN_QUANTIZE_F32_S])[at] = s;
    hn_q8_store(p->type, call->ptr[HN_QUANTIZE_F32_Z], at, z + hn_q8_lowest(p->type));
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_quantize_f32 *p = call->problem;
    groups g = groups_of(p);
    for (int64_t t = begin; t < end; t++) {
        int64_t at_s = hn_space_offset(&g.lead, HN_QUANTIZE_F32_S, t);
        int64_t at_z = hn_space_offset(&g.lead, HN_QUANTIZE_F32_Z, t);
        if (p->dynamic) find(call, t * g.n, g.n, at_s);
        float s = ((const float *)call->ptr[HN_QUANTIZE_F32_S])[at_s];
        const void *zeros = call->ptr[HN_QUANTIZE_F32_Z];
        int32_t z = zeros != NULL ? hn_q8_load(p->type, zeros, at_z) : 0;
        for (int64_t i = t * g.n; i < (t + 1) * g.n; i++)
            hn_q8_store(p->type, call->ptr[HN_QUANTIZE_F32_Y],
                        hn_space_offset(&p->space, HN_QUANTIZE_F32_Y, i),
                        hn_q8_round(element(call, i) / s, z, hn_q8_lowest(p->type),
                                    hn_q8_highest(p->type)));
    }
}

const hn_kernel hn_quantize_f32_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
