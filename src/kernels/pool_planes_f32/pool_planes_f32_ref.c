/* The definition of pool_planes_f32: in double, one output at a time. A task is an output row. */
#include <math.h>

#include "kernels/pool_f32/pool_f32_window.h"
#include "kernels/pool_planes_f32/pool_planes_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_pool_planes_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->planes * p->oh}};
}

/* The window v by h of a plane; *place: where its largest value lies in it. */
static double reduce(const hn_pool_planes_f32 *p, const float *x, hn_pool_span v, hn_pool_span h,
                     int64_t *place) {
    bool max = p->kind == HN_POOL_F32_MAX;
    double all = max ? -INFINITY : 0;
    *place = -1;
    for (int64_t ky = 0; ky < v.n; ky++)
        for (int64_t kx = 0; kx < h.n; kx++) {
            int64_t row = v.first + ky * p->dh, column = h.first + kx * p->dw;
            double value = (double)x[row * p->x_row + column];
            bool better = *place < 0 || value > all || (isnan(value) && !isnan(all));
            if (better) *place = row * p->w + column;
            if (!max)
                all += value;
            else if (better)
                all = value;
        }
    if (p->kind != HN_POOL_F32_MEAN) return all;
    int64_t count = p->count_pads ? v.counted * h.counted : v.n * h.n;
    return count > 0 ? all / (double)count : 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_planes_f32 *p = call->problem;
    int64_t *places = call->ptr[HN_POOL_PLANES_PLACES];
    for (int64_t t = begin; t < end; t++) {
        int64_t plane = t / p->oh, oy = t % p->oh;
        const float *x = (const float *)call->ptr[HN_POOL_PLANES_X] + plane * p->x_plane;
        float *y = (float *)call->ptr[HN_POOL_PLANES_Y] + plane * p->y_plane + oy * p->y_row;
        hn_pool_span v = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
        for (int64_t ox = 0; ox < p->ow; ox++) {
            hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
            int64_t place;
            y[ox] = (float)reduce(p, x, v, h, &place);
            if (places != NULL)
                places[t * p->ow + ox] = place < 0 ? -1 : plane * p->h * p->w + place;
        }
    }
}

const hn_kernel hn_pool_planes_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};
