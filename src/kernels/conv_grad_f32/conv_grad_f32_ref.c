/* The definition: sums in double. A task is a channel of dy. */
#include "kernels/conv_grad_f32/conv_grad_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_conv_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {p->n}};
}

static double sum_of(const hn_conv_grad_f32 *p, const float *x, const float *dy, int64_t ky,
                     int64_t kx) {
    double sum = 0;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t oy = 0; oy < p->oh; oy++)
            for (int64_t ox = 0; ox < p->ow; ox++) {
                int64_t iy = oy * p->sh + ky * p->dh - p->pt, ix = ox * p->sw + kx * p->dw - p->pl;
                bool inside = iy >= 0 && iy < p->h && ix >= 0 && ix < p->w;
                float v = inside ? x[b * p->x_image + iy * p->x_row + ix * p->x_pixel] : 0;
                sum += (double)dy[b * p->y_image + oy * p->y_row + ox * p->y_pixel] * (double)v;
            }
    return sum;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_grad_f32 *p = call->problem;
    const float *x = call->ptr[HN_CONV_GRAD_X], *dy = call->ptr[HN_CONV_GRAD_DY];
    float *dw = call->ptr[HN_CONV_GRAD_DW];
    int64_t per = p->c / p->groups;
    for (int64_t o = begin; o < end; o++)
        for (int64_t i = 0; i < per; i++)
            for (int64_t ky = 0; ky < p->kh; ky++)
                for (int64_t kx = 0; kx < p->kw; kx++)
                    dw[o * p->w_o + i * p->w_i + ky * p->w_y + kx * p->w_x] =
                        (float)sum_of(p, x + (o / (p->n / p->groups) * per + i), dy + o, ky, kx);
}

const hn_kernel hn_conv_grad_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
