/* pool_grad_f32 over the vector vocabulary: vectors run along the channels. A task is a vector of
 * channels of an image, which begins as zeros; windows come row by row, and add to it. Windows of 2x2
 * pixels that lie side by side write it instead. */
#include "base/least.h"
#include "kernels/pool_grad_f32/pool_grad_f32.h"
#include "simd/part.h"

static int64_t vectors_of(const hn_pool_grad_f32 *p) { return (p->c + HN_VL - 1) / HN_VL; }

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_pool_grad_f32 *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * vectors_of(p)}};
}

/* What a window reaches. */
typedef struct reach {
    int64_t y0, x0, ylo, yhi, xlo, xhi, n;
} reach;

/* alone: no other window reaches these pixels, and they need not have begun. */
HN_INLINE void add_max(const hn_pool_grad_f32 *p, const reach *r, hn_vf dy, const float *x,
                       float *dx, int64_t width, bool alone) {
    hn_vf most = hn_v_set1(0.0f), at = hn_v_set1(-1.0f), zero = most;
    bool first = true;
    for (int64_t ky = r->ylo; ky < r->yhi; ky++)
        for (int64_t kx = r->xlo; kx < r->xhi; kx++) {
            const float *from =
                x + (r->y0 + ky * p->dh) * p->x_row + (r->x0 + kx * p->dw) * p->x_pixel;
            hn_vf v = hn_v_load_part(from, width), here = hn_v_set1((float)(ky * p->kw + kx));
            hn_vm nan = hn_vm_and(hn_v_isnan(v), hn_vm_not(hn_v_isnan(most)));
            hn_vm more = hn_vm_or(hn_v_gt(v, most), nan);
            most = first ? v : hn_v_select(more, v, most);
            at = first ? here : hn_v_select(more, here, at);
            first = false;
        }
    for (int64_t ky = r->ylo; ky < r->yhi; ky++)
        for (int64_t kx = r->xlo; kx < r->xhi; kx++) {
            float *to = dx + (r->y0 + ky * p->dh) * p->dx_row + (r->x0 + kx * p->dw) * p->dx_pixel;
            hn_vm hit = hn_v_eq(at, hn_v_set1((float)(ky * p->kw + kx)));
            hn_vf before = alone ? zero : hn_v_load_part(to, width);
            hn_v_store_part(to, hn_v_add(before, hn_v_select(hit, dy, zero)), width);
        }
}

HN_INLINE void add_mean(const hn_pool_grad_f32 *p, const reach *r, hn_vf dy, float *dx,
                        int64_t width) {
    hn_vf each = hn_v_mul(dy, hn_v_set1(r->n > 0 ? 1.0f / (float)r->n : 0.0f));
    for (int64_t ky = r->ylo; ky < r->yhi; ky++)
        for (int64_t kx = r->xlo; kx < r->xhi; kx++) {
            float *to = dx + (r->y0 + ky * p->dh) * p->dx_row + (r->x0 + kx * p->dw) * p->dx_pixel;
            hn_v_store_part(to, hn_v_add(hn_v_load_part(to, width), each), width);
        }
}

HN_INLINE void spread(const hn_pool_grad_f32 *p, const float *dy, const float *x, float *dx,
                      int64_t width) {
    for (int64_t i = 0; i < p->h; i++)
        for (int64_t k = 0; k < p->w; k++)
            hn_v_store_part(dx + i * p->dx_row + k * p->dx_pixel, hn_v_set1(0.0f), width);
    for (int64_t oy = 0; oy < p->oh; oy++)
        for (int64_t ox = 0; ox < p->ow; ox++) {
            reach r = {.y0 = oy * p->sh - p->pt, .x0 = ox * p->sw - p->pl};
            r.n = hn_pool_grad_taps(r.y0, p->kh, p->dh, p->h, p->pb, p->count_pads, &r.ylo, &r.yhi);
            r.n *=
                hn_pool_grad_taps(r.x0, p->kw, p->dw, p->w, p->pr, p->count_pads, &r.xlo, &r.xhi);
            hn_vf d = hn_v_load_part(dy + oy * p->y_row + ox * p->y_pixel, width);
            if (p->kind == HN_POOL_GRAD_MAX)
                add_max(p, &r, d, x, dx, width, false);
            else
                add_mean(p, &r, d, dx, width);
        }
}

/* Windows of 2x2 pixels side by side that cover the image. */
static bool in_fours(const hn_pool_grad_f32 *p) {
    return p->kind == HN_POOL_GRAD_MAX && p->kh == 2 && p->kw == 2 && p->sh == 2 && p->sw == 2 &&
           p->dh == 1 && p->dw == 1 && p->pt == 0 && p->pl == 0 && p->h == 2 * p->oh &&
           p->w == 2 * p->ow;
}

HN_INLINE void spread_fours(const hn_pool_grad_f32 *p, const float *dy, const float *x, float *dx,
                            int64_t width) {
    for (int64_t oy = 0; oy < p->oh; oy++)
        for (int64_t ox = 0; ox < p->ow; ox++) {
            const reach r = {.y0 = 2 * oy, .x0 = 2 * ox, .yhi = 2, .xhi = 2};
            hn_vf d = hn_v_load_part(dy + oy * p->y_row + ox * p->y_pixel, width);
            add_max(p, &r, d, x, dx, width, true);
        }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_grad_f32 *p = call->problem;
    for (int64_t t = begin; t < end; t++) {
        int64_t b = t / vectors_of(p), c = t % vectors_of(p) * HN_VL;
        const float *dy = (const float *)call->ptr[HN_POOL_GRAD_DY] + b * p->y_image + c;
        const float *x = call->ptr[HN_POOL_GRAD_X];
        float *dx = (float *)call->ptr[HN_POOL_GRAD_DX] + b * p->dx_image + c;
        if (x != NULL) x += b * p->x_image + c;
        bool fours = in_fours(p);
        if (fours && p->c - c >= HN_VL)
            spread_fours(p, dy, x, dx, HN_VL);
        else if (fours)
            spread_fours(p, dy, x, dx, p->c - c);
        else if (p->c - c >= HN_VL)
            spread(p, dy, x, dx, HN_VL);
        else
            spread(p, dy, x, dx, p->c - c);
    }
}

const hn_kernel HN_V_ROW(pool_grad_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};
