/* Depthwise convolution over pixels stored as bf16: every channel has a window of its own.
 *
 * BFMLALB and BFMLALT multiply the even and the odd of eight bf16 and add to f32, at the rate of FMA:
 * so pixels need not become f32 first, and weights are rounded to bf16. Vectors run along channels. A
 * strip is COLUMNS neighbouring outputs of a row, eight channels each, summed in two registers each;
 * an input pixel, once loaded, goes into every output whose window it is in, as in
 * conv_f32_depthwise_body.h. What lies in the padding is not multiplied, so that infinite weights do
 * no harm.
 *
 * The sums of a strip wait on the stack until all its channels are summed; then they become outputs, by
 * one function for each activation.
 *
 * A task is an output row of a block of channels, in the order of conv_f32_depthwise_body.h.
 *
 * Weights are packed [c/8][ky][kx][8]. A sum runs through the taps in order.
 */
#include <math.h>
#include <string.h>

#include "base/least.h"
#include "simd/neon.h"

#include "kernels/act_bf16.h"
#include "kernels/conv_f32/conv_f32.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

enum {
    COLUMNS = 8,
    LANES = 8,   /* channels of a vector */
    BLOCK = 256, /* channels: a stretch of each pixel long enough for the CPU to fetch it ahead */
};

/* Kernel width and stride. */
#define WINDOWS(X) X(3, 1) X(3, 2) X(5, 1) X(5, 2) X(7, 1)

/* The even and the odd channels of eight. */
typedef struct split {
    hn_vf even, odd;
} split;

typedef struct strip {
    const hn_conv_f32 *p;
    const uint16_t *x; /* of the first tap, perhaps outside */
    const uint16_t *w; /* of the first row of the window inside the image */
    const float *bias;
    const void *r;
    void *y;
    int64_t r_at, y_at; /* of the first output */
    int64_t ix;         /* column of the first tap */
    int64_t rows;       /* of the window inside the image */
    int64_t columns;    /* outputs */
    int64_t n;          /* channels */
    split *sums;        /* [vector][COLUMNS] */
} strip;

static bool outside(int64_t i, int64_t n) { return i < 0 || i >= n; }

/* ---- sums ---- */

/* n channels, at most 8; zeros behind them. */
HN_INLINE bfloat16x8_t load8(const uint16_t *x, int64_t n) {
    if (n == LANES) return vreinterpretq_bf16_u16(vld1q_u16(x));
    uint16_t v[LANES] = {0};
    for (int64_t i = 0; i < n; i++) v[i] = x[i];
    return vreinterpretq_bf16_u16(vld1q_u16(v));
}

HN_INLINE void add_product(split *sum, bfloat16x8_t x, bfloat16x8_t w) {
    sum->even = vbfmlalbq_f32(sum->even, x, w);
    sum->odd = vbfmlaltq_f32(sum->odd, x, w);
}

/* n channels from `c` on; kw and sw are constants. */
HN_INLINE void sum_window(const strip *s, int64_t c, split *sum, int kw, int sw, bool edges,
                          int64_t n) {
    const int64_t pixel = s->p->x_pixel, line = s->p->dh * s->p->x_row, width = s->p->w;
    const uint16_t *row = s->x + c, *w = s->w + c * s->p->kh * kw;
    for (int64_t ky = s->rows; ky > 0; ky--, row += line) {
        const uint16_t *at = row;
        bfloat16x8_t tap[8];
        UNROLL for (int k = 0; k < kw; k++, w += LANES) tap[k] = load8(w, LANES);
        UNROLL for (int i = 0; i < (COLUMNS - 1) * sw + kw; i++, at += pixel) {
            if (edges && outside(s->ix + i, width)) continue;
            bfloat16x8_t x = load8(at, n);
            UNROLL for (int q = 0; q < COLUMNS; q++) {
                int kx = i - q * sw;
                if (kx >= 0 && kx < kw) add_product(&sum[q], x, tap[kx]);
            }
        }
    }
}

/* The same for every window. */
HN_INLINE void sum_any(const strip *s, int64_t c, split *sum, bool edges, int64_t n) {
    const hn_conv_f32 *p = s->p;
    const uint16_t *w = s->w + c * p->kh * p->kw;
    for (int64_t ky = 0; ky < s->rows; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++, w += LANES) {
            bfloat16x8_t wk = load8(w, LANES);
            int64_t tap = c + ky * p->dh * p->x_row + kx * p->dw * p->x_pixel;
            UNROLL for (int q = 0; q < COLUMNS; q++) {
                if (edges && outside(s->ix + kx * p->dw + q * p->sw, p->w)) continue;
                add_product(&sum[q], load8(s->x + (tap + q * p->sw * p->x_pixel), n), wk);
            }
        }
}

/* kw = 0: not constant. */
HN_INLINE void compute(const strip *s, int64_t c, int kw, int sw, bool edges, int64_t n) {
    split sum[COLUMNS], *to = s->sums + c / LANES * COLUMNS;
    UNROLL for (int q = 0; q < COLUMNS; q++) sum[q].even = sum[q].odd = hn_v_set1(0.0f);
    if (kw > 0)
        sum_window(s, c, sum, kw, sw, edges, n);
    else
        sum_any(s, c, sum, edges, n);
    UNROLL for (int q = 0; q < COLUMNS; q++) to[q] = sum[q];
}

/* All channels of a strip. */
HN_INLINE void compute_all(const strip *s, int kw, int sw, bool edges) {
    int64_t c = 0;
    for (; c + LANES <= s->n; c += LANES) compute(s, c, kw, sw, edges, LANES);
    if (c < s->n) compute(s, c, kw, sw, true, s->n - c);
}

typedef void strip_fn(const strip *s);

#define STRIPS(kw, sw)                                                               \
    static void inner_##kw##_##sw(const strip *s) { compute_all(s, kw, sw, false); } \
    static void edge_##kw##_##sw(const strip *s) { compute_all(s, kw, sw, true); }
WINDOWS(STRIPS)
STRIPS(0, 0)

static strip_fn *strip_of(const hn_conv_f32 *p, bool edges) {
#define CHOOSE(width, stride)                            \
    if (p->kw == width && p->sw == stride && p->dw == 1) \
        return edges ? edge_##width##_##stride : inner_##width##_##stride;
    WINDOWS(CHOOSE)
    return edges ? edge_0_0 : inner_0_0;
}

/* ---- sums become outputs ---- */

HN_INLINE split split_floats(const float *x, int64_t n) {
    float v[LANES] = {0};
    if (n < LANES) {
        for (int64_t i = 0; i < n; i++) v[i] = x[i];
        x = v;
    }
    float32x4_t low = vld1q_f32(x), high = vld1q_f32(x + 4);
    return (split){vuzp1q_f32(low, high), vuzp2q_f32(low, high)};
}

HN_INLINE split split_bf16(const uint16_t *x, int64_t n) {
    uint32x4_t v = vreinterpretq_u32_bf16(load8(x, n));
    return (split){vreinterpretq_f32_u32(vshlq_n_u32(v, 16)),
                   vreinterpretq_f32_u32(vandq_u32(v, vdupq_n_u32(0xffff0000)))};
}

HN_INLINE void store_floats(float *y, split v, int64_t n) {
    float some[LANES], *to = n < LANES ? some : y;
    vst1q_f32(to, vzip1q_f32(v.even, v.odd));
    vst1q_f32(to + 4, vzip2q_f32(v.even, v.odd));
    for (int64_t i = 0; i < n && n < LANES; i++) y[i] = some[i];
}

HN_INLINE void store_bf16(uint16_t *y, split v, int64_t n) {
    uint16_t some[LANES];
    uint16x8_t even = vreinterpretq_u16_bf16(vcvtq_low_bf16_f32(v.even));
    uint16x8_t odd = vreinterpretq_u16_bf16(vcvtq_low_bf16_f32(v.odd));
    vst1q_u16(n < LANES ? some : y, vzip1q_u16(even, odd));
    for (int64_t i = 0; i < n && n < LANES; i++) y[i] = some[i];
}

/* `count` outputs of channels [c, c + n), n at most 8, from column q on. */
HN_INLINE void finish_lanes(const strip *s, int64_t c, int64_t q, const int count, hn_act_kind kind,
                            hn_vf a, hn_vf b, split bias, bool y_bf16, int64_t n) {
    const hn_conv_f32 *p = s->p;
    const split *sums = s->sums + c / LANES * COLUMNS + q;
    const int64_t r_pixel = p->r_pixel, y_pixel = p->y_pixel;
    int64_t from = s->r_at + c + q * r_pixel, to = s->y_at + c + q * y_pixel;
    const void *of = s->r;
    void *y = s->y;
    hn_vf v[2 * HN_ACT_BF16_MOST];
    UNROLL for (int i = 0; i < count; i++) {
        v[2 * i] = hn_v_add(sums[i].even, bias.even);
        v[2 * i + 1] = hn_v_add(sums[i].odd, bias.odd);
    }
    if (of != NULL) {
        const bool r_bf16 = p->r_type == HN_FLOAT_BF16;
        UNROLL for (int i = 0; i < count; i++, from += r_pixel) {
            split r = r_bf16 ? split_bf16((const uint16_t *)of + from, n)
                             : split_floats((const float *)of + from, n);
            v[2 * i] = hn_v_add(v[2 * i], r.even), v[2 * i + 1] = hn_v_add(v[2 * i + 1], r.odd);
        }
    }
    hn_v_act_bf16(v, count, kind, a, b);
    UNROLL for (int i = 0; i < count; i++, to += y_pixel) {
        split both = {v[2 * i], v[2 * i + 1]};
        if (y_bf16)
            store_bf16((uint16_t *)y + to, both, n);
        else
            store_floats((float *)y + to, both, n);
    }
}

/* Channels [c, c + n), all columns. */
HN_INLINE void finish_vector(const strip *s, int64_t c, hn_act_kind kind, hn_vf a, hn_vf b,
                             bool y_bf16, int64_t n) {
    split bias = {hn_v_set1(0.0f), hn_v_set1(0.0f)};
    int64_t q = 0;
    if (s->bias != NULL) bias = split_floats(s->bias + c, n);
    for (; q + HN_ACT_BF16_MOST <= s->columns; q += HN_ACT_BF16_MOST)
        finish_lanes(s, c, q, HN_ACT_BF16_MOST, kind, a, b, bias, y_bf16, n);
    for (; q < s->columns; q++) finish_lanes(s, c, q, 1, kind, a, b, bias, y_bf16, n);
}

HN_INLINE void finish_all(const strip *s, hn_act_kind kind, bool y_bf16) {
    hn_vf a = hn_v_set1(s->p->act.a), b = hn_v_set1(s->p->act.b);
    int64_t c = 0;
    for (; c + LANES <= s->n; c += LANES) finish_vector(s, c, kind, a, b, y_bf16, LANES);
    if (c < s->n) finish_vector(s, c, kind, a, b, y_bf16, s->n - c);
}

#define HN_X(name, formula)                                               \
    static __attribute__((noinline)) void finish_##name(const strip *s) { \
        if (s->p->y_type == HN_FLOAT_BF16)                                \
            finish_all(s, HN_ACT_##name, true);                           \
        else                                                              \
            finish_all(s, HN_ACT_##name, false);                          \
    }
HN_ACT_LIST(HN_X)
#undef HN_X

static strip_fn *const finish[HN_ACT_COUNT_] = {
#define HN_X(name, formula) [HN_ACT_##name] = finish_##name,
    HN_ACT_LIST(HN_X)
#undef HN_X
};

/* ---- rows ---- */

static int64_t blocks_of(const hn_conv_f32 *p) { return (p->c + BLOCK - 1) / BLOCK; }

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->groups != p->c || p->n != p->c) return *why = "not depthwise", false;
    if (p->x_type != HN_FLOAT_BF16) return *why = "pixels of f32", false;
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
    const float *bias = call->ptr[HN_CONV_BIAS];
    split sums[BLOCK / LANES * COLUMNS];
    int64_t iy = oy * p->sh - p->pt, reach = (COLUMNS - 1) * p->sw + (p->kw - 1) * p->dw;
    int64_t ky = iy < 0 ? (-iy + p->dh - 1) / p->dh : 0;
    int64_t ky_end = iy < p->h ? (p->h - iy + p->dh - 1) / p->dh : 0;
    const uint16_t *x = (const uint16_t *)call->ptr[HN_CONV_X] + image * p->x_image + first;
    strip s = {.p = p,
               .sums = sums,
               .w = (const uint16_t *)call->ptr[HN_CONV_W] + (first * p->kh + ky * LANES) * p->kw,
               .bias = bias != NULL ? bias + first : NULL,
               .r = call->ptr[HN_CONV_R],
               .y = call->ptr[HN_CONV_Y],
               .rows = hn_least(ky_end, p->kh) - ky,
               .n = end - first};
    for (int64_t ox = 0; ox < p->ow; ox += COLUMNS) {
        s.columns = hn_least(p->ow - ox, COLUMNS);
        s.ix = ox * p->sw - p->pl;
        s.x = x + ((iy + ky * p->dh) * p->x_row + s.ix * p->x_pixel);
        s.y_at = image * p->y_image + oy * p->y_row + ox * p->y_pixel + first;
        s.r_at = image * p->r_image + oy * p->r_row + ox * p->r_pixel + first;
        strip_of(p, s.columns < COLUMNS || s.ix < 0 || s.ix + reach >= p->w)(&s);
        finish[p->act.kind](&s);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    int64_t blocks = blocks_of(p), upper = (p->oh + 1) / 2;
    for (int64_t task = begin; task < end; task++) {
        int64_t at = task % (blocks * p->oh), top = 0, rows = upper;
        if (at >= blocks * upper) at -= blocks * upper, top = upper, rows = p->oh - upper;
        int64_t first = at / rows * BLOCK;
        run_row(call, task / (blocks * p->oh), top + at % rows, first,
                hn_least(p->c, first + BLOCK));
    }
}

/* ---- packing ---- */

static int64_t vectors_of(const hn_conv_f32 *p) { return (p->c + LANES - 1) / LANES; }

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return (size_t)(vectors_of(p) * LANES * p->kh * p->kw) * sizeof(uint16_t);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {p->c, p->kh, p->kw, p->w_o, p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task */
    const hn_conv_f32 *p = problem;
    const hn_any_f32 *w = plain->data;
    uint16_t *to = dst;
    for (int64_t c0 = 0; c0 < p->c; c0 += LANES)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t kx = 0; kx < p->kw; kx++, to += LANES) {
                float v[LANES] = {0};
                for (int64_t c = c0; c < hn_least(p->c, c0 + LANES); c++)
                    v[c - c0] = w[c * p->w_o + ky * p->w_y + kx * p->w_x];
                store_bf16(to, split_floats(v, LANES), LANES);
            }
}

const hn_kernel hn_conv_f32_depthwise_neoni8mm = {.name = "neoni8mm_depthwise_bf16",
                                                  .isa = HN_ISA_NEONI8MM,
                                                  .order = "taps; one product",
                                                  .precision = HN_PRECISION_BF16,
                                                  .ok = ok,
                                                  .work = work,
                                                  .run = run,
                                                  .packed_bytes = packed_bytes,
                                                  .pack_key = pack_key,
                                                  .pack = pack};
