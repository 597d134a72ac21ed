/* The definition of pool_f32: in double, one output element at a time. A task is an output pixel.
 */
#include <math.h>

#include "base/dtype.h"
#include "kernels/pool_f32/pool_f32.h"
#include "kernels/pool_f32/pool_f32_window.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_pool_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->oh * p->ow}};
}

static double load(const hn_pool_f32 *p, const void *x, int64_t at) {
    if (p->x_type == HN_FLOAT_BF16) return (double)hn_bf16_to_f32(((const uint16_t *)x)[at]);
    return (double)((const float *)x)[at];
}

static void store(const hn_pool_f32 *p, void *y, int64_t at, double v) {
    if (p->y_type == HN_FLOAT_BF16)
        ((uint16_t *)y)[at] = hn_bf16_from_f64((double)(float)v);
    else
        ((float *)y)[at] = (float)v;
}

/* From element `at` of x on. */
static double reduce(const hn_pool_f32 *p, const void *x, int64_t at, hn_pool_span v,
                     hn_pool_span h) {
    double all = p->kind == HN_POOL_F32_MAX ? -INFINITY : 0;
    for (int64_t ky = 0; ky < v.n; ky++)
        for (int64_t kx = 0; kx < h.n; kx++) {
            double value = load(
                p, x, at + (v.first + ky * p->dh) * p->x_row + (h.first + kx * p->dw) * p->x_pixel);
            if (p->kind != HN_POOL_F32_MAX)
                all += value;
            else if (value > all || isnan(value))
                all = value;
        }
    if (p->kind != HN_POOL_F32_MEAN) return all;
    int64_t count = p->count_pads ? v.counted * h.counted : v.n * h.n;
    return count > 0 ? all / (double)count : 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_f32 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        int64_t ox = t % p->ow, oy = t / p->ow % p->oh, b = t / p->ow / p->oh;
        hn_pool_span v = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
        hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
        int64_t to = b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        for (int64_t c = 0; c < p->c; c++)
            store(p, call->ptr[HN_POOL_F32_Y], to + c,
                  reduce(p, call->ptr[HN_POOL_F32_X], b * p->x_image + c, v, h));
    }
}

const hn_kernel hn_pool_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
