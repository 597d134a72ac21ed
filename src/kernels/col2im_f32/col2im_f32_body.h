/* col2im_f32 over the vector vocabulary: a tap adds rows of windows to rows of the plane, by
 * vectors where the windows are one pixel apart. A task is a plane. */
#include <string.h>

#include "kernels/col2im_f32/col2im_f32.h"
#include "simd/part.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_col2im_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->planes}};
}

/* The windows [first, end) of n, `stride` apart, whose place from `offset` on is inside [0, in). */
static void inside(int64_t offset, int64_t stride, int64_t in, int64_t n, int64_t *first,
                   int64_t *end) {
    *first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    *end = in > offset ? (in - offset + stride - 1) / stride : 0;
    if (*end > n) *end = n;
}

HN_INLINE void add_part(float *y, const float *x, int64_t n) {
    hn_v_store_part(y, hn_v_add(hn_v_load_part(y, n), hn_v_load_part(x, n)), n);
}

/* y[i * stride] += x[i] */
static void add_row(float *y, const float *x, int64_t n, int64_t stride) {
    int64_t i = 0;
    if (stride != 1) {
        for (; i < n; i++) y[i * stride] += x[i];
        return;
    }
    for (; i + HN_VL <= n; i += HN_VL) add_part(y + i, x + i, HN_VL);
    if (i < n) add_part(y + i, x + i, n - i);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_col2im_f32 *p = call->problem;
    int64_t taps = p->kh * p->kw;
    for (int64_t task = begin; task < end; task++) {
        const float *x = (const float *)call->ptr[HN_COL2IM_X] + task * taps * p->oh * p->ow;
        float *y = (float *)call->ptr[HN_COL2IM_Y] + task * p->h * p->w;
        memset(y, 0, (size_t)(p->h * p->w) * sizeof *y);
        for (int64_t k = 0; k < taps; k++, x += p->oh * p->ow) {
            int64_t down = k / p->kw * p->dh - p->pt, right = k % p->kw * p->dw - p->pl;
            int64_t oy, oy_end, ox, ox_end;
            inside(down, p->sh, p->h, p->oh, &oy, &oy_end);
            inside(right, p->sw, p->w, p->ow, &ox, &ox_end);
            for (; oy < oy_end && ox < ox_end; oy++)
                add_row(y + (oy * p->sh + down) * p->w + ox * p->sw + right, x + oy * p->ow + ox,
                        ox_end - ox, p->sw);
        }
    }
}

const hn_kernel HN_V_ROW(col2im_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "taps", .work = work, .run = run};
