/* pool_f32 over the vector vocabulary: vectors run along channels, four of them at a time.
 *
 * A task is an output row of a block of channels. Sums are taken row of the window by row, so that
 * those over large images are of two short levels and not one long one.
 */
#include <math.h>

#include "base/divide.h"
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

/* n channels of x from element `at` on. */
HN_INLINE hn_vf load(const void *x, int64_t at, int64_t n, hn_float type) {
#ifdef HN_V_BF16
    if (type == HN_FLOAT_BF16) return hn_v_load_bf16_n((const uint16_t *)x + at, n);
#endif
    (void)type;
    return hn_v_load_part((const float *)x + at, n);
}

HN_INLINE void store(const hn_pool_f32 *p, void *y, int64_t at, hn_vf v, int64_t n) {
#ifdef HN_V_BF16
    if (p->y_type == HN_FLOAT_BF16) {
        hn_v_store_bf16_n((uint16_t *)y + at, v, n);
        return;
    }
#endif
    (void)p;
    hn_v_store_part((float *)y + at, v, n);
}

/* Where the window of an output pixel begins in x, what is taken of it, where the output goes. */
typedef struct window {
    const void *x;
    void *y;
    int64_t from, to; /* elements */
    int64_t rows, columns;
    float count;
} window;

/* Some vectors of n channels each, from channel c on. */
HN_INLINE void reduce(const hn_pool_f32 *p, const window *w, int64_t c, hn_pool_f32_kind kind,
                      hn_float type, int vectors, int64_t n) {
    hn_vf all[AT_ONCE], row[AT_ONCE];
    bool max = kind == HN_POOL_F32_MAX;
    for (int i = 0; i < vectors; i++) all[i] = hn_v_set1(max ? -INFINITY : 0.0f);
    for (int64_t ky = 0; ky < w->rows; ky++) {
        int64_t at = w->from + c + ky * p->dh * p->x_row;
        for (int i = 0; i < vectors; i++) row[i] = max ? all[i] : hn_v_set1(0.0f);
        for (int64_t kx = 0; kx < w->columns; kx++)
            for (int i = 0; i < vectors; i++) {
                hn_vf v = load(w->x, at + kx * p->dw * p->x_pixel + i * HN_VL, n, type);
                row[i] = max ? larger(v, row[i]) : hn_v_add(row[i], v);
            }
        for (int i = 0; i < vectors; i++) all[i] = max ? row[i] : hn_v_add(all[i], row[i]);
    }
    for (int i = 0; i < vectors; i++) {
        if (kind == HN_POOL_F32_MEAN) all[i] = hn_v_div(all[i], hn_v_set1(w->count));
        store(p, w->y, w->to + c + i * HN_VL, all[i], n);
    }
}

HN_INLINE void reduce_all(const hn_pool_f32 *p, const window *w, int64_t channels,
                          hn_pool_f32_kind kind, hn_float type) {
    int64_t c = 0;
    for (; c + AT_ONCE * HN_VL <= channels; c += AT_ONCE * HN_VL)
        reduce(p, w, c, kind, type, AT_ONCE, HN_VL);
    for (; c + HN_VL <= channels; c += HN_VL) reduce(p, w, c, kind, type, 1, HN_VL);
    if (c < channels) reduce(p, w, c, kind, type, 1, channels - c);
}

HN_INLINE void reduce_typed(const hn_pool_f32 *p, const window *w, int64_t channels,
                            hn_pool_f32_kind kind) {
#ifdef HN_V_BF16
    if (p->x_type == HN_FLOAT_BF16) {
        reduce_all(p, w, channels, kind, HN_FLOAT_BF16);
        return;
    }
#endif
    reduce_all(p, w, channels, kind, HN_FLOAT_F32);
}

/* Row oy of an image whose channels begin at element `from` of x and `to` of y. */
static void run_row(const hn_pool_f32 *p, const void *x, void *y, int64_t from, int64_t to,
                    int64_t oy, int64_t channels) {
    hn_pool_span v = hn_pool_span_of(oy, p->kh, p->sh, p->dh, p->pt, p->pb, p->h);
    for (int64_t ox = 0; ox < p->ow; ox++) {
        hn_pool_span h = hn_pool_span_of(ox, p->kw, p->sw, p->dw, p->pl, p->pr, p->w);
        bool some = v.n > 0 && h.n > 0;
        int64_t counted = p->count_pads ? v.counted * h.counted : v.n * h.n;
        window w = {.x = x,
                    .y = y,
                    .from = from + (some ? v.first * p->x_row + h.first * p->x_pixel : 0),
                    .to = to + oy * p->y_row + ox * p->y_pixel,
                    .rows = some ? v.n : 0,
                    .columns = h.n,
                    .count = counted > 0 ? (float)counted : 1.0f};
        switch (p->kind) {
            case HN_POOL_F32_MAX: reduce_typed(p, &w, channels, HN_POOL_F32_MAX); break;
            case HN_POOL_F32_MEAN: reduce_typed(p, &w, channels, HN_POOL_F32_MEAN); break;
            case HN_POOL_F32_SUM: reduce_typed(p, &w, channels, HN_POOL_F32_SUM); break;
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_pool_f32 *p = call->problem;
    int64_t block = block_of(p), blocks = blocks_of(p);
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task;
        const int64_t oy = hn_digit(&image, p->oh), first = hn_digit(&image, blocks) * block;
        run_row(p, call->ptr[HN_POOL_F32_X], call->ptr[HN_POOL_F32_Y], image * p->x_image + first,
                image * p->y_image + first, oy, p->c - first < block ? p->c - first : block);
    }
}

static bool ok(const void *problem, const char **why) {
#ifdef HN_V_BF16
    (void)problem, (void)why;
    return true;
#else
    const hn_pool_f32 *p = problem;
    if (p->x_type == HN_FLOAT_F32 && p->y_type == HN_FLOAT_F32) return true;
    return *why = "operands of bf16", false;
#endif
}

const hn_kernel HN_V_ROW(pool_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "rows", .ok = ok, .work = work, .run = run};
