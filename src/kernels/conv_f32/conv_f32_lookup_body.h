/* Products of a matrix of few rows by weights that are few different numbers, over the vector
 * vocabulary. Such products wait for weights from memory. Here these are codes of 4 bits, for up to 16
 * numbers, or of 8: the places of the numbers in a table, which stays in registers or L1. A code
 * becomes a number by a permutation of the table.
 *
 * Packed weights. A panel holds those of WIDTH outputs, and a table of its own:
 *
 *   table    [VALUES]                       f32, in the order in which the panel has them
 *   codes    [k / CODES][VECTORS][HN_VL]    words of 32 bits, one for each output; code k + i in bits
 *                                           i * BITS
 *
 * A task is a panel. Pixels that do not fit into registers together go through it one group after
 * the other.
 *
 * Sums are added up in the same order as by the direct rows, so that the bits are the same: bias + r,
 * then one fused multiply-add per k.
 *
 * The file that includes this has a vector vocabulary, and
 *
 *   MOST_VALUES               the most numbers there are
 *   LOOK_UP_CYCLES(values)    what a vector of look-ups takes, and
 *   DENSE_CYCLES              what the dense rows take for a vector of weights that comes from L3
 *   LOOK_UP(table, word, shift, values)    the numbers of these codes, the lowest bits of each word
 *                                          after `shift`; of 16, 32, 64 ... values
 */
#ifdef LOOK_UP
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "kernels/conv_f32/conv_f32_pixels.h"
#include "kernels/tile_f32/tile_f32_act.h"
#include "kernels/values.h"
#include "simd/part.h"

enum {
    VECTORS = HN_VL == 16 ? 4 : 2, /* of a panel */
    WIDTH = VECTORS * HN_VL,
    MOST_PIXELS = 4, /* that are computed together */
    AHEAD = 2048,    /* bytes of codes that are fetched ahead */
};

static int64_t panels_of(const hn_conv_f32 *p) { return (p->n + WIDTH - 1) / WIDTH; }
static int bits_of(int values) { return values <= 16 ? 4 : 8; }
/* Of a table: the next power of two, at least 16. */
static int values_of(const hn_conv_f32 *p) {
    int values = 16;
    while (values < p->w_values) values *= 2;
    return values;
}
/* Bytes of a panel's codes. */
static size_t codes_bytes(const hn_conv_f32 *p, int values) {
    int64_t codes = 32 / bits_of(values);
    return (size_t)((p->c + codes - 1) / codes * WIDTH) * sizeof(uint32_t);
}
static size_t panel_bytes(const hn_conv_f32 *p) {
    int values = values_of(p);
    return (size_t)values * sizeof(float) + codes_bytes(p, values);
}

/* ---- packing -------------------------------------------------------------------------------- */

static size_t packed_bytes(const void *problem) {
    return (size_t)panels_of(problem) * panel_bytes(problem);
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t facts[] = {values_of(p), p->c, p->n, p->w_o, p->w_i};
    return hn_pack_hash(facts, sizeof facts / sizeof *facts);
}

static int64_t pack_tasks(const void *problem) { return panels_of(problem); }

typedef uint32_t any_u32 __attribute__((aligned(1), may_alias));

/* The codes of n outputs from w on: into word `at` of each of them. */
static void pack_codes(const hn_conv_f32 *p, const any_u32 *w, int64_t n, hn_values *values,
                       uint32_t *words) {
    const int most = values_of(p), bits = bits_of(most), codes = 32 / bits;
    for (int64_t k = 0; k < p->c; k++, w += p->w_i) {
        uint32_t *to = words + k / codes * WIDTH;
        const int shift = (int)(k % codes) * bits;
        for (int64_t o = 0; o < n; o++)
            to[o] |= (uint32_t)hn_values_place(values, w[o * p->w_o], most) << shift;
    }
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    const size_t table_bytes = (size_t)values_of(p) * sizeof(float);
    memset((char *)dst + (size_t)begin * panel_bytes(p), 0, (size_t)(end - begin) * panel_bytes(p));
    for (int64_t panel = begin; panel < end; panel++) {
        char *to = (char *)dst + (size_t)panel * panel_bytes(p);
        hn_values values = {0};
        pack_codes(p, (const any_u32 *)plain->data + panel * WIDTH * p->w_o,
                   hn_least(WIDTH, p->n - panel * WIDTH), &values,
                   (uint32_t *)(void *)(to + table_bytes));
        memcpy(to, values.bits, (size_t)values.n * sizeof(float));
    }
}

/* ---- running -------------------------------------------------------------------------------- */

/* A panel, for one group of pixels. */
typedef struct stretch {
    const hn_conv_pixels *at;
    const float *table, *bias;
    const uint32_t *words;
    int64_t k, column, n; /* columns to write */
    bool residual;
} stretch;

/* The first sums, columns [v * HN_VL, (v + 1) * HN_VL) of the panel. */
HN_INLINE hn_vf first_sum(const stretch *s, int pixel, int v) {
    int64_t n = hn_least(HN_VL, s->n - v * HN_VL), column = s->column + v * HN_VL;
    hn_vf sum = hn_v_set1(0.0f);
    if (n <= 0) return sum;
    if (s->bias != NULL) sum = hn_v_load_part(s->bias + column, n);
    if (s->residual) sum = hn_v_add(sum, hn_v_load_part(s->at->r[pixel] + column, n));
    return sum;
}

HN_INLINE void multiply(const stretch *s, const int pixels, const int values) {
    const int bits = values <= 16 ? 4 : 8, codes = 32 / bits;
    hn_vf sum[MOST_PIXELS][VECTORS];
    const float *x[MOST_PIXELS];
    for (int i = 0; i < pixels; i++) {
        x[i] = s->at->x[i];
        for (int v = 0; v < VECTORS; v++) sum[i][v] = first_sum(s, i, v);
    }
    const uint32_t *w = s->words;
    int64_t k = 0;
    for (; k + codes <= s->k; k += codes, w += WIDTH) {
        hn_vi word[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            word[v] = hn_vi_load((const int32_t *)w + v * HN_VL);
            if (v * HN_VL % 16 == 0)
                __builtin_prefetch((const char *)(w + v * HN_VL) + AHEAD, 0, 3);
        }
#pragma GCC unroll 8
        for (int j = 0; j < codes; j++)
            for (int v = 0; v < VECTORS; v++) {
                hn_vf b = LOOK_UP(s->table, word[v], j * bits, values);
                for (int i = 0; i < pixels; i++)
                    sum[i][v] = hn_v_fma(hn_v_set1(x[i][k + j]), b, sum[i][v]);
            }
    }
    for (int shift = 0; k < s->k; k++, shift += bits)
        for (int v = 0; v < VECTORS; v++) {
            hn_vf b = LOOK_UP(s->table, hn_vi_load((const int32_t *)w + v * HN_VL), shift, values);
            for (int i = 0; i < pixels; i++) sum[i][v] = hn_v_fma(hn_v_set1(x[i][k]), b, sum[i][v]);
        }
    for (int i = 0; i < pixels; i++)
        for (int v = 0; v < VECTORS; v++) {
            int64_t n = hn_least(s->n - v * HN_VL, HN_VL);
            if (n > 0) hn_v_store_part(s->at->y[i] + s->column + v * HN_VL, sum[i][v], n);
        }
}

typedef void multiply_fn(const stretch *s);

#define MULTIPLY(pixels, values) \
    static void multiply_##pixels##_##values(const stretch *s) { multiply(s, pixels, values); }
#define MULTIPLY_ALL(values) \
    MULTIPLY(1, values) MULTIPLY(2, values) MULTIPLY(3, values) MULTIPLY(4, values)
#define BY_PIXELS(values) \
    { multiply_1_##values, multiply_2_##values, multiply_3_##values, multiply_4_##values }
MULTIPLY_ALL(16)
#if MOST_VALUES > 16
MULTIPLY_ALL(32)
MULTIPLY_ALL(64)
MULTIPLY_ALL(128)
#endif

/* [tables of 16, 32 ...][pixels - 1] */
static multiply_fn *const functions[][MOST_PIXELS] = {BY_PIXELS(16),
#if MOST_VALUES > 16
                                                      BY_PIXELS(32), BY_PIXELS(64), BY_PIXELS(128)
#endif
};

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {panels_of(problem)}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    int64_t pixels = p->batch * p->oh * p->ow, groups = (pixels + MOST_PIXELS - 1) / MOST_PIXELS;
    hn_conv_pixels at[HN_CONV_FEW_PIXELS];
    for (int64_t i = 0; i < groups; i++)
        at[i] = hn_conv_pixels_at(p, call->ptr, pixels * i / groups, pixels * (i + 1) / groups);
    const int values = values_of(p);
    int size = 0;
    while (16 << size < values) size++;
    for (int64_t panel = begin; panel < end; panel++) {
        const float *table = (const float *)(const void *)((const char *)call->ptr[HN_CONV_W] +
                                                           (size_t)panel * panel_bytes(p));
        stretch s = {.table = table,
                     .words = (const uint32_t *)(const void *)(table + values),
                     .bias = call->ptr[HN_CONV_BIAS],
                     .k = p->c,
                     .column = panel * WIDTH,
                     .n = hn_least(WIDTH, p->n - panel * WIDTH),
                     .residual = call->ptr[HN_CONV_R] != NULL};
        for (int64_t i = 0; i < groups; i++) {
            s.at = &at[i];
            functions[size][at[i].n - 1](&s);
            if (p->act.kind != HN_ACT_NONE)
                act_tile(&p->act, (float **)at[i].y, at[i].n, s.column, s.n);
        }
    }
}

/* ---- choosing ------------------------------------------------------------------------------- */

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->w_values == 0) return *why = "weights are not known to be few numbers", false;
    if (!hn_conv_stored_f32(p, why) || !hn_conv_few_pixels(p, why)) return false;
    if (p->w_values > MOST_VALUES)
        return *why = "too many to look up with these instructions", false;
    return true;
}

/* Dense weights that stay in L2 are read as fast as codes become numbers. Costs are cycles for a vector
 * of weights, measured on Emerald Rapids. */
static bool pays(const void *problem, const char **why) {
    enum { L2_WEIGHTS = 1 << 20 };
    const double multiply = HN_VL == 16 ? 0.5 : 0.35; /* a vector of weights, for a pixel */
    const double keep = 2 * HN_VL; /* by the sparse row, if it keeps all weights of the vector */
    const double margin = 0.9;
    const hn_conv_f32 *p = problem;
    double weights = (double)p->c * (double)p->n, pixels = (double)(p->batch * p->oh * p->ow);
    double kept = 1 - (double)p->w_zeros / weights;
    int groups = ((int)pixels + MOST_PIXELS - 1) / MOST_PIXELS;
    double own = groups * LOOK_UP_CYCLES(values_of(p)) + pixels * multiply;
    if (weights * 4 <= hn_of_l2(L2_WEIGHTS)) return *why = "the weights fit into L2", false;
    if (kept < 0.15 && keep * kept < own) return *why = "leaving out zeros is faster", false;
    if (own < margin * DENSE_CYCLES) return true;
    return *why = "looking them up would take longer than reading the weights", false;
}

const hn_kernel HN_V_ROW(conv_f32_lookup) = {.name = HN_V_NAME "_lookup",
                                             .isa = HN_V_ISA,
                                             .order = "fma",
                                             .lookup = true,
                                             .ok = ok,
                                             .work = work,
                                             .run = run,
                                             .packed_bytes = packed_bytes,
                                             .pack_key = pack_key,
                                             .pack_tasks = pack_tasks,
                                             .pack = pack,
                                             .pays = pays};
#endif
