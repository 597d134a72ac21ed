/* resize_f64 in plain C, which the compiler makes vectors of: the rows an output row is made of
 * become one row of doubles, from which its pixels are taken.
 *
 * A task is some output rows of an image. Where pixels are single integers of at most two taps, the
 * columns are two lists, all outputs having two taps, of which one may have weight 0.
 *
 * A file for an instruction set defines the names of the row.
 */
#include <math.h>
#include <string.h>

#include "kernels/resize_f64/resize_f64.h"

#ifndef ROW /* portable code */
#define ROW hn_resize_f64_portable
#define NAME "portable"
#define ISA HN_ISA_PORTABLE
#endif

enum { TASK = 8192 }; /* outputs, at least a row */

typedef struct taps {
    const int32_t *index;
    const double *weight;
    int64_t n;
} taps;

/* Of output o of `out`, from a table and its weights. */
static inline taps taps_of(const int32_t *table, const double *weight, int64_t out, int64_t o) {
    return (taps){table + out + 1 + table[o], weight + table[o], table[o + 1] - table[o]};
}

/* Columns as lists of two taps, in lane scratch. */
typedef struct pairs {
    bool usable;
    double *low_weight, *high_weight;
    int32_t *low, *high;
} pairs;

static int64_t size_of(hn_resize_type t) {
    static const int64_t sizes[] = {
#define HN_X(name, type) [HN_RESIZE_##name] = sizeof(type),
        HN_RESIZE_TYPE_LIST(HN_X)
#undef HN_X
    };
    return sizes[t];
}

static int64_t rows_of(const hn_resize_f32 *p) {
    int64_t rows = TASK / (p->ow * p->c);
    return rows < 1 ? 1 : rows < p->oh ? rows : p->oh;
}

/* Lane scratch: the row, the output row, and for pixels of one value the pairs. */
static void work(const void *problem, int lanes, hn_work *w) {
    const hn_resize_f32 *p = problem;
    (void)lanes;
    int64_t rows = rows_of(p), images = hn_resize_count(p);
    int64_t doubles = (p->w + p->ow) * p->c + (p->c == 1 ? 3 * p->ow : 0);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {images * ((p->oh + rows - 1) / rows)},
                   .lane_scratch = (size_t)doubles * sizeof(double)};
}

/* ---- elements ---- */

/* y[i] = the sum over the taps, one at least, of weight * x[index * stride + i], n of them. */
#define DEFINE_BLEND(name, type)                                                                  \
    static void blend_##name(const void *from, int64_t stride, const taps *t, double *restrict y, \
                             int64_t n) {                                                         \
        const type *a = (const type *)from + t->index[0] * stride;                                \
        double u = t->weight[0];                                                                  \
        if (t->n == 1) {                                                                          \
            for (int64_t i = 0; i < n; i++) y[i] = u * (double)a[i];                              \
            return;                                                                               \
        }                                                                                         \
        const type *b = (const type *)from + t->index[1] * stride;                                \
        double v = t->weight[1];                                                                  \
        for (int64_t i = 0; i < n; i++) y[i] = u * (double)a[i] + v * (double)b[i];               \
        for (int64_t k = 2; k < t->n; k++) {                                                      \
            a = (const type *)from + t->index[k] * stride, u = t->weight[k];                      \
            for (int64_t i = 0; i < n; i++) y[i] += u * (double)a[i];                             \
        }                                                                                         \
    }
HN_RESIZE_TYPE_LIST(DEFINE_BLEND)

typedef void blend_fn(const void *from, int64_t stride, const taps *t, double *restrict y,
                      int64_t n);
static blend_fn *const blends[] = {
#define HN_X(name, type) [HN_RESIZE_##name] = blend_##name,
    HN_RESIZE_TYPE_LIST(HN_X)
#undef HN_X
};

static inline double bounded(double v, double lo, double hi) {
    v = rint(v);
    v = v > lo ? v : lo;
    return v < hi ? v : hi;
}

/* From n doubles to elements. */
#define DEFINE_STORE(name, type, lo, hi)                                                       \
    static void store_##name(const double *x, void *y, int64_t n) {                            \
        for (int64_t i = 0; i < n; i++) ((type *)y)[i] = (type)(int32_t)bounded(x[i], lo, hi); \
    }
DEFINE_STORE(U8, uint8_t, 0, UINT8_MAX)
DEFINE_STORE(S8, int8_t, INT8_MIN, INT8_MAX)
DEFINE_STORE(U16, uint16_t, 0, UINT16_MAX)
DEFINE_STORE(S16, int16_t, INT16_MIN, INT16_MAX)
DEFINE_STORE(S32, int32_t, INT32_MIN, INT32_MAX)

static void store_F64(const double *x, void *y, int64_t n) { memcpy(y, x, (size_t)n * sizeof *x); }

typedef void store_fn(const double *x, void *y, int64_t n);
static store_fn *const stores[] = {
    [HN_RESIZE_F64] = store_F64, [HN_RESIZE_U8] = store_U8,   [HN_RESIZE_S8] = store_S8,
    [HN_RESIZE_U16] = store_U16, [HN_RESIZE_S16] = store_S16, [HN_RESIZE_S32] = store_S32,
};

/* ---- columns ---- */

/* A tap of weight 0 that is not there counts for nothing, since integers are finite. */
static pairs find_pairs(const hn_resize_f32 *p, const hn_call *call, double *scratch) {
    pairs k = {.low_weight = scratch, .high_weight = scratch + p->ow};
    if (p->c > 1 || p->x_type == HN_RESIZE_F64) return k;
    k.low = (int32_t *)(void *)(scratch + 2 * p->ow), k.high = k.low + p->ow;
    for (int64_t o = 0; o < p->ow; o++) {
        taps t =
            taps_of(call->ptr[HN_RESIZE_COLUMNS], call->ptr[HN_RESIZE_COLUMN_WEIGHT], p->ow, o);
        if (t.n < 1 || t.n > 2) return k;
        k.low[o] = t.index[0], k.high[o] = t.index[t.n - 1];
        k.low_weight[o] = t.weight[0], k.high_weight[o] = t.n == 2 ? t.weight[1] : 0;
    }
    k.usable = true;
    return k;
}

static void run_pairs(const pairs *k, const double *restrict x, double *restrict y, int64_t n) {
    const double *low_weight = k->low_weight, *high_weight = k->high_weight;
    const int32_t *low = k->low, *high = k->high;
    for (int64_t o = 0; o < n; o++) y[o] = low_weight[o] * x[low[o]] + high_weight[o] * x[high[o]];
}

/* An output row, dense, from a dense row. */
static void run_columns(const hn_resize_f32 *p, const hn_call *call, const pairs *k,
                        const double *x, double *y) {
    if (k->usable) {
        run_pairs(k, x, y, p->ow);
        return;
    }
    const int32_t *table = call->ptr[HN_RESIZE_COLUMNS];
    const double *weight = call->ptr[HN_RESIZE_COLUMN_WEIGHT];
    for (int64_t o = 0; o < p->ow; o++, y += p->c) {
        taps t = taps_of(table, weight, p->ow, o);
        if (t.n > 0) blend_F64(x, p->c, &t, y, p->c);
        for (int64_t i = 0; t.n == 0 && i < p->c; i++) y[i] = p->outside;
    }
}

/* ---- rows ---- */

static void run_row(const hn_resize_f32 *p, const hn_call *call, const pairs *k, const char *x,
                    const taps *t, char *y, double *row) {
    int64_t x_pixel = p->x_pixel * size_of(p->x_type), y_pixel = p->y_pixel * size_of(p->y_type);
    double *out = row + p->w * p->c;
    bool joined = p->x_pixel == p->c;
    int64_t n = joined ? p->w * p->c : p->c, parts = joined ? 1 : p->w;
    for (int64_t i = 0; t->n > 0 && i < parts; i++)
        blends[p->x_type](x + i * x_pixel, p->x_row, t, row + i * p->c, n);
    for (int64_t i = 0; t->n == 0 && i < p->w * p->c; i++) row[i] = p->outside;
    run_columns(p, call, k, row, out);
    joined = p->y_pixel == p->c;
    n = joined ? p->ow * p->c : p->c, parts = joined ? 1 : p->ow;
    for (int64_t i = 0; i < parts; i++) stores[p->y_type](out + i * p->c, y + i * y_pixel, n);
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_resize_f32 *p = call->problem;
    int64_t rows = rows_of(p), per_image = (p->oh + rows - 1) / rows;
    int64_t x_size = size_of(p->x_type), y_size = size_of(p->y_type);
    pairs k = find_pairs(p, call, (double *)lane + (p->w + p->ow) * p->c);
    for (int64_t task = begin; task < end; task++) {
        const char *x = call->ptr[HN_RESIZE_X];
        char *y = call->ptr[HN_RESIZE_Y];
        int64_t image = task / per_image, from = task % per_image * rows;
        int64_t to = from + rows < p->oh ? from + rows : p->oh;
        for (int i = HN_RESIZE_AXES - 1; i >= 0; i--) {
            x += image % p->images[i] * p->x_image[i] * x_size;
            y += image % p->images[i] * p->y_image[i] * y_size;
            image /= p->images[i];
        }
        for (int64_t o = from; o < to; o++) {
            taps t = taps_of(call->ptr[HN_RESIZE_ROWS], call->ptr[HN_RESIZE_ROW_WEIGHT], p->oh, o);
            run_row(p, call, &k, x, &t, y + o * p->y_row * y_size, lane);
        }
    }
}

const hn_kernel ROW = {.name = NAME, .isa = ISA, .order = "taps", .work = work, .run = run};
