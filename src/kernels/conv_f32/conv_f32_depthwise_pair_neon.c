/* Depthwise convolution of stride 1 with windows of 3x3: two rows of 7 outputs at a time, one vector of
 * channels each.
 *
 *     input row   0  . a b c d e f g h i .
 *                 1  . . . . . . . . . . .     4 rows of 9 loads for 126 multiplications:
 *                 2  . . . . . . . . . . .     a pixel, once loaded, goes into up to 6 sums
 *                 3  . . . . . . . . . . .
 *
 * The row of conv_f32_depthwise_body.h takes one row of outputs: it has 30 loads for 72. That matters
 * where pixels lie a multiple of 128 bytes apart, so that all are in one bank of L1 and a load takes a
 * cycle. The pixels of a patch are more streams than the CPU fetches ahead, so their next channels
 * are fetched here. 576 channels at 14x14 (Neoverse-V1): 89 instead of 108 us. (5x5 windows gained
 * nothing.) Images of most networks are a multiple of 7 pixels wide.
 *
 * A task is a pair of output rows of a block of channels. Pairs of the upper half of an image come
 * first, as there. Weights are packed and sums are added up as there: the bits are the same. What is
 * outside the image is not multiplied.
 */
#include "simd/neon.h"

#include <math.h>

#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum {
    SIZE = 3, /* of the window */
    COLUMNS = 7,
    PAIR = 2,
    AHEAD = 16,  /* floats from a pixel's channels in use to those that are fetched */
    BLOCK = 256, /* channels: a stretch of each pixel long enough for the CPU to fetch it ahead */
};

extern const hn_kernel hn_conv_f32_depthwise_neon;

/* Some outputs of a pair of rows, for channels [0, n). */
typedef struct patch {
    const float *x; /* the first tap of the first output, perhaps outside the image */
    int64_t x_row, x_pixel;
    int64_t row, row_end;       /* input rows, from there on, that are inside */
    int64_t column, column_end; /* the same of columns */
    const float *w, *bias, *r;
    int64_t r_row, r_pixel;
    float *y;
    int64_t y_row, y_pixel;
    int64_t columns, n; /* outputs of a row to store */
    float lo, hi;
} patch;

static inline __attribute__((always_inline)) void sum(const patch *s, int64_t c, const int rows,
                                                      const bool edges, const bool fetch) {
    float32x4_t sums[PAIR][COLUMNS];
    float32x4_t bias = s->bias != NULL ? vld1q_f32(s->bias + c) : vdupq_n_f32(0);
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int j = 0; j < COLUMNS; j++) sums[i][j] = bias;
    }
    const float *weights = s->w + c * SIZE * SIZE;
    UNROLL for (int iy = 0; iy < SIZE + rows - 1; iy++) {
        if (iy < s->row || iy >= s->row_end) continue;
        const float *x = s->x + iy * s->x_row + c;
        float32x4_t w[PAIR][SIZE]; /* of window row iy - i for output row i */
        UNROLL for (int i = 0; i < rows; i++) {
            UNROLL for (int kx = 0; kx < SIZE; kx++) {
                if (iy >= i && iy - i < SIZE)
                    w[i][kx] = vld1q_f32(weights + 4 * ((iy - i) * SIZE + kx));
            }
        }
        UNROLL for (int ix = 0; ix < COLUMNS + SIZE - 1; ix++, x += s->x_pixel) {
            if (edges && (ix < s->column || ix >= s->column_end)) continue;
            float32x4_t pixel = vld1q_f32(x);
            if (fetch) __builtin_prefetch(x + AHEAD, 0, 3);
            UNROLL for (int i = 0; i < rows; i++) {
                UNROLL for (int j = 0; j < COLUMNS; j++) {
                    const int ky = iy - i, kx = ix - j;
                    if (ky >= 0 && ky < SIZE && kx >= 0 && kx < SIZE)
                        sums[i][j] = vfmaq_f32(sums[i][j], pixel, w[i][kx]);
                }
            }
        }
    }
    float32x4_t lo = vdupq_n_f32(s->lo), hi = vdupq_n_f32(s->hi);
    const int64_t columns = edges ? s->columns : COLUMNS, y_pixel = s->y_pixel;
    UNROLL for (int i = 0; i < rows; i++) {
        float *y = s->y + i * s->y_row + c;
        UNROLL for (int j = 0; j < COLUMNS; j++, y += y_pixel) {
            if (j >= columns) break;
            if (s->r != NULL)
                sums[i][j] =
                    vaddq_f32(sums[i][j], vld1q_f32(s->r + i * s->r_row + j * s->r_pixel + c));
            vst1q_f32(y, vminq_f32(hi, vmaxq_f32(lo, sums[i][j])));
        }
    }
}

typedef void patch_fn(const patch *s);
static inline __attribute__((always_inline)) void sum_all(const patch *s, const int rows,
                                                          const bool edges) {
    enum { LINE = 16 }; /* floats of a cache line */
    for (int64_t c = 0; c < s->n; c += 4) {
        if (c % LINE == 0)
            sum(s, c, rows, edges, true);
        else
            sum(s, c, rows, edges, false);
    }
}
static void inner_1(const patch *s) { sum_all(s, 1, false); }
static void inner_2(const patch *s) { sum_all(s, 2, false); }
static void edge_1(const patch *s) { sum_all(s, 1, true); }
static void edge_2(const patch *s) { sum_all(s, 2, true); }

/* [rows - 1][edges] */
static patch_fn *const functions[PAIR][2] = {{inner_1, edge_1}, {inner_2, edge_2}};

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != p->c || p->n != p->c) return *why = "not depthwise", false;
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    if (p->c % 4 != 0) return *why = "channels do not fill vectors", false;
    if (p->kh != SIZE || p->kw != SIZE) return *why = "not 3x3", false;
    if (p->sh != 1 || p->sw != 1 || p->dh != 1 || p->dw != 1)
        return *why = "stride or dilation", false;
    if (10 * ceil_div(p->ow, COLUMNS) * COLUMNS > 13 * p->ow)
        return *why = "rows of 7 outputs do not fit the image", false;
    return true;
}

static int64_t blocks_of(const hn_conv_f32 *p) { return ceil_div(p->c, BLOCK); }
static int64_t pairs_of(const hn_conv_f32 *p) { return ceil_div(p->oh, PAIR); }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->batch * blocks_of(p) * pairs_of(p)}};
}

/* Output rows oy and oy + 1, if it is there, of the channels [first, end) of an image. */
static void run_pair(const hn_call *call, int64_t image, int64_t oy, int64_t first, int64_t end) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS], *r = call->ptr[HN_CONV_R];
    bool clip = p->act.kind == HN_ACT_CLIP;
    int64_t rows = p->oh - oy < PAIR ? p->oh - oy : PAIR, iy = oy - p->pt;
    int64_t high = SIZE + rows - 1, wide = COLUMNS + SIZE - 1;
    patch s = {.x_row = p->x_row,
               .x_pixel = p->x_pixel,
               .row = clamp(-iy, 0, high),
               .row_end = clamp(p->h - iy, 0, high),
               .w = (const float *)call->ptr[HN_CONV_W] + first * SIZE * SIZE,
               .bias = bias != NULL ? bias + first : NULL,
               .r_row = p->r_row,
               .r_pixel = p->r_pixel,
               .y_row = p->y_row,
               .y_pixel = p->y_pixel,
               .n = end - first,
               .lo = clip ? p->act.a : -INFINITY,
               .hi = clip ? p->act.b : INFINITY};
    for (int64_t ox = 0; ox < p->ow; ox += COLUMNS) {
        int64_t ix = ox - p->pl;
        s.columns = p->ow - ox < COLUMNS ? p->ow - ox : COLUMNS;
        s.column = clamp(-ix, 0, wide), s.column_end = clamp(p->w - ix, 0, wide);
        s.x = (const float *)call->ptr[HN_CONV_X] +
              (image * p->x_image + iy * p->x_row + ix * p->x_pixel + first);
        s.y = (float *)call->ptr[HN_CONV_Y] + image * p->y_image + oy * p->y_row + ox * p->y_pixel +
              first;
        if (r != NULL) s.r = r + (image * p->r_image + oy * p->r_row + ox * p->r_pixel + first);
        bool edges = s.column > 0 || s.column_end < wide || s.columns < COLUMNS;
        functions[rows - 1][edges](&s);
        if (p->act.kind == HN_ACT_NONE || clip) continue;
        float *written[PAIR * COLUMNS];
        for (int64_t i = 0; i < rows * s.columns; i++)
            written[i] = s.y + i / s.columns * s.y_row + i % s.columns * s.y_pixel;
        hn_tiles_f32_neon.act(&p->act, written, (int)(rows * s.columns), 0, s.n);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_conv_f32 *p = call->problem;
    int64_t blocks = blocks_of(p), pairs = pairs_of(p), upper = (pairs + 1) / 2;
    for (int64_t task = begin; task < end; task++) {
        int64_t at = task % (blocks * pairs), top = 0, some = upper;
        if (at >= blocks * upper) at -= blocks * upper, top = upper, some = pairs - upper;
        int64_t first = at / some * BLOCK;
        run_pair(call, task / (blocks * pairs), PAIR * (top + at % some), first,
                 p->c - first < BLOCK ? p->c : first + BLOCK);
    }
}

static size_t packed_bytes(const void *problem) {
    return hn_conv_f32_depthwise_neon.packed_bytes(problem);
}
static uint64_t pack_key(const void *problem) {
    return hn_conv_f32_depthwise_neon.pack_key(problem);
}
static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    hn_conv_f32_depthwise_neon.pack(problem, plain, begin, end, dst);
}

const hn_kernel hn_conv_f32_depthwise_pair_neon = {.name = "neon_depthwise_pair",
                                                   .isa = HN_ISA_NEON,
                                                   .order = "neon_depthwise",
                                                   .ok = ok,
                                                   .work = work,
                                                   .run = run,
                                                   .packed_bytes = packed_bytes,
                                                   .pack_key = pack_key,
                                                   .pack = pack};
