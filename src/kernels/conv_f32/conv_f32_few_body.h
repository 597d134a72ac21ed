/* Convolution to few outputs (1 to 4; large windows with AVX-512 up to 8), over the vector vocabulary:
 * masks, depth maps, images, gradients of first layers.
 *
 * Elsewhere vectors run along outputs, and most of their lanes would be empty. Here they run along
 * the channels of x, and each output is the sum of the lanes of one vector:
 *
 *   x   |c c c c c c c c|c c c c c c c c| ...     taps of a row that lie side by side are one run
 *   w   |. . . . . . . .|. . . . . . . .| ...     of weights [o][ky][kx][c]
 *   sum |. . . . . . . .|                         added up at the end
 *
 * Neighbouring pixels are computed together, so that each vector of weights is loaded for several.
 * Pixels whose window leaves the image to the left or right are computed alone, from the taps
 * inside.
 *
 * A task is a stretch of an output row. Its results are collected in lane scratch, where the
 * activation is computed for all of them at once.
 */
#include <string.h>

#include "base/divide.h"
#include "base/least.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32_act.h"

enum {
    MOST = HN_VL == 16 ? 8 : 4,  /* outputs, */
    MOST_SMALL = 4,              /* of windows that other rows do well, as by Winograd, */
    SMALL = 9,                   /* of so many taps at most */
    ADDING_UP = 8,               /* instructions for the lanes of a sum */
    SUMS = HN_VL == 16 ? 16 : 8, /* vectors that the registers hold beside operands */
    STRETCH = 256,               /* pixels */
};

/* Pixels computed together, for n outputs. */
#define PIXELS(n) ((n) <= SUMS / 4 ? 4 : 2)

static int64_t stretches_of(const hn_conv_f32 *p) { return (p->ow + STRETCH - 1) / STRETCH; }

/* Whether taps of a row lie side by side. */
static bool adjacent(const hn_conv_f32 *p) { return p->dw == 1 && p->x_pixel == p->c; }

/* Whether that takes less than sums of one vector for all outputs, most of whose lanes are empty. */
static bool pays(const hn_conv_f32 *p) {
    int64_t run = p->c * (adjacent(p) ? p->kw : 1), runs = p->kh * (adjacent(p) ? 1 : p->kw);
    int64_t vectors = runs * ((run + HN_VL - 1) / HN_VL);
    return 4 * p->n * (vectors + ADDING_UP) < 3 * p->c * p->kh * p->kw;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->n > MOST) return *why = "more than a few outputs", false;
    if (p->n > MOST_SMALL && (p->kh * p->kw <= SMALL || !pays(p)))
        return *why = "more than four outputs of small windows", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    if (p->c * (adjacent(p) ? p->kw : 1) < HN_VL) return *why = "few channels", false;
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->batch * p->oh * stretches_of(p)},
                   .lane_scratch = STRETCH * MOST * sizeof(float)};
}

/* What is inside the image of the windows of a row of outputs: taps [ky, ky_end) by [kx, kx_end),
 * and where in x the first of them is. */
typedef struct window {
    const float *x;
    int64_t ky, ky_end, kx, kx_end;
} window;

/* The n outputs of `pixels` neighbouring ones, to out[pixel][n]. */
HN_INLINE void compute(const hn_conv_f32 *p, const window *v, const float *weights, float *out,
                       int n, int pixels) {
    hn_vf sum[MOST_SMALL * 4];
    int64_t taps = v->kx_end - v->kx, run = adjacent(p) ? taps * p->c : p->c;
    int64_t runs = adjacent(p) ? 1 : taps, next = p->kh * p->kw * p->c, step = p->sw * p->x_pixel;
    for (int i = 0; i < n * pixels; i++) sum[i] = hn_v_set1(0.0f);
    for (int64_t ky = v->ky; ky < v->ky_end; ky++)
        for (int64_t r = 0; r < runs; r++) {
            const float *x = v->x + (ky - v->ky) * p->dh * p->x_row + r * p->dw * p->x_pixel;
            const float *w = weights + (ky * p->kw + v->kx + r) * p->c;
            int64_t i = 0;
            for (; i + HN_VL <= run; i += HN_VL) {
                hn_vf at[4];
                for (int q = 0; q < pixels; q++) at[q] = hn_v_load(x + q * step + i);
                for (int o = 0; o < n; o++) {
                    hn_vf wo = hn_v_load(w + o * next + i);
                    for (int q = 0; q < pixels; q++)
                        sum[o * pixels + q] = hn_v_fma(at[q], wo, sum[o * pixels + q]);
                }
            }
            if (i == run) continue;
            for (int o = 0; o < n; o++) {
                hn_vf wo = hn_v_load_n(w + o * next + i, run - i);
                for (int q = 0; q < pixels; q++)
                    sum[o * pixels + q] =
                        hn_v_fma(hn_v_load_n(x + q * step + i, run - i), wo, sum[o * pixels + q]);
            }
        }
    for (int q = 0; q < pixels; q++)
        for (int o = 0; o < n; o++) out[q * n + o] = hn_v_sum(sum[o * pixels + q]);
}

/* Outputs [ox, end) of row oy. */
HN_INLINE void compute_row(const hn_conv_f32 *p, const float *image, const float *weights,
                           int64_t oy, int64_t ox, int64_t end, float *out, int n) {
    int64_t iy = oy * p->sh - p->pt;
    window v = {.ky = iy < 0 ? hn_least(hn_ceil_over(-iy, p->dh), p->kh) : 0};
    v.ky_end = iy < p->h ? hn_least(hn_ceil_over(p->h - iy, p->dh), p->kh) : v.ky;
    while (ox < end) {
        int64_t ix = ox * p->sw - p->pl, reach = (p->kw - 1) * p->dw;
        bool together =
            end - ox >= PIXELS(n) && ix >= 0 && ix + (PIXELS(n) - 1) * p->sw + reach < p->w;
        v.kx = ix < 0 ? hn_least(hn_ceil_over(-ix, p->dw), p->kw) : 0;
        v.kx_end = ix < p->w ? hn_least(hn_ceil_over(p->w - ix, p->dw), p->kw) : v.kx;
        if (v.kx_end < v.kx) v.kx_end = v.kx;
        v.x = image;
        if (v.ky < v.ky_end && v.kx < v.kx_end)
            v.x += (iy + v.ky * p->dh) * p->x_row + (ix + v.kx * p->dw) * p->x_pixel;
        if (together)
            compute(p, &v, weights, out, n, PIXELS(n));
        else
            compute(p, &v, weights, out, n, 1);
        int64_t done = together ? PIXELS(n) : 1;
        ox += done, out += done * n;
    }
}

typedef void row_fn(const hn_conv_f32 *p, const float *image, const float *weights, int64_t oy,
                    int64_t ox, int64_t end, float *out);

#define ROW(n)                                                                          \
    static void row_##n(const hn_conv_f32 *p, const float *image, const float *weights, \
                        int64_t oy, int64_t ox, int64_t end, float *out) {              \
        compute_row(p, image, weights, oy, ox, end, out, n);                            \
    }
ROW(1)
ROW(2)
ROW(3)
ROW(4)
#if HN_VL == 16
ROW(5)
ROW(6)
ROW(7)
ROW(8)
static row_fn *const rows[MOST] = {row_1, row_2, row_3, row_4, row_5, row_6, row_7, row_8};
#else
static row_fn *const rows[MOST] = {row_1, row_2, row_3, row_4};
#endif

/* Sums become results, at y; r is what is added to them. */
static void finish(const hn_conv_f32 *p, const float *bias, const float *r, float *y, float *out,
                   int64_t pixels) {
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t o = 0; o < p->n; o++) {
            if (bias != NULL) out[i * p->n + o] += bias[o];
            if (r != NULL) out[i * p->n + o] += r[i * p->r_pixel + o];
        }
    if (p->act.kind != HN_ACT_NONE) act_tile(&p->act, &out, 1, 0, pixels * p->n);
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t o = 0; o < p->n; o++) y[i * p->y_pixel + o] = out[i * p->n + o];
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    const float *r = call->ptr[HN_CONV_R];
    int64_t stretches = stretches_of(p);
    for (int64_t task = begin; task < end; task++) {
        int64_t b = task;
        const int64_t ox = hn_digit(&b, stretches) * STRETCH, oy = hn_digit(&b, p->oh);
        const int64_t to = hn_least(ox + STRETCH, p->ow);
        rows[p->n - 1](p, (const float *)call->ptr[HN_CONV_X] + b * p->x_image,
                       call->ptr[HN_CONV_W], oy, ox, to, lane);
        int64_t at_r = b * p->r_image + oy * p->r_row + ox * p->r_pixel;
        int64_t at_y = b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        finish(p, call->ptr[HN_CONV_BIAS], r != NULL ? r + at_r : NULL,
               (float *)call->ptr[HN_CONV_Y] + at_y, lane, to - ox);
    }
}

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return (size_t)(p->n * p->kh * p->kw * p->c) * sizeof(float);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {p->n, p->c, p->kh, p->kw, p->w_o, p->w_i, p->w_y, p->w_x};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    (void)begin, (void)end; /* one task */
    const hn_conv_f32 *p = problem;
    const hn_any_f32 *w = plain->data;
    float *out = dst;
    for (int64_t o = 0; o < p->n; o++)
        for (int64_t tap = 0; tap < p->kh * p->kw; tap++)
            for (int64_t i = 0; i < p->c; i++)
                *out++ = w[o * p->w_o + i * p->w_i + tap / p->kw * p->w_y + tap % p->kw * p->w_x];
}

const hn_kernel HN_V_ROW(conv_f32_few) = {.name = HN_V_NAME "_few",
                                          .isa = HN_V_ISA,
                                          .order = HN_V_NAME "_few",
                                          .ok = ok,
                                          .work = work,
                                          .run = run,
                                          .packed_bytes = packed_bytes,
                                          .pack_key = pack_key,
                                          .pack = pack};
