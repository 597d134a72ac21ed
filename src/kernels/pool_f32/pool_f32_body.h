/* pool_f32 over the vector vocabulary: vectors run along channels, four of them at a time.
 *
 * A task is an output row of a block of channels. Sums are taken row of the window by row, so that
 * those over large images are of two short levels and not one long one.
 */
#include <math.h>

#include "kernels/pool_f32/pool_f32.h"
#include "kernels/pool_f32/pool_f32_window.h"
#include "simd/part.h"

enum {
    AT_ONCE = 4, /* vectors */
    BLOCK = 256, /* channels of a task, */
    NARROW = 64, /* and where images have but one output: all tasks come from channels */
};

static int64_t block_of(const hn_pool_f32 *p) { return p->oh == 1 ? NARROW : BLOCK; }

static int64_t blocks_of(const hn_pool_f32 *p) { return (p->c + block_of(p) - 1) / block_of(p); }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_pool_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * blocks_of(p) * p->oh}};
}

/* The larger one; NaN if either is. */
HN_INLINE hn_vf larger(hn_vf x, hn_vf all) {
    return hn_v_select(hn_v_isnan(x), x, hn_v_max(x, all));
}

/* A window of v.n rows and h.n columns from x on, for some vectors of n channels each. */
HN_INLINE void reduce(const hn_pool_f32 *p, const float *x, float *y, int64_t rows, int64_t columns,
                      float count, hn_pool_f32_kind kind, int vectors, int64_t n) {
    hn_vf all[AT_ONCE], row[AT_ONCE];
    bool max = kind == HN_POOL_F32_MAX;
    for (int i = 0; i < vectors; i++) all[i] = hn_v_set1(max ? -INFINITY : 0.0f);
    for (int64_t ky = 0; ky < rows; ky++) {
        const float *at = x + ky * p->dh * p->x_row;
        for (int i = 0; i < vectors; i++) row[i] = max ? all[i] : hn_v_set1(0.0f);
        for (int64_t kx = 0; kx < columns; kx++)
            for (int i = 0; i < vectors; i++) {
                hn_vf v = hn_v_load_part(at + kx * p->dw * p->x_pixel + i * HN_VL, n);
                row[i] = max ? larger(v, row[i]) : hn_v_add(row[i], v);
            }
        for (int i = 0; i < vectors; i++) all[i] = max ? row[i] : hn_v_add(all[i], row[i]);
    }
    for (int i = 0; i < vectors; i++) {
        if (kind == HN_POOL_F32_MEAN) all[i] = hn_v_div(all[i], hn_v_set1(count));
        hn_v_store_part(y + i * HN_VL, all[i], n);
    }
}

HN_INLINE void reduce_all(const hn_pool_f32 *p, const float *x, float *y, int64_t channels,
                          int64_t rows, int64_t columns, float count, hn_pool_f32_kind kind) {
    int64_t c = 0;
    for (; c + AT_ONCE * HN_VL <= channels; c += AT_ONCE * HN_VL)
        reduce(p, x + c, y + c, rows, columns, count, kind, AT_ONCE, HN_VL);
    for (; c + HN_VL <= channels; c += HN_VL)
        reduce(p, x + c, y + c, rows, columns, count, kind, 1, HN_VL);
    if (c < channels) reduce(p, x + c, y + c, rows, columns, count, kind, 1, channels - c);
}

static void run_row(const hn_pool_f32 *p, const float *x, float *y, int64_t oy, int64_t channels) {
    hn_pool_span v = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
    for (int64_t ox = 0; ox < p->ow; ox++) {
        hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
        bool some = v.n > 0 && h.n > 0;
        int64_t rows = some ? v.n : 0;
        const float *at = x + (some ? v.first * p->x_row + h.first * p->x_pixel : 0);
        float *to = y + oy * p->y_row + ox * p->y_pixel;
        int64_t counted = p->count_pads ? v.counted * h.counted : v.n * h.n;
        float count = counted > 0 ? (float)counted : 1.0f;
        switch (p->kind) {
            case HN_POOL_F32_MAX:
                reduce_all(p, at, to, channels, rows, h.n, count, HN_POOL_F32_MAX);
                break;
            case HN_POOL_F32_MEAN:
                reduce_all(p, at, to, channels, rows, h.n, count, HN_POOL_F32_MEAN);
                break;
            case HN_POOL_F32_SUM:
                reduce_all(p, at, to, channels, rows, h.n, count, HN_POOL_F32_SUM);
                break;
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_f32 *p = call->problem;
    int64_t block = block_of(p), blocks = blocks_of(p);
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task / p->oh / blocks, first = task / p->oh % blocks * block;
        run_row(p, (const float *)call->ptr[HN_POOL_F32_X] + image * p->x_image + first,
                (float *)call->ptr[HN_POOL_F32_Y] + image * p->y_image + first, task % p->oh,
                p->c - first < block ? p->c - first : block);
    }
}

const hn_kernel HN_V_ROW(pool_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "rows", .work = work, .run = run};
