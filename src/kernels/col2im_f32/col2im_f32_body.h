/* col2im_f32 over the vector vocabulary, a plane per task. A tap adds rows of windows to rows of
 * the plane, by vectors where windows are one column apart. Where all windows stay in the nearest
 * cache besides, vectors of the plane sum up what the taps say of them instead: then what has just
 * been stored is not loaded again.
 *
 * Where windows are two columns apart, so do the outputs of each phase, every second pixel, which
 * take neighbouring windows by each tap that reaches them; two phases are put together as they are
 * stored:
 *
 *   4 taps, padding 1      y[0] y[2] y[4] ..    tap 1 of windows 0 1 2 .., tap 3 of -1 0 1 ..
 *                          y[1] y[3] y[5] ..    tap 2 of windows 0 1 2 .., tap 0 of 1 2 3 ..
 *
 * Near the ends of a row, where some tap finds no window, each output is summed by itself. */
#include "kernels/col2im_f32/col2im_f32.h"
#include "kernels/tile_f32/tile_f32_act.h"

enum { PHASES = 2 };

/* A row or column of a window: output j of that phase takes window j - shift by it. */
typedef struct place {
    int64_t phase, shift;
} place;

/* The taps that reach a row, by phase of the outputs they go to: windows of one row each. */
typedef struct taps {
    place *rows, *columns; /* of a window */
    const float **row[PHASES];
    int64_t *shift[PHASES];
    int64_t n[PHASES];
} taps;

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_col2im_f32 *p = problem;
    (void)lanes;
    size_t places = (size_t)(p->kh + p->kw) * sizeof(place);
    size_t list = (size_t)(p->kh * p->kw) * (sizeof(float *) + sizeof(int64_t));
    *w = (hn_work){.n_phases = 1, .tasks = {p->planes}, .lane_scratch = places + PHASES * list};
}

static void fill_places(int64_t n, int64_t dilation, int64_t stride, int64_t pad, place *places) {
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k * dilation - pad, phase = at % stride;
        if (phase < 0) phase += stride;
        places[k] = (place){phase, (at - phase) / stride};
    }
}

static taps divide(const hn_col2im_f32 *p, void *lane) {
    taps t = {.rows = lane};
    t.columns = t.rows + p->kh;
    char *at = (char *)(t.columns + p->kw);
    for (int i = 0; i < PHASES; i++) {
        t.row[i] = (const float **)at, at += p->kh * p->kw * (int64_t)sizeof(float *);
        t.shift[i] = (int64_t *)at, at += p->kh * p->kw * (int64_t)sizeof(int64_t);
    }
    fill_places(p->kh, p->dh, p->sh, p->pt, t.rows);
    fill_places(p->kw, p->dw, p->sw, p->pl, t.columns);
    return t;
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
                        int64_t ix, int64_t n, float bias, float *y) {
    hn_vf sum = hn_v_set1(bias);
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t below = iy - (ky * p->dh - p->pt), oy = below;
        if (p->sh != 1) oy = below % p->sh == 0 ? below / p->sh : -1;
        if (oy < 0 || oy >= p->oh) continue;
        sum = add_taps(p, x + (ky * p->kw * p->oh + oy) * p->ow, ix, n, first, sum);
    }
    hn_v_store_part(y + iy * p->w + ix, sum, n);
}

static void sum_plane(const hn_col2im_f32 *p, const float *x, const float *first, float bias,
                      float *y) {
    for (int64_t iy = 0; iy < p->h; iy++) {
        int64_t ix = 0;
        for (; ix + HN_VL <= p->w; ix += HN_VL) sum_part(p, x, first, iy, ix, HN_VL, bias, y);
        if (ix < p->w) sum_part(p, x, first, iy, ix, p->w - ix, bias, y);
    }
}

/* ---- two columns apart ---- */

/* The taps that reach row j of a phase, in order. */
static void find_taps(const hn_col2im_f32 *p, const float *x, int64_t phase, int64_t j, taps *t) {
    t->n[0] = t->n[1] = 0;
    for (int64_t ky = 0; ky < p->kh; ky++) {
        int64_t oy = j - t->rows[ky].shift;
        if (t->rows[ky].phase != phase || oy < 0 || oy >= p->oh) continue;
        const float *row = x + (ky * p->kw * p->oh + oy) * p->ow;
        for (int64_t kx = 0; kx < p->kw; kx++, row += p->oh * p->ow) {
            int64_t to = t->columns[kx].phase, n = t->n[to]++;
            t->row[to][n] = row;
            t->shift[to][n] = t->columns[kx].shift;
        }
    }
}

/* Outputs j, j + 1, ... of a phase, where all taps find windows. */
HN_INLINE hn_vf sum_phase(const taps *t, int phase, int64_t j, float bias, int64_t n) {
    hn_vf sum = hn_v_set1(bias);
    for (int64_t i = 0; i < t->n[phase]; i++)
        sum = hn_v_add(sum, hn_v_load_part(t->row[phase][i] + (j - t->shift[phase][i]), n));
    return sum;
}

static float sum_one(const hn_col2im_f32 *p, const taps *t, int phase, int64_t j, float bias) {
    for (int64_t i = 0; i < t->n[phase]; i++) {
        int64_t window = j - t->shift[phase][i];
        if ((uint64_t)window < (uint64_t)p->ow) bias += t->row[phase][i][window];
    }
    return bias;
}

/* Of two vectors in a row, the lanes that take turns: of their lower halves, of their upper ones.
 */
#define HALF (HN_VL / 2)
#define TURN(i) i, HN_VL + (i)
static const int32_t low_lanes[] = {TURN(0), TURN(1), TURN(2), TURN(3),
                                    TURN(4), TURN(5), TURN(6), TURN(7)};
static const int32_t high_lanes[] = {TURN(HALF),     TURN(HALF + 1), TURN(HALF + 2),
                                     TURN(HALF + 3), TURN(HALF + 4), TURN(HALF + 5),
                                     TURN(HALF + 6), TURN(HALF + 7)};

/* n outputs from j on of every phase. */
HN_INLINE void sum_phases(const taps *t, int64_t j, float bias, float *y, int64_t n) {
    hn_vf even = sum_phase(t, 0, j, bias, n), odd = sum_phase(t, 1, j, bias, n);
    hn_vf low = hn_v_pick(even, odd, hn_vi_load(low_lanes));
    hn_vf high = hn_v_pick(even, odd, hn_vi_load(high_lanes));
    int64_t first = 2 * n < HN_VL ? 2 * n : HN_VL;
    hn_v_store_part(y + 2 * j, low, first);
    hn_v_store_part(y + 2 * j + first, high, 2 * n - first);
}

/* One row; all taps find windows for outputs [lo, hi) of both phases. */
static void sum_row(const hn_col2im_f32 *p, const taps *t, int64_t lo, int64_t hi, float bias,
                    float *y) {
    if (hi - lo >= HN_VL) {
        for (int64_t j = lo; j + HN_VL < hi; j += HN_VL) sum_phases(t, j, bias, y, HN_VL);
        sum_phases(t, hi - HN_VL, bias, y, HN_VL); /* some again */
    } else if (lo < hi) {
        sum_phases(t, lo, bias, y, hi - lo);
    }
    for (int phase = 0; phase < PHASES; phase++) {
        int64_t all = (p->w - phase + 1) / PHASES;
        for (int64_t j = 0; j < all; j++) {
            if (j == lo && lo < hi) j = hi;
            if (j < all) y[j * PHASES + phase] = sum_one(p, t, phase, j, bias);
        }
    }
}

static void sum_rows(const hn_col2im_f32 *p, const float *x, taps *t, float bias, float *y) {
    int64_t lo = 0, hi = p->w / PHASES;
    for (int64_t kx = 0; kx < p->kw; kx++) {
        int64_t shift = t->columns[kx].shift;
        if (shift > lo) lo = shift;
        if (shift + p->ow < hi) hi = shift + p->ow;
    }
    for (int64_t iy = 0, phase = 0, j = 0; iy < p->h; iy++, y += p->w) {
        find_taps(p, x, phase, j, t);
        sum_row(p, t, lo, hi, bias, y);
        if (++phase == p->sh) phase = 0, j++;
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

static void add_plane(const hn_col2im_f32 *p, const float *x, float bias, float *y) {
    for (int64_t i = 0; i < p->h * p->w; i++) y[i] = bias;
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
    (void)phase;
    const hn_col2im_f32 *p = call->problem;
    const float *x = call->ptr[HN_COL2IM_X], *bias = call->ptr[HN_COL2IM_BIAS];
    float *y = call->ptr[HN_COL2IM_Y];
    int64_t windows = p->kh * p->kw * p->oh * p->ow, plane = p->h * p->w;
    taps t = divide(p, lane);
    for (int64_t i = begin; i < end; i++) {
        const float *from = x + i * windows;
        float *to = y + i * plane, begins = bias != NULL ? bias[i % p->channels] : 0.0f;
        if (p->sw == PHASES)
            sum_rows(p, from, &t, begins, to);
        else if (p->sw == 1 && windows <= FEW)
            sum_plane(p, from, x, begins, to);
        else
            add_plane(p, from, begins, to);
        if (p->act.kind != HN_ACT_NONE) act_tile(&p->act, &to, 1, 0, plane);
    }
}

const hn_kernel HN_V_ROW(col2im_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "taps", .work = work, .run = run};
