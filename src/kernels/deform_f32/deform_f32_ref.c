/* The definition of deform_f32: sums in double, one number at a time. A task is an output pixel. */
#include "kernels/deform_f32/deform_f32_corners.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_deform_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->oh * p->ow}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_deform_f32 *p = call->problem;
    int64_t taps = p->kh * p->kw;
    for (int64_t t = begin; t < end; t++) {
        int64_t ox = t % p->ow, oy = t / p->ow % p->oh, b = t / p->ow / p->oh;
        const float *x = (const float *)call->ptr[HN_DEFORM_X] + b * p->x_image;
        for (int64_t i = 0; i < taps * p->c; i++) {
            int64_t k = i / p->c, c = i % p->c;
            double sum = 0, factor;
            hn_deform_corners at =
                hn_deform_tap(p, call->ptr[HN_DEFORM_OFFSET], call->ptr[HN_DEFORM_MASK], b, oy, ox,
                              c * p->offset_groups / p->c, k, &factor);
            for (int q = 0; q < at.n; q++) sum += at.weight[q] * (double)x[at.at[q] + c];
            ((float *)call->ptr[HN_DEFORM_Y])[t * taps * p->c + i] = (float)(sum * factor);
        }
    }
}

const hn_kernel hn_deform_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
