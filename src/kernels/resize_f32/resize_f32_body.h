/* resize_f32 over the vector vocabulary: the rows an output row is made of become one row, from
 * which its pixels are taken.
 *
 * A task is some output rows of an image. The blended row is in lane scratch, unless it is a row of
 * x as it is. An output row with the taps of the one before is a copy of that: of the rows of an
 * image that nearest neighbours make twice as large, every second one.
 *
 * Where pixels are single values with at most two taps, a vector of outputs reads a window of the
 * row, two vectors at most, and picks its taps from there:
 *
 *   outputs    o .. o + 3        taps at 5, 5, 6, 6 and 6, 6, 7, 7 of the row
 *   window     row + 5 ..        picks   0, 0, 1, 1 and 1, 1, 2, 2
 */
#include <string.h>

#include "kernels/resize_f32/resize_f32.h"
#include "simd/part.h"

enum { TASK = 32768 }; /* bytes of output, at least a row */

typedef struct taps {
    const int32_t *index;
    const float *weight;
    int64_t n;
} taps;

/* Of output o of `out`, from a table and its weights. */
HN_INLINE taps taps_of(const int32_t *table, const float *weight, int64_t out, int64_t o) {
    return (taps){table + out + 1 + table[o], weight + table[o], table[o + 1] - table[o]};
}

static bool copies(const taps *t) { return t->n == 1 && t->weight[0] == 1; }

/* They are few: calls of memcmp would take longer than small rows do. */
static bool same(const taps *a, const taps *b) {
    if (a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++)
        if (a->index[i] != b->index[i] || a->weight[i] != b->weight[i]) return false;
    return true;
}

/* n floats; the last vector may overlap that before it. */
static void copy_row(float *restrict y, const float *restrict x, int64_t n) {
    if (n < HN_VL) {
        hn_v_store_n(y, hn_v_load_n(x, n), n);
        return;
    }
    for (int64_t i = 0; i + HN_VL <= n; i += HN_VL) hn_v_store(y + i, hn_v_load(x + i));
    hn_v_store(y + n - HN_VL, hn_v_load(x + n - HN_VL));
}

/* Columns as windows and picks, in lane scratch behind the row; one of each per vector of outputs.
 */
typedef struct windows {
    enum { NO_WINDOWS, ONE_TAP, TWO_TAPS } kind;
    int32_t *base;       /* where the window begins; -1: the taps lie too far apart */
    int32_t *low, *high; /* by output: places in the window */
    float *low_weight, *high_weight;
} windows;

static int64_t round_up(int64_t n) { return (n + HN_VL - 1) / HN_VL * HN_VL; }

static size_t window_bytes(const hn_resize_f32 *p) {
    return p->c > 1 ? 0 : (size_t)(round_up(p->ow) / HN_VL + 4 * round_up(p->ow)) * 4;
}

static int64_t rows_of(const hn_resize_f32 *p) {
    int64_t rows = TASK / (p->ow * p->c * 4);
    return rows < 1 ? 1 : rows < p->oh ? rows : p->oh;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_resize_f32 *p = problem;
    (void)lanes;
    int64_t rows = rows_of(p), images = hn_resize_count(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {images * ((p->oh + rows - 1) / rows)},
                   .lane_scratch = (size_t)round_up(p->w * p->c) * 4 + window_bytes(p)};
}

/* y[i] = sum over the taps of weight * x[index * stride + i]; n of them in a vector. */
HN_INLINE void sum(const float *x, int64_t stride, const taps *t, int64_t count, float *y,
                   int64_t n) {
    hn_vf s = hn_v_mul(hn_v_set1(t->weight[0]), hn_v_load_part(x + t->index[0] * stride, n));
    for (int64_t k = 1; k < count; k++)
        s = hn_v_fma(hn_v_set1(t->weight[k]), hn_v_load_part(x + t->index[k] * stride, n), s);
    hn_v_store_part(y, s, n);
}

HN_INLINE void sum_all(const float *x, int64_t stride, const taps *t, int64_t count, float *y,
                       int64_t n) {
    int64_t i = 0;
    for (; i + HN_VL <= n; i += HN_VL) sum(x + i, stride, t, count, y + i, HN_VL);
    if (i < n) sum(x + i, stride, t, count, y + i, n - i);
}

/* The same for n adjacent values. */
static void blend(const float *x, int64_t stride, const taps *t, float *y, int64_t n) {
    switch (t->n) {
        case 1: sum_all(x, stride, t, 1, y, n); break;
        case 2: sum_all(x, stride, t, 2, y, n); break;
        case 4: sum_all(x, stride, t, 4, y, n); break;
        default: sum_all(x, stride, t, t->n, y, n); break;
    }
}

static void fill(float *y, float value, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = value;
}

/* ---- columns by windows ---- */

/* How many taps outputs have at most, 3: more than two; 0: some have none. *plain: their weights
 * are all 1. */
static int64_t most_taps(const hn_resize_f32 *p, const hn_call *call, bool *plain) {
    const int32_t *table = call->ptr[HN_RESIZE_COLUMNS];
    int64_t most = 0;
    *plain = true;
    for (int64_t o = 0; o < p->ow; o++) {
        taps t = taps_of(table, call->ptr[HN_RESIZE_COLUMN_WEIGHT], p->ow, o);
        if (t.n == 0 || t.n > 2) return t.n == 0 ? 0 : 3;
        most = t.n > most ? t.n : most;
        *plain = *plain && copies(&t);
    }
    return most;
}

/* Of the outputs [from, from + n), n at most a vector. */
static void find_window(const hn_resize_f32 *p, const hn_call *call, windows *w, int64_t from,
                        int64_t n) {
    int32_t first = INT32_MAX, last = 0;
    for (int64_t i = 0; i < HN_VL; i++) {
        w->low[from + i] = w->high[from + i] = INT32_MAX;
        w->low_weight[from + i] = w->high_weight[from + i] = 0;
        if (i >= n) continue;
        taps t = taps_of(call->ptr[HN_RESIZE_COLUMNS], call->ptr[HN_RESIZE_COLUMN_WEIGHT], p->ow,
                         from + i);
        int32_t a = t.index[0], b = t.index[t.n - 1];
        w->low[from + i] = a, w->low_weight[from + i] = t.weight[0];
        w->high[from + i] = b, w->high_weight[from + i] = t.n > 1 ? t.weight[1] : 0;
        first = a < first ? a : first, first = b < first ? b : first;
        last = a > last ? a : last, last = b > last ? b : last;
    }
    bool fits = last - first < 2 * HN_VL;
    w->base[from / HN_VL] = fits ? first : -1;
    for (int64_t i = 0; i < HN_VL && fits; i++) {
        w->low[from + i] = i < n ? w->low[from + i] - first : 0;
        w->high[from + i] = i < n ? w->high[from + i] - first : 0;
    }
}

static windows find_windows(const hn_resize_f32 *p, const hn_call *call, float *row) {
    windows w = {.kind = NO_WINDOWS};
    bool plain;
    int64_t most = p->c == 1 && p->y_pixel == 1 ? most_taps(p, call, &plain) : 0;
    if (most < 1 || most > 2) return w;
    int64_t n = round_up(p->ow);
    w.kind = plain ? ONE_TAP : TWO_TAPS;
    w.low_weight = row + round_up(p->w), w.high_weight = w.low_weight + n;
    w.low = (int32_t *)(w.high_weight + n), w.high = w.low + n, w.base = w.high + n;
    for (int64_t o = 0; o < p->ow; o += HN_VL)
        find_window(p, call, &w, o, p->ow - o < HN_VL ? p->ow - o : HN_VL);
    return w;
}

/* The outputs [o, o + n), n at most a vector, of a row of w values. */
HN_INLINE void run_window(const windows *k, const float *x, int64_t w, int64_t o, float *y,
                          int64_t n) {
    int64_t base = k->base[o / HN_VL], left = w - base;
    hn_vf a = left >= HN_VL ? hn_v_load(x + base) : hn_v_load_n(x + base, left), b = a;
    if (left >= 2 * HN_VL)
        b = hn_v_load(x + base + HN_VL);
    else if (left > HN_VL)
        b = hn_v_load_n(x + base + HN_VL, left - HN_VL);
    hn_vf low = hn_v_pick(a, b, hn_vi_load(k->low + o));
    if (k->kind == TWO_TAPS) {
        hn_vf weight = hn_v_load(k->high_weight + o);
        low = hn_v_mul(hn_v_load(k->low_weight + o), low);
        /* A tap that is not there has weight 0, and may be infinite. */
        hn_vf both = hn_v_fma(weight, hn_v_pick(a, b, hn_vi_load(k->high + o)), low);
        low = hn_v_select(hn_v_eq(weight, hn_v_set1(0)), low, both);
    }
    hn_v_store_part(y + o, low, n);
}

static void run_windows(const hn_resize_f32 *p, const windows *k, const float *x, float *y) {
    for (int64_t o = 0; o < p->ow; o += HN_VL) {
        int64_t n = p->ow - o < HN_VL ? p->ow - o : HN_VL;
        if (k->base[o / HN_VL] >= 0) {
            if (n == HN_VL)
                run_window(k, x, p->w, o, y, HN_VL);
            else
                run_window(k, x, p->w, o, y, n);
            continue;
        }
        for (int64_t i = o; i < o + n; i++) {
            y[i] = k->kind == ONE_TAP ? x[k->low[i]] : x[k->low[i]] * k->low_weight[i];
            if (k->high_weight[i] != 0 && k->kind == TWO_TAPS)
                y[i] += x[k->high[i]] * k->high_weight[i];
        }
    }
}

/* Where outputs take few of a row's values: the values of both rows x that t names are blended
 * where they are taken, and the row in between is not made. */
static bool takes_few(const hn_resize_f32 *p, const windows *k, const taps *t) {
    return k->kind != NO_WINDOWS && p->x_pixel == 1 && t->n == 2 && p->w >= 4 * p->ow;
}

static void run_few(const hn_resize_f32 *p, const windows *k, const float *x, const taps *t,
                    float *y) {
    for (int64_t o = 0; o < p->ow; o++) {
        int64_t base = k->base[o / HN_VL] < 0 ? 0 : k->base[o / HN_VL];
        const float *a = x + t->index[0] * p->x_row + base, *b = x + t->index[1] * p->x_row + base;
        int32_t low = k->low[o], high = k->high[o];
        float s = (a[low] * t->weight[0] + b[low] * t->weight[1]) * k->low_weight[o];
        if (k->high_weight[o] != 0)
            s += (a[high] * t->weight[0] + b[high] * t->weight[1]) * k->high_weight[o];
        y[o] = s;
    }
}

/* ---- rows ---- */

/* An output row from the row of pixels at x. */
static void run_columns(const hn_resize_f32 *p, const hn_call *call, const windows *k,
                        const float *x, int64_t pixel, float *y) {
    if (k->kind != NO_WINDOWS && pixel == 1) {
        run_windows(p, k, x, y);
        return;
    }
    const int32_t *table = call->ptr[HN_RESIZE_COLUMNS];
    const float *weight = call->ptr[HN_RESIZE_COLUMN_WEIGHT];
    for (int64_t o = 0; o < p->ow; o++, y += p->y_pixel) {
        taps t = taps_of(table, weight, p->ow, o);
        if (t.n == 0) {
            fill(y, (float)p->outside, p->c);
        } else if (p->c == 1) {
            float s = copies(&t) ? x[t.index[0] * pixel] : x[t.index[0] * pixel] * t.weight[0];
            for (int64_t i = 1; i < t.n; i++) s += x[t.index[i] * pixel] * t.weight[i];
            *y = s;
        } else if (copies(&t)) {
            memcpy(y, x + t.index[0] * pixel, (size_t)p->c * 4);
        } else {
            blend(x, pixel, &t, y, p->c);
        }
    }
}

static void run_row(const hn_resize_f32 *p, const hn_call *call, const windows *k, const float *x,
                    const taps *t, float *y, float *row) {
    if (t->n == 0) {
        for (int64_t o = 0; o < p->ow; o++) fill(y + o * p->y_pixel, (float)p->outside, p->c);
    } else if (copies(t)) {
        run_columns(p, call, k, x + t->index[0] * p->x_row, p->x_pixel, y);
    } else if (takes_few(p, k, t)) {
        run_few(p, k, x, t, y);
    } else {
        if (p->x_pixel == p->c)
            blend(x, p->x_row, t, row, p->w * p->c);
        else
            for (int64_t i = 0; i < p->w; i++)
                blend(x + i * p->x_pixel, p->x_row, t, row + i * p->c, p->c);
        run_columns(p, call, k, row, p->c, y);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_resize_f32 *p = call->problem;
    const int32_t *table = call->ptr[HN_RESIZE_ROWS];
    const float *weight = call->ptr[HN_RESIZE_ROW_WEIGHT];
    int64_t rows = rows_of(p), per_image = (p->oh + rows - 1) / rows;
    windows k = find_windows(p, call, lane);
    for (int64_t task = begin; task < end; task++) {
        const float *x = call->ptr[HN_RESIZE_X];
        float *y = call->ptr[HN_RESIZE_Y];
        int64_t image = task / per_image, from = task % per_image * rows;
        int64_t to = from + rows < p->oh ? from + rows : p->oh;
        for (int i = HN_RESIZE_AXES - 1; i >= 0; i--) {
            x += image % p->images[i] * p->x_image[i];
            y += image % p->images[i] * p->y_image[i];
            image /= p->images[i];
        }
        taps before = {.n = -1};
        for (int64_t o = from; o < to; o++) {
            taps t = taps_of(table, weight, p->oh, o);
            float *at = y + o * p->y_row;
            if (p->y_pixel == p->c && same(&t, &before))
                copy_row(at, at - p->y_row, p->ow * p->c);
            else
                run_row(p, call, &k, x, &t, at, lane);
            before = t;
        }
    }
}

const hn_kernel HN_V_ROW(resize_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "rows", .work = work, .run = run};
