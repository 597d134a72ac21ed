/* deform_f32 over the vector vocabulary: vectors run along channels, and where a tap lies is worked
 * out once for all channels of an offset group. A task is an output row. */
#include "kernels/deform_f32/deform_f32_corners.h"
#include "simd/part.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_deform_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->oh}};
}

HN_INLINE void blend_part(const hn_deform_corners *at, const hn_vf *weight, const float *x,
                          hn_vf factor, float *y, int64_t n) {
    hn_vf sum = hn_v_set1(0.0f);
    for (int q = 0; q < at->n; q++)
        sum = hn_v_fma(weight[q], hn_v_load_part(x + at->at[q], n), sum);
    hn_v_store_part(y, hn_v_mul(sum, factor), n);
}

/* y[c] = factor * the weighted sum of x[c] at the corners, for n channels. */
static void blend(const hn_deform_corners *at, double factor, const float *x, float *y, int64_t n) {
    hn_vf weight[4], times = hn_v_set1((float)factor);
    int64_t c = 0;
    for (int q = 0; q < at->n; q++) weight[q] = hn_v_set1((float)at->weight[q]);
    for (; c + HN_VL <= n; c += HN_VL) blend_part(at, weight, x + c, times, y + c, HN_VL);
    if (c < n) blend_part(at, weight, x + c, times, y + c, n - c);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_deform_f32 *p = call->problem;
    int64_t taps = p->kh * p->kw, c = p->c / p->offset_groups;
    for (int64_t task = begin; task < end; task++) {
        int64_t b = task / p->oh, oy = task % p->oh;
        const float *x = (const float *)call->ptr[HN_DEFORM_X] + b * p->x_image;
        float *y = (float *)call->ptr[HN_DEFORM_Y] + task * p->ow * taps * p->c;
        for (int64_t ox = 0; ox < p->ow; ox++)
            for (int64_t k = 0; k < taps; k++)
                for (int64_t g = 0; g < p->offset_groups; g++, y += c) {
                    double factor;
                    hn_deform_corners at =
                        hn_deform_tap(p, call->ptr[HN_DEFORM_OFFSET], call->ptr[HN_DEFORM_MASK], b,
                                      oy, ox, g, k, &factor);
                    blend(&at, factor, x + g * c, y, c);
                }
    }
}

const hn_kernel HN_V_ROW(deform_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};
