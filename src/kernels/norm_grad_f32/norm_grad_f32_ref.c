/* The definition, in double: the mean and deviation of each row, sums over the rows, then the rows;
 * dx may be dy, so that it comes last. */
#include <math.h>

#include "kernels/norm_grad_f32/norm_grad_f32.h"

typedef struct moments {
    double mean, r;
} moments;

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_norm_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 3,
                   .tasks = {p->rows, p->n, p->rows, p->rows},
                   .scratch = (size_t)p->rows * sizeof(moments)};
}

static moments moments_of(const hn_norm_grad_f32 *p, const float *x) {
    double mean = 0, var = 0;
    for (int64_t i = 0; !p->rms && i < p->n; i++) mean += (double)x[i] / (double)p->n;
    for (int64_t i = 0; i < p->n; i++) {
        double d = (double)x[i] - mean;
        var += d * d / (double)p->n;
    }
    return (moments){mean, 1 / sqrt(var + (double)p->epsilon)};
}

static void run_row(const hn_call *call, int64_t row) {
    const hn_norm_grad_f32 *p = call->problem;
    const float *dy = (const float *)call->ptr[HN_NORM_GRAD_DY] + row * p->dy_row;
    const float *x = (const float *)call->ptr[HN_NORM_GRAD_X] + row * p->x_row;
    const float *scale = call->ptr[HN_NORM_GRAD_SCALE];
    float *dx = call->ptr[HN_NORM_GRAD_DX];
    moments m = moments_of(p, x);
    double sum = 0, along = 0, n = (double)p->n;
    for (int64_t i = 0; i < p->n; i++) {
        double g = (double)dy[i] * (double)scale[i];
        if (!p->rms) sum += g;
        along += g * ((double)x[i] - m.mean) * m.r;
    }
    for (int64_t i = 0; dx != NULL && i < p->n; i++) {
        double g = (double)dy[i] * (double)scale[i], xhat = ((double)x[i] - m.mean) * m.r;
        dx[row * p->dx_row + i] = (float)(m.r * (g - sum / n - xhat * along / n));
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)lane;
    const hn_norm_grad_f32 *p = call->problem;
    float *ds = call->ptr[HN_NORM_GRAD_DS], *db = call->ptr[HN_NORM_GRAD_DB];
    for (int64_t t = begin; t < end && phase == 0; t++)
        ((moments *)call->scratch)[t] =
            moments_of(p, (const float *)call->ptr[HN_NORM_GRAD_X] + t * p->x_row);
    for (int64_t i = begin; i < end && phase == 1; i++) {
        double along = 0, sum = 0;
        for (int64_t row = 0; row < p->rows; row++) {
            moments m = ((const moments *)call->scratch)[row];
            double dy = (double)((const float *)call->ptr[HN_NORM_GRAD_DY])[row * p->dy_row + i];
            double x = (double)((const float *)call->ptr[HN_NORM_GRAD_X])[row * p->x_row + i];
            sum += dy;
            along += dy * (x - m.mean) * m.r;
        }
        if (ds != NULL) ds[i] = (float)along;
        if (db != NULL) db[i] = (float)sum;
    }
    for (int64_t t = begin; t < end && phase == 2; t++) run_row(call, t);
}

const hn_kernel hn_norm_grad_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
