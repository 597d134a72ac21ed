/* The definition of norm_f32, in double. A task is a row. */
#include <math.h>

#include "kernels/act_ref.h"
#include "kernels/norm_f32/norm_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_norm_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->rows}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_norm_f32 *p = call->problem;
    const float *offset = call->ptr[HN_NORM_OFFSET], *scale = call->ptr[HN_NORM_SCALE];
    const float *bias = call->ptr[HN_NORM_BIAS], *r = call->ptr[HN_NORM_R];
    float *out = call->ptr[HN_NORM_SUM];
    for (int64_t t = begin; t < end; t++) {
        const float *x = (const float *)call->ptr[HN_NORM_X] + t * p->x_row;
        float *y = (float *)call->ptr[HN_NORM_Y] + t * p->y_row;
        int64_t row = p->r_rows > 0 ? t % p->r_rows : t;
        double mean = 0, square = 0;
#define TERM(i)                                                         \
    ((double)x[i] + (r != NULL ? (double)r[row * p->r_row + (i)] : 0) + \
     (offset != NULL ? (double)offset[i] : 0))
        for (int64_t i = 0; i < p->n && !p->rms; i++) mean += TERM(i);
        mean /= (double)p->n;
        for (int64_t i = 0; i < p->n; i++) square += (TERM(i) - mean) * (TERM(i) - mean);
        double size = sqrt(square / (double)p->n + (double)p->epsilon) + (double)p->outside;
        for (int64_t i = 0; i < p->n; i++) {
            double v = TERM(i), z = (v - mean) / size;
            int64_t number = p->row_scales > 0 ? t % p->row_scales : i;
            if (scale != NULL) z *= (double)scale[number];
            if (bias != NULL) z += (double)bias[number];
            if (out != NULL) out[t * p->sum_row + i] = (float)v;
            y[i] = (float)hn_act_ref(&p->act, z);
        }
#undef TERM
    }
}

const hn_kernel hn_norm_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
