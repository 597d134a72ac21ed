/* The definition of conv_planes_f32: sums in double, one output element at a time. A task is an
 * output plane. */
#include "kernels/act_ref.h"
#include "kernels/conv_planes_f32/conv_planes_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_planes_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->n}};
}

/* From the first channel of the group on. */
static double sum(const hn_conv_planes_f32 *p, const float *x, const float *w, int64_t oy,
                  int64_t ox) {
    double s = 0;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t iy = oy * p->sh + ky * p->dh - p->pt;
        if (iy < 0 || iy >= p->h) continue;
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t ix = ox * p->sw + kx * p->dw - p->pl;
            if (ix < 0 || ix >= p->w) continue;
            for (int64_t i = 0; i < p->c / p->groups; i++)
                s += (double)x[i * p->x_channel + iy * p->x_row + ix] *
                     (double)w[i * p->w_i + ky * p->w_y + kx * p->w_x];
        }
    }
    return s;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_planes_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS];
    for (int64_t task = begin; task < end; task++) {
        int64_t b = task / p->n, o = task % p->n, group = o / (p->n / p->groups);
        const float *x = (const float *)call->ptr[HN_CONV_X] + b * p->x_image +
                         group * (p->c / p->groups) * p->x_channel;
        const float *w = (const float *)call->ptr[HN_CONV_W] + o * p->w_o;
        float *y = (float *)call->ptr[HN_CONV_Y] + b * p->y_image + o * p->y_channel;
        for (int64_t oy = 0; oy < p->oh; oy++)
            for (int64_t ox = 0; ox < p->ow; ox++) {
                double s = sum(p, x, w, oy, ox) + (bias != NULL ? (double)bias[o] : 0);
                y[oy * p->y_row + ox * p->y_pixel] = (float)hn_act_ref(&p->act, s);
            }
    }
}

const hn_kernel hn_conv_planes_f32_ref = {
    .name = "ref", .order = "double", .work = work, .run = run};
