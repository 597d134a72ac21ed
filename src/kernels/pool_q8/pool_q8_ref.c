/* The definition of pool_q8: one output element at a time. A task is an output pixel. */
#include "kernels/pool_f32/pool_f32_window.h"
#include "kernels/pool_q8/pool_q8.h"
#include "kernels/q8_ref.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_pool_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->oh * p->ow}};
}

static int32_t reduce(const hn_pool_q8 *p, const void *x, int64_t image, hn_pool_span v,
                      hn_pool_span h) {
    int32_t most = hn_q8_lowest(p->x), sum = 0;
    for (int64_t ky = 0; ky < v.n; ky++)
        for (int64_t kx = 0; kx < h.n; kx++) {
            int64_t at = (v.first + ky * p->dh) * p->x_row + (h.first + kx * p->dw) * p->x_pixel;
            int32_t value = hn_q8_load(p->x, x, image + at);
            if (value > most) most = value;
            sum = (int32_t)((uint32_t)sum + (uint32_t)(value - p->xz));
        }
    if (p->kind == HN_POOL_Q8_MAX) return most;
    int64_t count = p->count_pads ? v.counted * h.counted : v.n * h.n;
    float m = p->sx / (p->sy * (float)(count > 0 ? count : 1));
    return hn_q8_round((float)sum * m, p->yz, p->lo, p->hi);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_q8 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        int64_t ox = t % p->ow, oy = t / p->ow % p->oh, b = t / p->ow / p->oh;
        hn_pool_span v = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
        hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
        int64_t y = b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        for (int64_t c = 0; c < p->c; c++)
            hn_q8_store(p->y, call->ptr[HN_POOL_Q8_Y], y + c,
                        reduce(p, call->ptr[HN_POOL_Q8_X], b * p->x_image + c, v, h));
    }
}

const hn_kernel hn_pool_q8_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
