/* The definition, in double. A task is a channel. */
#include <math.h>

#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_batch_norm_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {p->c}};
}

static double gated(const hn_batch_norm_grad_f32 *p, const float *dy, const float *gate,
                    int64_t k) {
    if (gate != NULL && !(gate[k * p->gate_pixel] > 0)) return 0;
    if (gate != NULL && p->limit > 0 && gate[k * p->gate_pixel] >= p->limit) return 0;
    return (double)dy[k * p->dy_pixel];
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_batch_norm_grad_f32 *p = call->problem;
    float *const *ptr = (float *const *)call->ptr;
    for (int64_t i = begin; i < end; i++) {
        const float *dy = ptr[HN_BNG_DY] + i, *x = ptr[HN_BNG_X] + i;
        const float *gate = ptr[HN_BNG_GATE] != NULL ? ptr[HN_BNG_GATE] + i : NULL;
        double mean = (double)ptr[HN_BNG_MEAN][i], db = 0, ds = 0, n = (double)p->n;
        double r = 1 / sqrt((double)ptr[HN_BNG_VAR][i] + (double)p->epsilon);
        for (int64_t k = 0; k < p->n; k++) {
            double d = gated(p, dy, gate, k);
            db += d;
            ds += d * ((double)x[k * p->x_pixel] - mean) * r;
        }
        if (ptr[HN_BNG_DB] != NULL) ptr[HN_BNG_DB][i] = (float)db;
        if (ptr[HN_BNG_DS] != NULL) ptr[HN_BNG_DS][i] = (float)ds;
        double a = (double)ptr[HN_BNG_SCALE][i] * r;
        for (int64_t k = 0; ptr[HN_BNG_DX] != NULL && k < p->n; k++) {
            double xhat = ((double)x[k * p->x_pixel] - mean) * r;
            ptr[HN_BNG_DX][k * p->dx_pixel + i] =
                (float)(a * (gated(p, dy, gate, k) - db / n - xhat * ds / n));
        }
    }
}

const hn_kernel hn_batch_norm_grad_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};
