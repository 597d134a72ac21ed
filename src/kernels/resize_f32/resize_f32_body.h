/* resize_f32 over the vector vocabulary: the rows an output row is made of become one row, from
 * which its pixels are taken.
 *
 * A task is some output rows of an image. The blended row is in lane scratch, unless it is a row of
 * x as it is. An output row with the taps of the one before is a copy of that: of the rows of an
 * image that nearest neighbours make twice as large, every second one.
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

static bool same(const taps *a, const taps *b) {
    return a->n == b->n && memcmp(a->index, b->index, (size_t)a->n * sizeof *a->index) == 0 &&
           memcmp(a->weight, b->weight, (size_t)a->n * sizeof *a->weight) == 0;
}

static int64_t rows_of(const hn_resize_f32 *p) {
    int64_t rows = TASK / (p->ow * p->c * 4);
    return rows < 1 ? 1 : rows < p->oh ? rows : p->oh;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_resize_f32 *p = problem;
    (void)lanes;
    int64_t rows = rows_of(p), images = p->images[0] * p->images[1] * p->images[2];
    *w = (hn_work){.n_phases = 1,
                   .tasks = {images * ((p->oh + rows - 1) / rows)},
                   .lane_scratch = (size_t)(p->w * p->c) * 4};
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

/* An output row from the row of pixels at x. */
static void run_columns(const hn_resize_f32 *p, const hn_call *call, const float *x, int64_t pixel,
                        float *y) {
    const int32_t *table = call->ptr[HN_RESIZE_COLUMNS];
    const float *weight = call->ptr[HN_RESIZE_COLUMN_WEIGHT];
    for (int64_t o = 0; o < p->ow; o++, y += p->y_pixel) {
        taps t = taps_of(table, weight, p->ow, o);
        if (t.n == 0) {
            fill(y, p->outside, p->c);
        } else if (p->c == 1) {
            float s = copies(&t) ? x[t.index[0] * pixel] : x[t.index[0] * pixel] * t.weight[0];
            for (int64_t k = 1; k < t.n; k++) s += x[t.index[k] * pixel] * t.weight[k];
            *y = s;
        } else if (copies(&t)) {
            memcpy(y, x + t.index[0] * pixel, (size_t)p->c * 4);
        } else {
            blend(x, pixel, &t, y, p->c);
        }
    }
}

static void run_row(const hn_resize_f32 *p, const hn_call *call, const float *x, const taps *t,
                    float *y, float *row) {
    if (t->n == 0) {
        for (int64_t o = 0; o < p->ow; o++) fill(y + o * p->y_pixel, p->outside, p->c);
    } else if (copies(t)) {
        run_columns(p, call, x + t->index[0] * p->x_row, p->x_pixel, y);
    } else {
        if (p->x_pixel == p->c)
            blend(x, p->x_row, t, row, p->w * p->c);
        else
            for (int64_t i = 0; i < p->w; i++)
                blend(x + i * p->x_pixel, p->x_row, t, row + i * p->c, p->c);
        run_columns(p, call, row, p->c, y);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_resize_f32 *p = call->problem;
    const int32_t *table = call->ptr[HN_RESIZE_ROWS];
    const float *weight = call->ptr[HN_RESIZE_ROW_WEIGHT];
    int64_t rows = rows_of(p), per_image = (p->oh + rows - 1) / rows;
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
                memcpy(at, at - p->y_row, (size_t)(p->ow * p->c) * 4);
            else
                run_row(p, call, x, &t, at, lane);
            before = t;
        }
    }
}

const hn_kernel HN_V_ROW(resize_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = "rows", .work = work, .run = run};
