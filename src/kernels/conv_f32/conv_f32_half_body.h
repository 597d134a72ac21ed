/* Products of a matrix of few rows by weights that f16 or bf16 holds exactly, over the vector
 * vocabulary. Such products wait for weights from memory; these are kept in 16 bits, which halves
 * the wait, and become f32 in registers.
 *
 *   weights [panel][k][WIDTH] of 16 bits, 64-byte aligned, zeros in columns from n on
 *      |
 *   x [pixels][k] -+- y [pixels][n]
 *
 * A task is a panel. A lane takes several panels at once: memory feeds several streams faster than
 * one, and there are enough sums to hide the latency of each. Pixels that do not fit into registers
 * together go through the panels one group after the other.
 *
 * Sums are added up in the same order as by the direct rows, so that the bits are the same: bias + r,
 * then one fused multiply-add per k.
 */
#include <string.h>

#include "base/least.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_columns.h"
#include "kernels/conv_f32/conv_f32_pixels.h"
#include "kernels/tile_f32/tile_f32_act.h"

enum {
    VECTORS = HN_VL == 4 ? 4 : 2, /* of a panel */
    WIDTH = VECTORS * HN_VL,
    SUMS = HN_VL == 8 ? 12 : 24,       /* vectors that the registers hold beside operands */
    MOST_PIXELS = HN_VL == 16 ? 8 : 6, /* that are computed together */
    MOST_PANELS = HN_VL == 16  ? 8
                  : HN_VL == 8 ? 6
                               : 4,
    /* Weights are fetched so many ahead where panels are too few for the CPU to do it: 8 pixels by
     * 768x32000 weights take 4.2 instead of 10 ms (AVX-512, Granite Rapids). */
    AHEAD = 2048,
    FEW_PANELS = 3,
    LEAST_WEIGHTS = 16 << 10, /* with fewer, weights of f32 stay in L1 too */
};

/* Panels that are computed together. */
#define PANELS(pixels) \
    (SUMS / VECTORS / (pixels) < MOST_PANELS ? SUMS / VECTORS / (pixels) : MOST_PANELS)

static int64_t panels_of(const hn_conv_f32 *p) { return (p->n + WIDTH - 1) / WIDTH; }

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->w_fits == HN_FLOAT_F32) return *why = "weights need more than 16 bits", false;
    if (!hn_conv_few_pixels(p, why)) return false;
    if (p->c * p->n < LEAST_WEIGHTS) return *why = "few weights", false;
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {panels_of(problem)}};
}

/* ---- packing ---- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return (size_t)(panels_of(p) * p->c * WIDTH) * sizeof(uint16_t);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {p->w_fits, p->c, p->n, p->w_o, p->w_i};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static int64_t pack_tasks(const void *problem) { return panels_of(problem); }

static void store_half(hn_float type, uint16_t *to, hn_vf x) {
    if (type == HN_FLOAT_F16)
        hn_v_store_f16(to, x);
    else
        hn_v_store_upper(to, x);
}

/* Channels that are packed for all panels before the next: of weights [k][n] so few that their
 * pages stay known. */
static int64_t channels_of(const hn_conv_f32 *p) {
    enum { NEAR = 64 };
    return p->w_o == 1 ? NEAR : hn_columns_channels(p);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    hn_columns_room room;
    for (int64_t c = 0, some; c < p->c; c += some) {
        some = hn_least(channels_of(p), p->c - c);
        for (int64_t at = begin * VECTORS; at < end * VECTORS; at++) {
            int64_t first = at * HN_VL, n = hn_least(HN_VL, p->n - first);
            uint16_t *to =
                (uint16_t *)dst + (at / VECTORS * p->c + c) * WIDTH + at % VECTORS * HN_VL;
            hn_columns k = {0};
            if (n > 0) k = hn_columns_of(p, plain->data, first, n, c, some, room);
            for (int64_t i = 0; i < some; i++)
                store_half(p->w_fits, to + i * WIDTH,
                           n > 0 ? hn_column(&k, i, 0) : hn_v_set1(0.0f));
        }
    }
}

/* ---- running ---- */

/* Some panels, for one group of pixels. */
typedef struct stretch {
    const hn_conv_pixels *at;
    const uint16_t *weights;
    const float *bias;
    int64_t k, column, n; /* columns to write */
    bool residual, bf16;
} stretch;

/* The first sums, columns [v * HN_VL, (v + 1) * HN_VL) of the stretch. */
HN_INLINE hn_vf first_sum(const stretch *s, int pixel, int v) {
    int64_t n = s->n - v * HN_VL, column = s->column + v * HN_VL;
    hn_vf sum = hn_v_set1(0.0f);
    if (n <= 0) return sum;
    n = n < HN_VL ? n : HN_VL;
    if (s->bias != NULL) sum = hn_v_load_part(s->bias + column, n);
    if (s->residual) sum = hn_v_add(sum, hn_v_load_part(s->at->r[pixel] + column, n));
    return sum;
}

HN_INLINE void multiply(const stretch *s, int pixels, int panels, bool bf16) {
    const int all = panels * VECTORS;
    hn_vf sum[MOST_PIXELS][MOST_PANELS * VECTORS];
    const float *x[MOST_PIXELS];
    for (int i = 0; i < pixels; i++) {
        x[i] = s->at->x[i];
        for (int v = 0; v < all; v++) sum[i][v] = first_sum(s, i, v);
    }
    const uint16_t *w = s->weights;
    int64_t next = s->k * WIDTH;
    for (int64_t k = 0; k < s->k; k++, w += WIDTH) {
        hn_vf at[MOST_PIXELS];
        for (int i = 0; i < pixels; i++) at[i] = hn_v_set1(x[i][k]);
        for (int i = 0; i < panels && panels <= FEW_PANELS; i++)
            __builtin_prefetch(w + i * next + AHEAD, 0, 3);
        for (int v = 0; v < all; v++) {
            const uint16_t *from = w + v / VECTORS * next + v % VECTORS * HN_VL;
            hn_vf b = bf16 ? hn_v_load_bf16(from) : hn_v_load_f16(from);
            for (int i = 0; i < pixels; i++) sum[i][v] = hn_v_fma(at[i], b, sum[i][v]);
        }
    }
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < all; v++) {
            int64_t n = hn_least(s->n - v * HN_VL, HN_VL);
            if (n > 0) hn_v_store_part(s->at->y[i] + s->column + v * HN_VL, sum[i][v], n);
        }
}

typedef void multiply_fn(const stretch *s);

#define MULTIPLY(pixels)                                     \
    static void multiply_##pixels(const stretch *s) {        \
        if (s->bf16)                                         \
            multiply(s, pixels, 1, true);                    \
        else                                                 \
            multiply(s, pixels, 1, false);                   \
    }                                                        \
    static void multiply_##pixels##_wide(const stretch *s) { \
        if (s->bf16)                                         \
            multiply(s, pixels, PANELS(pixels), true);       \
        else                                                 \
            multiply(s, pixels, PANELS(pixels), false);      \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
#if HN_VL == 16
MULTIPLY(7)
MULTIPLY(8)
#endif

/* [pixels - 1]: one panel, PANELS of them. */
static multiply_fn *const functions[MOST_PIXELS][2] = {
    {multiply_1, multiply_1_wide}, {multiply_2, multiply_2_wide}, {multiply_3, multiply_3_wide},
    {multiply_4, multiply_4_wide}, {multiply_5, multiply_5_wide}, {multiply_6, multiply_6_wide},
#if HN_VL == 16
    {multiply_7, multiply_7_wide}, {multiply_8, multiply_8_wide},
#endif
};

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    int64_t pixels = p->batch * p->oh * p->ow, groups = (pixels + MOST_PIXELS - 1) / MOST_PIXELS;
    hn_conv_pixels at[HN_CONV_FEW_PIXELS];
    for (int64_t i = 0; i < groups; i++)
        at[i] = hn_conv_pixels_at(p, call->ptr, pixels * i / groups, pixels * (i + 1) / groups);
    int64_t most = groups == 1 ? PANELS(pixels) : 1;
    for (int64_t panel = begin, taken; panel < end; panel += taken) {
        taken = panel + most <= end ? most : 1;
        stretch s = {.weights = (const uint16_t *)call->ptr[HN_CONV_W] + panel * WIDTH * p->c,
                     .bias = call->ptr[HN_CONV_BIAS],
                     .k = p->c,
                     .column = panel * WIDTH,
                     .n = hn_least(taken * WIDTH, p->n - panel * WIDTH),
                     .residual = call->ptr[HN_CONV_R] != NULL,
                     .bf16 = p->w_fits == HN_FLOAT_BF16};
        for (int64_t i = 0; i < groups; i++) {
            s.at = &at[i];
            functions[at[i].n - 1][taken > 1](&s);
            if (p->act.kind != HN_ACT_NONE) act_tile(&p->act, at[i].y, at[i].n, s.column, s.n);
        }
    }
}

const hn_kernel HN_V_ROW(conv_f32_half) = {.name = HN_V_NAME "_half",
                                           .isa = HN_V_ISA,
                                           .order = "fma",
                                           .ok = ok,
                                           .work = work,
                                           .run = run,
                                           .packed_bytes = packed_bytes,
                                           .pack_key = pack_key,
                                           .pack_tasks = pack_tasks,
                                           .pack = pack};
