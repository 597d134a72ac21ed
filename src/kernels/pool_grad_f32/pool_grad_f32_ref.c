/* The definition, in double. A task is a channel of an image. */
#include <math.h>

#include "kernels/pool_grad_f32/pool_grad_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_pool_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->batch * p->c},
                   .lane_scratch = (size_t)(p->h * p->w) * sizeof(double)};
}

/* The window at oy, ox of a plane. */
static void add_window(const hn_pool_grad_f32 *p, const float *x, double dy, int64_t oy, int64_t ox,
                       double *sum) {
    int64_t y0 = oy * p->sh - p->pt, x0 = ox * p->sw - p->pl, ylo, yhi, xlo, xhi, best = -1;
    int64_t n = hn_pool_grad_taps(y0, p->kh, p->dh, p->h, p->pb, p->count_pads, &ylo, &yhi) *
                hn_pool_grad_taps(x0, p->kw, p->dw, p->w, p->pr, p->count_pads, &xlo, &xhi);
    float most = -INFINITY;
    for (int64_t ky = ylo; ky < yhi; ky++)
        for (int64_t kx = xlo; kx < xhi; kx++) {
            int64_t iy = y0 + ky * p->dh, ix = x0 + kx * p->dw;
            if (p->kind == HN_POOL_GRAD_MEAN) {
                sum[iy * p->w + ix] += dy / (double)n;
                continue;
            }
            float v = x[iy * p->x_row + ix * p->x_pixel];
            if (best < 0 || v > most || (isnan(v) && !isnan(most))) {
                most = v;
                best = iy * p->w + ix;
            }
        }
    if (best >= 0) sum[best] += dy;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_pool_grad_f32 *p = call->problem;
    double *sum = lane;
    for (int64_t t = begin; t < end; t++) {
        int64_t b = t / p->c, c = t % p->c;
        const float *dy = (const float *)call->ptr[HN_POOL_GRAD_DY] + b * p->y_image + c;
        const float *x = call->ptr[HN_POOL_GRAD_X];
        float *dx = (float *)call->ptr[HN_POOL_GRAD_DX] + b * p->dx_image + c;
        if (x != NULL) x += b * p->x_image + c;
        for (int64_t i = 0; i < p->h * p->w; i++) sum[i] = 0;
        for (int64_t oy = 0; oy < p->oh; oy++)
            for (int64_t ox = 0; ox < p->ow; ox++)
                add_window(p, x, (double)dy[oy * p->y_row + ox * p->y_pixel], oy, ox, sum);
        for (int64_t i = 0; i < p->h; i++)
            for (int64_t k = 0; k < p->w; k++)
                dx[i * p->dx_row + k * p->dx_pixel] = (float)sum[i * p->w + k];
    }
}

const hn_kernel hn_pool_grad_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
