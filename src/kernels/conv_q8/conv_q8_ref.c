/* The definition of conv_q8, one output element at a time. A task is an output pixel. */
#include <math.h>

#include "kernels/act_ref.h"
#include "kernels/conv_q8/conv_q8.h"
#include "kernels/q8_ref.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * p->oh * p->ow}};
}

static int32_t element(const void *base, hn_q8_type type, int64_t i) {
    return type == HN_Q8_U8 ? ((const uint8_t *)base)[i] : ((const int8_t *)base)[i];
}

typedef struct operands {
    const void *x, *w;
    const int32_t *wz, *bias;
    const float *m, *fbias, *ys;
    const void *r;
    void *y;
    float xs;
    int32_t xz;
} operands;

/* Unsigned, so that it wraps. */
static uint32_t sum(const hn_conv_q8 *p, const operands *a, int64_t image, int64_t oy, int64_t ox,
                    int64_t o) {
    int64_t group_in = p->c / p->groups, first = o / (p->n / p->groups) * group_in;
    int32_t wz = a->wz != NULL ? a->wz[o] : p->w_type == HN_Q8_U8 ? 128 : 0;
    uint32_t s = a->bias != NULL ? (uint32_t)a->bias[o] : 0;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t iy = oy * p->sh + ky * p->dh - p->pt;
        if (iy < 0 || iy >= p->h) continue;
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t ix = ox * p->sw + kx * p->dw - p->pl;
            if (ix < 0 || ix >= p->w) continue;
            int64_t px = image * p->x_image + iy * p->x_row + ix * p->x_pixel + first;
            int64_t pw = o * p->w_o + ky * p->w_y + kx * p->w_x;
            for (int64_t i = 0; i < group_in; i++)
                s += (uint32_t)((element(a->x, p->x, px + i) - a->xz) *
                                (element(a->w, p->w_type, pw + i * p->w_i) - wz));
        }
    }
    return s;
}

static int32_t clamp(int64_t v, int32_t lo, int32_t hi) {
    return v < lo ? lo : v > hi ? hi : (int32_t)v;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_q8 *p = call->problem;
    void *const *ptr = call->ptr;
    operands a = {ptr[HN_CONV_Q8_X],    ptr[HN_CONV_Q8_W], ptr[HN_CONV_Q8_WZ],
                  ptr[HN_CONV_Q8_BIAS], ptr[HN_CONV_Q8_M], ptr[HN_CONV_Q8_FBIAS],
                  ptr[HN_CONV_Q8_YS],   ptr[HN_CONV_Q8_R], ptr[HN_CONV_Q8_Y],
                  .xs = 1.0F,           .xz = p->xz};
    if (ptr[HN_CONV_Q8_XS] != NULL) a.xs = *(const float *)ptr[HN_CONV_Q8_XS];
    if (ptr[HN_CONV_Q8_XZ] != NULL) a.xz = element(ptr[HN_CONV_Q8_XZ], p->x, 0);
    for (int64_t t = begin; t < end; t++) {
        int64_t ox = t % p->ow, oy = t / p->ow % p->oh, b = t / p->ow / p->oh;
        int64_t y_at = b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        int64_t r_at = b * p->r_image + oy * p->r_row + ox * p->r_pixel;
        for (int64_t o = 0; o < p->n; o++) {
            int32_t acc = (int32_t)sum(p, &a, b, oy, ox, o);
            float m = a.m != NULL ? a.m[o] : 1.0F, v;
            if (hn_conv_q8_has_floats(p)) {
                v = (float)acc * (a.xs * m);
                if (a.fbias != NULL) v = v + a.fbias[o];
                if (a.r != NULL) v = v + ((const float *)a.r)[r_at + o];
                v = (float)hn_act_ref(&p->act, (double)v);
                if (p->y == HN_Q8_F32)
                    ((float *)a.y)[y_at + o] = v;
                else
                    hn_q8_store(
                        p->y, a.y, y_at + o,
                        hn_q8_round(v / (a.ys != NULL ? a.ys[o] : p->ys), p->yz, p->lo, p->hi));
                continue;
            }
            switch (p->y) {
                case HN_Q8_F32: break;
                case HN_Q8_S32: ((int32_t *)a.y)[y_at + o] = acc; break;
                case HN_Q8_U8:
                case HN_Q8_S8:
                    v = (float)acc * m;
                    if (a.r != NULL && p->twice) {
                        float most = fmaxf(rintf(v), (float)p->lo1);
                        v = fminf(most, (float)p->hi1) * p->m1;
                    }
                    if (a.r != NULL)
                        v = v + (float)(element(a.r, p->r_type, r_at + o) - p->rz) * p->mr;
                    v = v < -0x1p31F ? -0x1p31F : v > 0x1p31F ? 0x1p31F : v;
                    /* Two's complement is the same byte in both types. */
                    ((uint8_t *)a.y)[y_at + o] =
                        (uint8_t)clamp((int64_t)rintf(v) + p->yz, p->lo, p->hi);
                    break;
            }
        }
    }
}

const hn_kernel hn_conv_q8_ref = {.name = "ref", .order = "exact", .work = work, .run = run};
