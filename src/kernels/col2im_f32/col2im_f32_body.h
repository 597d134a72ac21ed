/* col2im_f32 over the vector vocabulary, a plane per task. A tap adds rows of windows to rows of
 * the plane, by vectors where windows are one column apart. Where all windows stay in the nearest
 * cache besides, vectors of the plane sum up what the taps say of them instead: then what has just
 * been stored is not loaded again. */
#include <string.h>

#include "kernels/col2im_f32/col2im_f32.h"
#include "simd/part.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_col2im_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->planes}};
}

/* ---- few windows, one column apart ---- */

enum { FEW = 8192 }; /* floats of a plane's windows */

/* x[0 .. n) of a row of ow elements, of which `ox` is the first; 0 outside the row. Elements before
 * it may be read, but none before `first`. */
HN_INLINE hn_vf load_edge(const float *row, int64_t ox, int64_t ow, int64_t n, const float *first) {
    hn_vf zero = hn_v_set1(0.0f);
    int64_t skip = ox < 0 ? -ox : 0, end = ow - ox < n ? ow - ox : n;
    if (skip >= end) return zero;
    if (skip == 0) return hn_v_load_n(row + ox, end);
    if (row + ox >= first) return hn_v_keep_n(zero, hn_v_load_n(row + ox, end), skip);
    float part[HN_VL] = {0};
    for (int64_t i = skip; i < end; i++) part[i] = row[ox + i];
    return hn_v_load(part);
}

/* What taps of one row of windows say of n columns from ix on. */
HN_INLINE hn_vf add_taps(const hn_col2im_f32 *p, const float *row, int64_t ix, int64_t n,
                         const float *first, hn_vf sum) {
    for (int64_t kx = 0; kx < p->kw; kx++, row += p->oh * p->ow) {
        int64_t ox = ix - (kx * p->dw - p->pl);
        bool within = n == HN_VL && ox >= 0 && ox + HN_VL <= p->ow;
        sum = hn_v_add(sum, within ? hn_v_load(row + ox) : load_edge(row, ox, p->ow, n, first));
    }
    return sum;
}

/* n columns of row iy of the plane. */
HN_INLINE void sum_part(const hn_col2im_f32 *p, const float *x, const float *first, int64_t iy,
                        int64_t ix, int64_t n, float *y) {
    hn_vf sum = hn_v_set1(0.0f);
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t below = iy - (ky * p->dh - p->pt), oy = below;
        if (p->sh != 1) oy = below % p->sh == 0 ? below / p->sh : -1;
        if (oy < 0 || oy >= p->oh) continue;
        sum = add_taps(p, x + (ky * p->kw * p->oh + oy) * p->ow, ix, n, first, sum);
    }
    hn_v_store_part(y + iy * p->w + ix, sum, n);
}

static void sum_plane(const hn_col2im_f32 *p, const float *x, const float *first, float *y) {
    for (int64_t iy = 0; iy < p->h; iy++) {
        int64_t ix = 0;
        for (; ix + HN_VL <= p->w; ix += HN_VL) sum_part(p, x, first, iy, ix, HN_VL, y);
        if (ix < p->w) sum_part(p, x, first, iy, ix, p->w - ix, y);
    }
}

/* ---- others ---- */

/* The windows [begin, end) of n, `stride` apart, whose place from `offset` on is inside [0, in). */
static void inside(int64_t offset, int64_t stride, int64_t in, int64_t n, int64_t *begin,
                   int64_t *end) {
    *begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
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

static void add_plane(const hn_col2im_f32 *p, const float *x, float *y) {
    memset(y, 0, (size_t)(p->h * p->w) * sizeof *y);
    for (int64_t k = 0; k < p->kh * p->kw; k++, x += p->oh * p->ow) {
        int64_t down = k / p->kw * p->dh - p->pt, right = k % p->kw * p->dw - p->pl;
        int64_t oy, oy_end, ox, ox_end;
        inside(down, p->sh, p->h, p->oh, &oy, &oy_end);
        inside(right, p->sw, p->w, p->ow, &ox, &ox_end);
        for (; oy < oy_end && ox < ox_end; oy++)
            add_row(y + (oy * p->sh + down) * p->w + ox * p->sw + right, x + oy * p->ow + ox,
                    ox_end - ox, p->sw);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_col2im_f32 *p = call->problem;
    const float *x = call->ptr[HN_COL2IM_X];
    float *y = call->ptr[HN_COL2IM_Y];
    int64_t windows = p->kh * p->kw * p->oh * p->ow, plane = p->h * p->w;
    for (int64_t i = begin; i < end; i++) {
        if (p->sw == 1 && windows <= FEW)
            sum_plane(p, x + i * windows, x, y + i * plane);
        else
            add_plane(p, x + i * windows, y + i * plane);
    }
}

const hn_kernel HN_V_ROW(col2im_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "taps", .work = work, .run = run};
