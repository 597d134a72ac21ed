/* Depthwise convolution over the vector vocabulary: every channel has a window of its own.
 *
 * Vectors run along channels. A strip is COLUMNS neighbouring outputs of a row, one vector of
 * channels each, summed in registers; each row of the window is walked once, and an input pixel,
 * once loaded, goes into every output whose window it is in:
 *
 *     input row    . . a b c d e f g h i j . .
 *     3x3 window         `-v-' `-v-'
 *     outputs              0 1 2 3 4 5 6 7         10 loads for 24 multiplications
 *
 * That needs a kernel width and a stride known to the compiler: the common ones are (WINDOWS), the
 * others load a pixel for every multiplication. A strip that touches the border, or has fewer
 * outputs, takes a variant that asks for every pixel whether it is there; what is not there is not
 * multiplied, so that infinite weights do no harm.
 *
 * A task is an output row of a block of channels; the rows of a block follow each other, so that
 * its input rows are still near when the window comes to them again. But all blocks of the upper
 * half of an image come before those of the lower half: so two threads share it as those rows do
 * that cut images into pixels, and each finds in its cache what it wrote itself.
 *
 * Weights are packed [c/HN_VL][ky][kx][HN_VL]. A sum runs through the taps in order, from the bias.
 */
#include <math.h>

#include "base/divide.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32_act.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

enum {
    COLUMNS = 8,
    BLOCK = 256, /* channels: a stretch of each pixel long enough for the CPU to fetch it ahead */
};

/* Kernel width and stride. */
#define WINDOWS(X) X(3, 1) X(3, 2) X(5, 1) X(5, 2) X(7, 1)

typedef struct strip {
    const float *x; /* the image, at the next channel */
    const float *w; /* of the first row of the window inside the image */
    const float *bias, *r;
    float *y;
    int64_t at, ix;  /* of the first tap: place in x and column, perhaps outside */
    int64_t rows;    /* of the window inside the image */
    int64_t columns; /* outputs */
    int64_t n;       /* channels left */
    float lo, hi;
} strip;

static bool outside(int64_t i, int64_t n) { return i < 0 || i >= n; }

/* The sums of a strip; kw and sw are constants. */
HN_INLINE void sum_window(const hn_conv_f32 *p, const strip *s, hn_vf *sum, int kw, int sw,
                          bool edges, int64_t n) {
    for (int64_t ky = 0; ky < s->rows; ky++) {
        int64_t row = s->at + ky * p->dh * p->x_row;
        hn_vf w[8];
        UNROLL for (int k = 0; k < kw; k++) w[k] = hn_v_load(s->w + (ky * kw + k) * HN_VL);
        UNROLL for (int i = 0; i < (COLUMNS - 1) * sw + kw; i++) {
            if (edges && outside(s->ix + i, p->w)) continue;
            hn_vf x = hn_v_load_part(s->x + (row + i * p->x_pixel), n);
            UNROLL for (int q = 0; q < COLUMNS; q++) {
                int kx = i - q * sw;
                if (kx >= 0 && kx < kw) sum[q] = hn_v_fma(x, w[kx], sum[q]);
            }
        }
    }
}

/* The same for every window. */
HN_INLINE void sum_any(const hn_conv_f32 *p, const strip *s, hn_vf *sum, bool edges, int64_t n) {
    const float *w = s->w;
    for (int64_t ky = 0; ky < s->rows; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++, w += HN_VL) {
            hn_vf wk = hn_v_load(w);
            int64_t tap = s->at + ky * p->dh * p->x_row + kx * p->dw * p->x_pixel;
            UNROLL for (int q = 0; q < COLUMNS; q++) {
                if (edges && outside(s->ix + kx * p->dw + q * p->sw, p->w)) continue;
                hn_vf x = hn_v_load_part(s->x + (tap + q * p->sw * p->x_pixel), n);
                sum[q] = hn_v_fma(x, wk, sum[q]);
            }
        }
}

/* kw = 0: not constant. */
HN_INLINE void compute(const hn_conv_f32 *p, const strip *s, int kw, int sw, bool edges,
                       int64_t n) {
    hn_vf sum[COLUMNS], lo = hn_v_set1(s->lo), hi = hn_v_set1(s->hi);
    hn_vf bias = s->bias != NULL ? hn_v_load_part(s->bias, n) : hn_v_set1(0.0f);
    UNROLL for (int q = 0; q < COLUMNS; q++) sum[q] = bias;
    if (kw > 0)
        sum_window(p, s, sum, kw, sw, edges, n);
    else
        sum_any(p, s, sum, edges, n);
    UNROLL for (int q = 0; q < COLUMNS; q++) {
        if (edges && q >= s->columns) break;
        if (s->r != NULL) sum[q] = hn_v_add(sum[q], hn_v_load_part(s->r + q * p->r_pixel, n));
        hn_v_store_part(s->y + q * p->y_pixel, hn_v_min(hi, hn_v_max(lo, sum[q])), n);
    }
}

/* All channels of a strip. */
HN_INLINE void compute_all(const hn_conv_f32 *p, strip s, int kw, int sw, bool edges) {
    for (; s.n >= HN_VL; s.n -= HN_VL) {
        compute(p, &s, kw, sw, edges, HN_VL);
        s.x += HN_VL, s.y += HN_VL, s.w += p->kh * p->kw * HN_VL;
        if (s.bias != NULL) s.bias += HN_VL;
        if (s.r != NULL) s.r += HN_VL;
    }
    if (s.n > 0) compute(p, &s, kw, sw, edges, s.n);
}

typedef void strip_fn(const hn_conv_f32 *p, const strip *s);

#define STRIPS(kw, sw)                                                    \
    static void inner_##kw##_##sw(const hn_conv_f32 *p, const strip *s) { \
        compute_all(p, *s, kw, sw, false);                                \
    }                                                                     \
    static void edge_##kw##_##sw(const hn_conv_f32 *p, const strip *s) {  \
        compute_all(p, *s, kw, sw, true);                                 \
    }
WINDOWS(STRIPS)
STRIPS(0, 0)

static strip_fn *strip_of(const hn_conv_f32 *p, bool edges) {
#define CHOOSE(width, stride)                            \
    if (p->kw == width && p->sw == stride && p->dw == 1) \
        return edges ? edge_##width##_##stride : inner_##width##_##stride;
    WINDOWS(CHOOSE)
    return edges ? edge_0_0 : inner_0_0;
}

static int64_t blocks_of(const hn_conv_f32 *p) { return (p->c + BLOCK - 1) / BLOCK; }

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != p->c || p->n != p->c) return *why = "not depthwise", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * blocks_of(p) * p->oh}};
}

/* Output row oy of the channels [first, end) of an image. */
static void run_row(const hn_call *call, int64_t image, int64_t oy, int64_t first, int64_t end) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS], *r = call->ptr[HN_CONV_R];
    bool clip = p->act.kind == HN_ACT_CLIP;
    int64_t iy = oy * p->sh - p->pt, reach = (COLUMNS - 1) * p->sw + (p->kw - 1) * p->dw;
    int64_t ky = iy < 0 ? hn_ceil_over(-iy, p->dh) : 0;
    int64_t ky_end = iy < p->h ? hn_ceil_over(p->h - iy, p->dh) : 0;
    strip s = {.lo = clip ? p->act.a : -INFINITY, .hi = clip ? p->act.b : INFINITY};
    s.rows = (ky_end < p->kh ? ky_end : p->kh) - ky;
    for (int64_t ox = 0; ox < p->ow; ox += COLUMNS) {
        s.columns = p->ow - ox < COLUMNS ? p->ow - ox : COLUMNS;
        s.ix = ox * p->sw - p->pl;
        s.at = (iy + ky * p->dh) * p->x_row + s.ix * p->x_pixel;
        bool edges = s.columns < COLUMNS || s.ix < 0 || s.ix + reach >= p->w;
        int64_t to = image * p->y_image + oy * p->y_row + ox * p->y_pixel + first;
        int64_t from = image * p->r_image + oy * p->r_row + ox * p->r_pixel + first;
        s.n = end - first;
        s.x = (const float *)call->ptr[HN_CONV_X] + image * p->x_image + first;
        s.w = (const float *)call->ptr[HN_CONV_W] + (first * p->kh + ky * HN_VL) * p->kw;
        s.bias = bias != NULL ? bias + first : NULL;
        s.r = r != NULL ? r + from : NULL;
        s.y = (float *)call->ptr[HN_CONV_Y] + to;
        strip_of(p, edges)(p, &s);
        if (p->act.kind == HN_ACT_NONE || clip) continue;
        float *written[COLUMNS];
        for (int64_t i = 0; i < s.columns; i++) written[i] = s.y + i * p->y_pixel;
        act_tile(&p->act, written, (int)s.columns, 0, s.n);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    int64_t blocks = blocks_of(p);
    int64_t upper = (p->oh + 1) / 2;
    for (int64_t task = begin; task < end; task++) {
        int64_t image = task, at = hn_digit(&image, blocks * p->oh), top = 0, rows = upper;
        if (at >= blocks * upper) at -= blocks * upper, top = upper, rows = p->oh - upper;
        const int64_t row = top + hn_digit(&at, rows), first = at * BLOCK;
        run_row(call, image, row, first, p->c - first < BLOCK ? p->c : first + BLOCK);
    }
}

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return (size_t)((p->c + HN_VL - 1) / HN_VL * HN_VL * p->kh * p->kw) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {HN_VL, p->c, p->kh, p->kw, p->w_o, p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task */
    const hn_conv_f32 *p = problem;
    const hn_any_f32 *w = plain->data;
    float *out = dst;
    for (int64_t c0 = 0; c0 < p->c; c0 += HN_VL)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t kx = 0; kx < p->kw; kx++)
                for (int64_t c = c0; c < c0 + HN_VL; c++)
                    *out++ = c < p->c ? w[c * p->w_o + ky * p->w_y + kx * p->w_x] : 0.0f;
}

const hn_kernel HN_V_ROW(conv_f32_depthwise) = {.name = HN_V_NAME "_depthwise",
                                                .isa = HN_V_ISA,
                                                .order = HN_V_NAME "_depthwise",
                                                .ok = ok,
                                                .work = work,
                                                .run = run,
                                                .packed_bytes = packed_bytes,
                                                .pack_key = pack_key,
                                                .pack = pack};
