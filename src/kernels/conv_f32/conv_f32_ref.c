/* The definition of conv_f32: sums in double, one output element at a time. A task is an output
 * pixel. */
#include "base/dtype.h"
#include "kernels/act_ref.h"
#include "kernels/conv_f32/conv_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->oh * p->ow}};
}

static double load(const void *from, hn_float type, int64_t at) {
    if (type == HN_FLOAT_BF16) return (double)hn_bf16_to_f32(((const uint16_t *)from)[at]);
    return (double)((const float *)from)[at];
}

static void store(void *to, hn_float type, int64_t at, double v) {
    if (type == HN_FLOAT_BF16)
        ((uint16_t *)to)[at] = hn_bf16_from_f64((double)(float)v);
    else
        ((float *)to)[at] = (float)v;
}

/* From channel `at` of x on. */
static double sum(const hn_conv_f32 *p, const void *x, int64_t at, const float *w, int64_t oy,
                  int64_t ox) {
    double s = 0;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t iy = oy * p->sh + ky * p->dh - p->pt;
        if (iy < 0 || iy >= p->h) continue;
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t ix = ox * p->sw + kx * p->dw - p->pl;
            if (ix < 0 || ix >= p->w) continue;
            int64_t px = at + iy * p->x_row + ix * p->x_pixel;
            const float *pw = w + ky * p->w_y + kx * p->w_x;
            for (int64_t i = 0; i < p->c / p->groups; i++)
                s += load(x, p->x_type, px + i * p->x_channel) * (double)pw[i * p->w_i];
        }
    }
    return s;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    const float *w = call->ptr[HN_CONV_W], *bias = call->ptr[HN_CONV_BIAS];
    const void *x = call->ptr[HN_CONV_X], *r = call->ptr[HN_CONV_R];
    void *y = call->ptr[HN_CONV_Y];
    int64_t group_in = p->c / p->groups, group_out = p->n / p->groups;
    for (int64_t t = begin; t < end; t++) {
        int64_t ox = t % p->ow, oy = t / p->ow % p->oh, b = t / p->ow / p->oh;
        int64_t out = b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        int64_t rest = b * p->r_image + oy * p->r_row + ox * p->r_pixel;
        for (int64_t o = 0; o < p->n; o++) {
            int64_t at = b * p->x_image + o / group_out * group_in * p->x_channel;
            double s = sum(p, x, at, w + o * p->w_o, oy, ox);
            if (bias != NULL) s += (double)bias[o];
            if (r != NULL) s += load(r, p->r_type, rest + o);
            store(y, p->y_type, out + o, hn_act_ref(&p->act, s));
        }
    }
}

const hn_kernel hn_conv_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
