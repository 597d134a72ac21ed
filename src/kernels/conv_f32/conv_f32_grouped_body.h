/* Convolution in small groups, over the vector vocabulary: a vector holds the outputs of several
 * groups. Where a group fills less than a vector, tiles would leave most lanes empty.
 *
 *   groups of 4 by 4    outputs   0 1 2 3 | 4 5 6 7 | ...       one vector
 *                       inputs    0 0 0 0 | 4 4 4 4 | ...       times weights for input 0 of each
 *                                 1 1 1 1 | 5 5 5 5 | ...       times weights for input 1, ...
 *
 * The inputs of these groups are adjacent and fit one vector, which is loaded once and permuted for
 * each input of a group. A strip is COLUMNS neighbouring outputs of a row, summed in registers;
 * each permuted vector goes into every output whose window it is in, where the window and its
 * stride are known to the compiler (WINDOWS).
 *
 * A task is an output row of one vector of outputs; the rows of a vector follow each other. Weights
 * are packed [vector][ky][kx][input of a group][HN_VL]. A sum runs through them in order, from the
 * bias.
 */
#include <math.h>

#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_columns.h"
#include "kernels/tile_f32/tile_f32_act.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

enum { COLUMNS = HN_VL == 16 ? 8 : 4 };

/* Kernel width and stride. */
#define WINDOWS(X) X(3, 1) X(3, 2) X(5, 1)

typedef struct strip {
    const float *x; /* the image, at the first channel of the groups */
    const float *w; /* of the first row of the window inside the image */
    int64_t at, ix; /* of the first tap: place in x and column, perhaps outside */
    int64_t rows;   /* of the window inside the image */
    int64_t inputs; /* channels that the vector's groups have */
    hn_vi lanes;    /* of input 0 of each output's group */
} strip;

static int64_t group_in(const hn_conv_f32 *p) { return p->c / p->groups; }
static int64_t group_out(const hn_conv_f32 *p) { return p->n / p->groups; }
static int64_t vectors_of(const hn_conv_f32 *p) { return (p->n + HN_VL - 1) / HN_VL; }

static bool outside(int64_t i, int64_t n) { return i < 0 || i >= n; }

/* The sums of a strip; kw and sw are constants. */
HN_INLINE void sum_window(const hn_conv_f32 *p, const strip *s, hn_vf *sum, int kw, int sw,
                          bool edges) {
    int64_t inputs = group_in(p);
    for (int64_t ky = 0; ky < s->rows; ky++) {
        const float *w = s->w + ky * kw * inputs * HN_VL;
        int64_t row = s->at + ky * p->dh * p->x_row;
        UNROLL for (int i = 0; i < (COLUMNS - 1) * sw + kw; i++) {
            if (edges && outside(s->ix + i, p->w)) continue;
            hn_vf x = hn_v_load_n(s->x + (row + i * p->x_pixel), s->inputs);
            for (int64_t c = 0; c < inputs; c++) {
                hn_vf one = hn_v_permute(x, hn_vi_add(s->lanes, hn_vi_set1((int32_t)c)));
                UNROLL for (int q = 0; q < COLUMNS; q++) {
                    int kx = i - q * sw;
                    if (kx >= 0 && kx < kw)
                        sum[q] = hn_v_fma(one, hn_v_load(w + (kx * inputs + c) * HN_VL), sum[q]);
                }
            }
        }
    }
}

/* The same for every window. */
HN_INLINE void sum_any(const hn_conv_f32 *p, const strip *s, hn_vf *sum, bool edges) {
    int64_t inputs = group_in(p);
    const float *w = s->w;
    for (int64_t ky = 0; ky < s->rows; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++, w += inputs * HN_VL)
            UNROLL for (int q = 0; q < COLUMNS; q++) {
                int64_t column = kx * p->dw + q * p->sw;
                if (edges && outside(s->ix + column, p->w)) continue;
                int64_t at = s->at + ky * p->dh * p->x_row + column * p->x_pixel;
                hn_vf x = hn_v_load_n(s->x + at, s->inputs);
                for (int64_t c = 0; c < inputs; c++)
                    sum[q] = hn_v_fma(hn_v_permute(x, hn_vi_add(s->lanes, hn_vi_set1((int32_t)c))),
                                      hn_v_load(w + c * HN_VL), sum[q]);
            }
}

typedef void strip_fn(const hn_conv_f32 *p, const strip *s, hn_vf *sum);

#define STRIPS(kw, sw)                                                                \
    static void inner_##kw##_##sw(const hn_conv_f32 *p, const strip *s, hn_vf *sum) { \
        sum_window(p, s, sum, kw, sw, false);                                         \
    }                                                                                 \
    static void edge_##kw##_##sw(const hn_conv_f32 *p, const strip *s, hn_vf *sum) {  \
        sum_window(p, s, sum, kw, sw, true);                                          \
    }
WINDOWS(STRIPS)
static void inner_any(const hn_conv_f32 *p, const strip *s, hn_vf *sum) {
    sum_any(p, s, sum, false);
}
static void edge_any(const hn_conv_f32 *p, const strip *s, hn_vf *sum) { sum_any(p, s, sum, true); }

static strip_fn *strip_of(const hn_conv_f32 *p, bool edges) {
#define CHOOSE(width, stride)                            \
    if (p->kw == width && p->sw == stride && p->dw == 1) \
        return edges ? edge_##width##_##stride : inner_##width##_##stride;
    WINDOWS(CHOOSE)
    return edges ? edge_any : inner_any;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups == 1) return *why = "one group", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    int64_t out = group_out(p);
    /* Tiles are faster where a group fills a vector. */
    if (2 * out > HN_VL || HN_VL % out != 0) return *why = "no several groups to a vector", false;
    if (group_in(p) > out) return *why = "a group has more inputs than outputs", false;
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * vectors_of(p) * p->oh}};
}

/* Stores the outputs [0, columns) of a strip, n lanes of each, at y; r is what is added. */
static void finish(const hn_conv_f32 *p, hn_vf *sum, const float *r, float *y, int64_t columns,
                   int64_t n) {
    bool clip = p->act.kind == HN_ACT_CLIP;
    hn_vf lo = hn_v_set1(clip ? p->act.a : -INFINITY), hi = hn_v_set1(clip ? p->act.b : INFINITY);
    for (int64_t q = 0; q < columns; q++) {
        if (r != NULL) sum[q] = hn_v_add(sum[q], hn_v_load_n(r + q * p->r_pixel, n));
        hn_v_store_n(y + q * p->y_pixel, hn_v_min(hi, hn_v_max(lo, sum[q])), n);
    }
    if (clip || p->act.kind == HN_ACT_NONE) return;
    for (int64_t q = 0; q < columns; q++) {
        float *at = y + q * p->y_pixel;
        act_tile(&p->act, &at, 1, 0, n);
    }
}

/* Output row oy of one vector of outputs. */
static void run_row(const hn_call *call, int64_t image, int64_t vector, int64_t oy) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS], *r = call->ptr[HN_CONV_R];
    int64_t first = vector * HN_VL, n = p->n - first < HN_VL ? p->n - first : HN_VL;
    int64_t inputs = group_in(p), from = first / group_out(p) * inputs;
    int64_t iy = oy * p->sh - p->pt, reach = (COLUMNS - 1) * p->sw + (p->kw - 1) * p->dw;
    int64_t ky = iy < 0 ? (-iy + p->dh - 1) / p->dh : 0;
    int64_t ky_end = iy < p->h ? (p->h - iy + p->dh - 1) / p->dh : 0;
    int32_t lanes[HN_VL];
    for (int i = 0; i < HN_VL; i++) lanes[i] = (int32_t)(i / group_out(p) * inputs);
    strip s = {.x = (const float *)call->ptr[HN_CONV_X] + image * p->x_image + from,
               .inputs = n / group_out(p) * inputs,
               .lanes = hn_vi_load(lanes)};
    s.rows = (ky_end < p->kh ? ky_end : p->kh) - ky;
    s.w = (const float *)call->ptr[HN_CONV_W] + (vector * p->kh + ky) * p->kw * inputs * HN_VL;
    for (int64_t ox = 0; ox < p->ow; ox += COLUMNS) {
        int64_t columns = p->ow - ox < COLUMNS ? p->ow - ox : COLUMNS;
        s.ix = ox * p->sw - p->pl;
        s.at = (iy + ky * p->dh) * p->x_row + s.ix * p->x_pixel;
        bool edges = columns < COLUMNS || s.ix < 0 || s.ix + reach >= p->w;
        hn_vf sum[COLUMNS];
        for (int q = 0; q < COLUMNS; q++)
            sum[q] = bias != NULL ? hn_v_load_n(bias + first, n) : hn_v_set1(0.0f);
        strip_of(p, edges)(p, &s, sum);
        int64_t at_r = image * p->r_image + oy * p->r_row + ox * p->r_pixel + first;
        int64_t at_y = image * p->y_image + oy * p->y_row + ox * p->y_pixel + first;
        finish(p, sum, r != NULL ? r + at_r : NULL, (float *)call->ptr[HN_CONV_Y] + at_y, columns,
               n);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    for (int64_t task = begin; task < end; task++)
        run_row(call, task / p->oh / vectors_of(p), task / p->oh % vectors_of(p), task % p->oh);
}

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return (size_t)(vectors_of(p) * p->kh * p->kw * group_in(p) * HN_VL) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {HN_VL, p->groups, p->c,   p->n,   p->kh,
                             p->kw, p->w_o,    p->w_i, p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static int64_t pack_tasks(const void *problem) { return vectors_of(problem); }

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    int64_t floats = p->kh * p->kw * group_in(p) * HN_VL;
    for (int64_t task = begin; task < end; task++) {
        int64_t first = task * HN_VL, n = p->n - first < HN_VL ? p->n - first : HN_VL;
        hn_columns_pack(p, plain->data, first, n, HN_VL, (float *)dst + task * floats);
    }
}

const hn_kernel HN_V_ROW(conv_f32_grouped) = {.name = HN_V_NAME "_grouped",
                                              .isa = HN_V_ISA,
                                              .order = HN_V_NAME "_grouped",
                                              .ok = ok,
                                              .work = work,
                                              .run = run,
                                              .packed_bytes = packed_bytes,
                                              .pack_key = pack_key,
                                              .pack_tasks = pack_tasks,
                                              .pack = pack};
