/* The definition of scatter_at: element by element. One task, since order matters. */
#include <math.h>

#include "kernels/scatter_at/scatter_at.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)problem, (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {1}};
}

static float combine_f32(hn_scatter_op op, float a, float b) {
    switch (op) {
        case HN_SCATTER_ADD: return a + b;
        case HN_SCATTER_MUL: return a * b;
        case HN_SCATTER_MAX: return isnan(a) || a > b ? a : b;
        case HN_SCATTER_MIN: return isnan(a) || a < b ? a : b;
        case HN_SCATTER_SET: break;
    }
    return b;
}

static int64_t combine_s64(hn_scatter_op op, int64_t a, int64_t b) {
    switch (op) {
        case HN_SCATTER_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
        case HN_SCATTER_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
        case HN_SCATTER_MAX: return a > b ? a : b;
        case HN_SCATTER_MIN: return a < b ? a : b;
        case HN_SCATTER_SET: break;
    }
    return b;
}

static void put(const hn_scatter_at *p, void *y, const void *u, int64_t k) {
    if (p->op == HN_SCATTER_SET)
        hn_copy_element(p->dtype, y, 0, u, k);
    else if (p->dtype == HONE_DTYPE_F32)
        *(float *)y = combine_f32(p->op, *(float *)y, ((const float *)u)[k]);
    else
        hn_store_s64(p->dtype, y, 0,
                     combine_s64(p->op, hn_load_s64(p->dtype, y, 0), hn_load_s64(p->dtype, u, k)));
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_scatter_at *p = call->problem;
    char *y = call->ptr[HN_SCATTER_AT_Y];
    int32_t *outside = call->ptr[HN_SCATTER_AT_OUTSIDE];
    int64_t bytes = hone_dtype_bits(p->dtype) / 8, n = hn_places_count(&p->places);
    for (int64_t i = 0; begin < end && i < n; i++) {
        int64_t at;
        if (hn_places_named(&p->places, call->ptr[HN_SCATTER_AT_INDEX], i, &at)) {
            at += hn_places_base(&p->places, i);
            for (int64_t k = 0; k < p->count; k++)
                put(p, y + at + k * bytes, call->ptr[HN_SCATTER_AT_U], i * p->count + k);
        } else if (outside != NULL) {
            __atomic_store_n(outside, 1, __ATOMIC_RELAXED);
        }
    }
}

const hn_kernel hn_scatter_at_ref = {.name = "ref", .order = "sequence", .work = work, .run = run};
