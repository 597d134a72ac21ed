/* conv_f32 by BFMMLA in bf16: pixels and weights rounded to the nearest bf16, products summed in
 * f32.
 *
 * BFMMLA adds to a 2x2 matrix of sums two rows of four bf16 times two columns of four. Both operands
 * are packed so that each is one vector, and a tile reads two streams:
 *
 *   pixels   [tile of 8][four of k][pixel][4]       a block of tiles in lane scratch, from L2
 *   weights  [panel][four of k][output][4]          a panel at a time, from L1
 *
 * A panel has 12 outputs, which with 8 pixels are 24 vectors of sums. Where 12 does not divide n, the
 * last panels have 8, which are nearly as fast, or the only one has 4. A last tile of a block with
 * fewer pixels has as many pairs as it needs.
 *
 * k runs through the window in runs of numbers that are adjacent in x. Each run is filled up with
 * zeros to fours:
 *
 *   taps     the channels of a tap
 *   rows     the taps of a row of the window with all channels: few channels, pixels without gaps
 *   planes   the taps of a row of the window in one channel: planar images
 *
 * Weights are packed as 64 bytes of header, then the panels. k is cut into passes, so that the part
 * of a panel which a pass needs stays in L1 while it meets the tiles of a block; the sums wait in
 * scratch. Meanwhile the weights of the next pass are fetched into L2. Where L1 holds all weights, a
 * tile meets all panels as soon as it is packed, so that outputs are written row by row.
 *
 * The sum of an output runs through k in order, four products at a time, in f32: blocks, passes and
 * the shape of a tile change nothing in it. BFMMLA rounds sums to odd and takes numbers below
 * 2^-126 for zero. Inf and NaN flow through products as IEEE says, but for zeros that stand for
 * padding, beside weights that are not finite. The header says that there are such weights; outputs
 * are then summed one by one.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "simd/neon.h"

#include "kernels/act_bf16.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_columns.h"

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum {
    ROWS = 8,   /* pixels of a tile */
    FOUR = 4,   /* products that BFMMLA sums */
    WIDE = 12,  /* outputs of a panel, */
    MIDDLE = 8, /* of the last ones, */
    SUMS = ROWS * WIDE,
    HEADER = 64,
    LINE = 64,             /* bytes of a cache line */
    BLOCK_BYTES = 1 << 20, /* of packed pixels and outputs, with an L2 of 2 MB */
    PASS_BYTES = 24 << 10, /* of a panel, with an L1 of 48 KB */
    FEW_BYTES = 256 << 10, /* of weights: they stay in L2, with one of 2 MB; */
    NEAR_BYTES = 24 << 10, /* in L1, with one of 48 KB, */
    NEAR_PANELS = 64,      /* in so many panels at most */
    LEAST_TILES = 4,       /* of a block, where weights are to be read again for each */
    TASKS = 4,             /* for each of several lanes: a fast one takes some of a slow one's */
};

typedef enum source { TAPS, ROWS_OF_TAPS, PLANES } source;

typedef struct geometry {
    source source;
    int64_t runs, len;    /* of a window; numbers of a run */
    int64_t run, k;       /* fours of a run, of a window */
    int64_t m, tiles;     /* pixels */
    int64_t blocks;       /* of tiles */
    int64_t panels, wide; /* all of them; those of 12 outputs */
    int64_t pass, passes; /* fours of a pass */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static size_t round64(int64_t bytes) { return ((size_t)bytes + 63) & ~(size_t)63; }

static source source_of(const hn_conv_f32 *p) {
    if (p->x_channel != 1) return PLANES;
    bool side_by_side = p->dw == 1 && (p->x_pixel == p->c || p->kw == 1);
    return side_by_side && p->kw > 1 && p->c % FOUR != 0 ? ROWS_OF_TAPS : TAPS;
}

/* Panels that n outputs take: twelves first, then what is left by eights. */
static int64_t count_panels(int64_t n, int64_t *wide) {
    int64_t fours = ceil_div(n, FOUR), left = fours % 3;
    *wide = fours / 3;
    if (left == 1 && *wide > 0) --*wide, left = 4; /* two eights */
    return *wide + (left + 1) / 2;
}

static int64_t panel_column(const geometry *g, int64_t panel) {
    return panel < g->wide ? panel * WIDE : g->wide * WIDE + (panel - g->wide) * MIDDLE;
}

static int64_t panel_width(const hn_conv_f32 *p, const geometry *g, int64_t panel) {
    return panel < g->wide ? WIDE : p->n - panel_column(g, panel) <= FOUR ? FOUR : MIDDLE;
}

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {.source = source_of(p)};
    g.runs = g.source == TAPS ? p->kh * p->kw : g.source == ROWS_OF_TAPS ? p->kh : p->kh * p->c;
    g.len = g.source == TAPS ? p->c : g.source == ROWS_OF_TAPS ? p->kw * p->c : p->kw;
    g.run = ceil_div(g.len, FOUR);
    g.k = g.runs * g.run;
    g.m = p->batch * p->oh * p->ow;
    g.tiles = ceil_div(g.m, ROWS);
    g.panels = count_panels(p->n, &g.wide);
    g.passes = max64(1, ceil_div(g.k * FOUR * WIDE * 2, hn_of_l1(PASS_BYTES)));
    g.pass = ceil_div(g.k, g.passes);
    int64_t row = g.k * FOUR * 2 + p->n * (int64_t)hn_float_bytes(p->y_type);
    int64_t most = hn_of_l2(BLOCK_BYTES) / (row * ROWS);
    g.blocks = ceil_div(g.tiles, max64(most, LEAST_TILES));
    return g;
}

/* Where an output pixel is in y and r, in elements. */
typedef struct place {
    int64_t y, r;
} place;

typedef struct lane_parts {
    uint16_t *a;   /* packed pixels of a block */
    float *c;      /* [tile][SUMS] */
    place *places; /* of the pixels */
    char *zeros;   /* as many as a run has, of either type */
    uint16_t *segment;
} lane_parts;

static size_t divide(const hn_conv_f32 *p, const geometry *g, int64_t blocks, char *base,
                     lane_parts *l) {
    int64_t tiles = ceil_div(g->tiles, max64(1, blocks));
    size_t a = round64(tiles * ROWS * g->k * FOUR * 2);
    size_t c = (size_t)tiles * SUMS * sizeof(float);
    size_t places = round64(tiles * ROWS * (int64_t)sizeof(place));
    size_t zeros = round64(g->len * 4), segment = 0;
    if (g->source != TAPS) /* and what is read beyond the last run, masked */
        segment = round64(((ROWS - 1) * p->sw * (g->len / p->kw) + g->len + FOUR) * 2);
    if (base != NULL) {
        l->a = (uint16_t *)base;
        l->c = (float *)(base + a);
        l->places = (place *)(base + a + c);
        l->zeros = base + a + c + places;
        l->segment = (uint16_t *)(base + a + c + places + zeros);
    }
    return a + c + places + zeros + segment;
}

/* Several lanes share blocks, and where these are few the panels as well. */
static void work(const void *problem, int lanes, hn_work *w) {
    geometry g = measure(problem);
    int64_t blocks = g.blocks, groups = 1;
    if (lanes > 1) {
        int64_t most = max64(1, g.tiles / LEAST_TILES);
        blocks = max64(blocks, hn_least(TASKS * lanes, most));
        if (blocks < TASKS * lanes)
            groups = hn_least(g.panels, ceil_div(TASKS * lanes, max64(1, blocks)));
    }
    *w = (hn_work){.n_phases = 1,
                   .tasks = {blocks * groups},
                   .lane_scratch = divide(problem, &g, blocks, NULL, NULL),
                   .parts = blocks};
}

struct ending;

typedef struct task {
    const hn_conv_f32 *p;
    const geometry *g;
    const void *x, *r;
    const float *bias;
    const uint16_t *w; /* packed, behind the header */
    void *y;
    lane_parts l;
    int64_t first, tiles; /* of the block */
    bool one_by_one;      /* its outputs, since weights are not finite */
    bool fetch;           /* weights, since L2 does not hold them */
    hn_vf act_a, act_b;   /* the activation's constants, or the limits of a clip */
    void (*const *full)(const struct ending *e); /* endings of full tiles, or NULL */
} task;

/* ---- packing pixels ---- */

HN_INLINE uint16x4_t narrow4(hn_vf x) { return vreinterpret_u16_bf16(vcvt_bf16_f32(x)); }

/* n numbers, at most 4, as bf16; zeros behind them. */
HN_INLINE uint16x4_t load4(const void *x, int64_t n, bool bf16) {
    if (!bf16) return narrow4(hn_v_load_part(x, n));
    if (n == FOUR) return vld1_u16(x);
    uint16_t v[FOUR] = {0};
    for (int64_t i = 0; i < n; i++) v[i] = ((const uint16_t *)x)[i];
    return vld1_u16(v);
}

/* Numbers of one pixel, to fours that lie `next` apart. */
HN_INLINE void copy_run(const void *x, int64_t n, bool bf16, uint16_t *to, int64_t next) {
    const char *from = x;
    const int64_t four = bf16 ? 8 : 16;
    int64_t i = 0;
    for (; i + FOUR <= n; i += FOUR, from += four, to += next)
        vst1_u16(to, load4(from, FOUR, bf16));
    if (i < n) vst1_u16(to, load4(from, n - i, bf16));
}

/* Numbers of two neighbours that are bf16. */
HN_INLINE void copy_pair(const uint16_t *even, const uint16_t *odd, int64_t n, uint16_t *to,
                         int64_t next) {
    int64_t i = 0;
    for (; i + 2 * FOUR <= n; i += 2 * FOUR, to += 2 * next) {
        uint64x2_t a = vreinterpretq_u64_u16(vld1q_u16(even + i));
        uint64x2_t b = vreinterpretq_u64_u16(vld1q_u16(odd + i));
        vst1q_u16(to, vreinterpretq_u16_u64(vzip1q_u64(a, b)));
        vst1q_u16(to + next, vreinterpretq_u16_u64(vzip2q_u64(a, b)));
    }
    for (; i < n; i += FOUR, to += next) {
        int64_t some = hn_least(FOUR, n - i);
        vst1_u16(to, load4(even + i, some, true));
        vst1_u16(to + FOUR, load4(odd + i, some, true));
    }
}

/* A pixel of a tile: where its window begins. */
typedef struct corner {
    int64_t at, iy, ix; /* place in x; row and column, perhaps outside */
} corner;

static corner corner_of(const hn_conv_f32 *p, int64_t pixel) {
    int64_t ox = pixel % p->ow, oy = pixel / p->ow % p->oh, image = pixel / p->ow / p->oh;
    corner c = {.iy = oy * p->sh - p->pt, .ix = ox * p->sw - p->pl};
    c.at = image * p->x_image + c.iy * p->x_row + c.ix * p->x_pixel;
    return c;
}

/* That of the pixel behind one. */
static corner next_corner(const hn_conv_f32 *p, const corner *before, int64_t pixel) {
    if (before->ix + p->pl == (p->ow - 1) * p->sw) return corner_of(p, pixel);
    return (corner){before->at + p->sw * p->x_pixel, before->iy, before->ix + p->sw};
}

static bool inside(int64_t i, int64_t n) { return i >= 0 && i < n; }

/* Tap (ky, kx), all channels, of the tile's pixels. */
HN_INLINE void pack_tap(const task *t, const corner *at, int rows, int64_t ky, int64_t kx,
                        bool bf16, uint16_t *to, int64_t next) {
    const hn_conv_f32 *p = t->p;
    int64_t dy = ky * p->dh, dx = kx * p->dw, apart = dy * p->x_row + dx * p->x_pixel;
    const char *from[ROWS + 1];
    for (int i = 0; i < rows; i++) {
        bool in = inside(at[i].iy + dy, p->h) && inside(at[i].ix + dx, p->w);
        from[i] = in ? (const char *)t->x + (at[i].at + apart) * (bf16 ? 2 : 4) : t->l.zeros;
    }
    from[rows] = t->l.zeros;
    for (int i = 0; i < rows && bf16; i += 2)
        copy_pair((const void *)from[i], (const void *)from[i + 1], p->c, to + i * FOUR, next);
    for (int i = 0; i < rows + rows % 2 && !bf16; i++)
        copy_run(from[i], p->c, false, to + i * FOUR, next);
}

/* n numbers to bf16. */
static void convert(const void *x, int64_t n, bool bf16, uint16_t *to) {
    if (bf16)
        memcpy(to, x, (size_t)n * sizeof *to);
    else
        for (const float *from = x; n > 0; n -= FOUR, from += FOUR, to += FOUR)
            vst1_u16(to, load4(from, hn_least(n, FOUR), false));
}

/* Pixels [first, first + n) of a tile, neighbours in a row of outputs: what they see of a row of the
 * image, and zeros where they see beyond it, is a segment, of which each takes its part. */
typedef struct span {
    int first, n;
    int64_t left, right, taps; /* taps of the segment; those of them inside the image */
    bool whole; /* all that they read is inside, and what is read beyond the last run as well */
} span;

static int find_spans(const task *t, const corner *at, int rows, span *spans) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    int64_t each = g->len / p->kw; /* numbers of a tap */
    int count = 0;
    for (int i = 0; i < rows; i += spans[count++].n) {
        span *s = &spans[count];
        int n = 1;
        while (i + n < rows && at[i + n].iy == at[i].iy && at[i + n].ix > at[i].ix) n++;
        *s = (span){.first = i, .n = n, .taps = (n - 1) * p->sw + p->kw};
        s->left = hn_least(s->taps, max64(0, -at[i].ix));
        s->right = max64(s->left, hn_least(s->taps, p->w - at[i].ix));
        s->whole =
            at[i].ix >= 0 && (n - 1) * p->sw * each + g->run * FOUR <= (p->w - at[i].ix) * each;
    }
    return count;
}

/* Runs of n pixels that lie `step` apart in x, floats; `mask` keeps what belongs to the last four. */
HN_INLINE void pack_runs(const float *x, int64_t step, const int n, int64_t run, uint16x4_t mask,
                         uint16_t *to, int64_t next) {
    for (int64_t k = 1; k < run; k++, x += FOUR, to += next) {
        UNROLL for (int i = 0; i < n; i++)
            vst1_u16(to + i * FOUR, narrow4(hn_v_load(x + i * step)));
    }
    UNROLL for (int i = 0; i < n; i++)
        vst1_u16(to + i * FOUR, vand_u16(mask, narrow4(hn_v_load(x + i * step))));
}

/* Row ky of the windows of a span; `plane` is where the channel begins. */
static void pack_span(const task *t, const span *s, const corner *at, int64_t ky, int64_t plane,
                      bool bf16, uint16_t *to, int64_t next) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    const uint16x4_t mask = vcreate_u16(~(uint64_t)0 >> 16 * (g->run * FOUR - g->len));
    int64_t each = g->len / p->kw, step = p->sw * each;
    int64_t from = at->at + plane + ky * p->dh * p->x_row, left = s->left, right = s->right;
    const bool row_inside = inside(at->iy + ky * p->dh, p->h);
    if (row_inside && !bf16 && s->whole && s->n == ROWS) {
        pack_runs((const float *)t->x + from, step, ROWS, g->run, mask, to, next);
        return;
    }
    uint16_t *segment = t->l.segment;
    if (!row_inside) right = left = s->taps;
    memset(segment, 0, (size_t)(left * each) * sizeof *segment);
    /* What is converted may reach into zeros behind it, not the other way round. */
    if (right > left)
        convert((const char *)t->x + (from + left * p->x_pixel) * (bf16 ? 2 : 4),
                (right - left) * each, bf16, segment + left * each);
    memset(segment + right * each, 0, (size_t)((s->taps - right) * each) * sizeof *segment);
    for (int i = 0; i < s->n; i++, segment += step, to += FOUR) {
        uint16_t *four = to;
        int64_t k = 0;
        for (; k < g->run - 1; k++, four += next) vst1_u16(four, vld1_u16(segment + k * FOUR));
        vst1_u16(four, vand_u16(mask, vld1_u16(segment + k * FOUR)));
    }
}

/* All of a tile whose pixels are one span, floats, and read nothing beside the image. */
static void pack_whole(const task *t, const corner *at, uint16_t *to) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    const int64_t next = ROWS * FOUR, step = p->sw * (g->len / p->kw), planes = g->runs / p->kh;
    const int64_t line = p->dh * p->x_row, run = g->run, kh = p->kh, channel = p->x_channel;
    const uint16x4_t mask = vcreate_u16(~(uint64_t)0 >> 16 * (run * FOUR - g->len));
    const float *x = (const float *)t->x + at->at;
    for (int64_t plane = 0; plane < planes; plane++, x += channel) {
        const float *row = x;
        for (int64_t ky = 0; ky < kh; ky++, row += line, to += run * next)
            pack_runs(row, step, ROWS, run, mask, to, next);
    }
}

/* Windows whose runs are rows of them. */
static void pack_rows(const task *t, const corner *at, int rows, bool bf16, uint16_t *to,
                      int64_t next) {
    const hn_conv_f32 *p = t->p;
    span spans[ROWS];
    int count = find_spans(t, at, rows, spans);
    if (!bf16 && spans->n == ROWS && spans->whole && at->iy >= 0 &&
        at->iy + (p->kh - 1) * p->dh < p->h) {
        pack_whole(t, at, to);
        return;
    }
    int64_t planes = t->g->runs / p->kh;
    for (int64_t plane = 0; plane < planes; plane++)
        for (int64_t ky = 0; ky < p->kh; ky++, to += t->g->run * next) {
            for (int i = 0; i < count; i++)
                pack_span(t, &spans[i], at + spans[i].first, ky, plane * p->x_channel, bf16,
                          to + spans[i].first * FOUR, next);
            for (int64_t k = 0; k < t->g->run && rows % 2 == 1; k++)
                vst1_u16(to + rows * FOUR + k * next, vdup_n_u16(0));
        }
}

/* Pixels whose runs are taps. */
HN_INLINE void pack_taps(const task *t, const corner *at, int rows, bool bf16, uint16_t *to,
                         int64_t next) {
    const hn_conv_f32 *p = t->p;
    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++, to += t->g->run * next)
            pack_tap(t, at, rows, ky, kx, bf16, to, next);
}

static __attribute__((noinline)) void pack_tile(const task *t, int64_t tile, int rows,
                                                uint16_t *to) {
    const hn_conv_f32 *p = t->p;
    const int64_t next = (rows + 1) / 2 * 2 * FOUR, pixel = tile * ROWS;
    const bool bf16 = p->x_type == HN_FLOAT_BF16;
    corner at[ROWS] = {corner_of(p, pixel)};
    for (int i = 1; i < rows; i++) at[i] = next_corner(p, &at[i - 1], pixel + i);
    if (t->g->source != TAPS)
        pack_rows(t, at, rows, bf16, to, next);
    else if (bf16)
        pack_taps(t, at, rows, true, to, next);
    else
        pack_taps(t, at, rows, false, to, next);
}

static int tile_rows(const geometry *g, int64_t tile) {
    return (int)hn_least(ROWS, g->m - tile * ROWS);
}

static void find_places(const task *t) {
    const hn_conv_f32 *p = t->p;
    int64_t pixel = t->first * ROWS, end = hn_least(t->g->m, (t->first + t->tiles) * ROWS);
    int64_t ox = pixel % p->ow, oy = pixel / p->ow % p->oh, image = pixel / p->ow / p->oh;
    for (place *at = t->l.places; pixel < end; pixel++, at++) {
        at->y = image * p->y_image + oy * p->y_row + ox * p->y_pixel;
        at->r = image * p->r_image + oy * p->r_row + ox * p->r_pixel;
        if (++ox == p->ow) {
            ox = 0;
            if (++oy == p->oh) oy = 0, image++;
        }
    }
}

/* ---- tiles ---- */

/* Sums [pair of pixels][pair of outputs][2][2] (+)= k fours of a by as many of w. */
typedef void multiply_fn(const uint16_t *a, const uint16_t *w, int64_t k, bool first, float *c);

#define PAIR(c0, c1, c2, c3, w)       \
    "bfmmla v" #c0 ".4s, v0.8h, v" #w \
    ".8h\n"                           \
    "bfmmla v" #c1 ".4s, v1.8h, v" #w \
    ".8h\n"                           \
    "bfmmla v" #c2 ".4s, v2.8h, v" #w \
    ".8h\n"                           \
    "bfmmla v" #c3 ".4s, v3.8h, v" #w ".8h\n"
#define ALL_SUMS(X) \
    X(16, 17, 0)    \
    X(18, 19, 32)   \
    X(20, 21, 64) X(22, 23, 96) X(24, 25, 128) X(26, 27, 160) X(28, 29, 192) X(30, 31, 224)
#define MORE_SUMS(X) X(8, 9, 256) X(10, 11, 288) X(12, 13, 320) X(14, 15, 352)
#define CLEAR(a, b, at) "movi v" #a ".4s, #0\n movi v" #b ".4s, #0\n"
#define LOAD(a, b, at) "ldp q" #a ", q" #b ", [%[c], #" #at "]\n"
#define STORE(a, b, at) "stp q" #a ", q" #b ", [%[c], #" #at "]\n"
#define CLOBBERED                                                                                  \
    "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",      \
        "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", \
        "v25", "v26", "v27", "v28", "v29", "v30", "v31"

/* In the order of c the sums of 8 by 12 are v16 to v31, then v8 to v15. Loads are written where their
 * registers become free: the CPU moves them ahead. */
#define STEP_12(a0, a1, w0, w1, w2)                                                      \
    "ldp q0, q1, [%[a], #" #a0                                                           \
    "]\n"                                                                                \
    "ldp q4, q5, [%[w], #" #w0                                                           \
    "]\n"                                                                                \
    "ldp q2, q3, [%[a], #" #a1                                                           \
    "]\n"                                                                                \
    "ldp q6, q7, [%[w], #" #w1 "]\n" PAIR(16, 22, 28, 10, 4)                             \
        PAIR(17, 23, 29, 11, 5) "ldp q4, q5, [%[w], #" #w2 "]\n" PAIR(18, 24, 30, 12, 6) \
            PAIR(19, 25, 31, 13, 7) PAIR(20, 26, 8, 14, 4) PAIR(21, 27, 9, 15, 5)

static __attribute__((noinline)) void multiply_4_12(const uint16_t *a, const uint16_t *w, int64_t k,
                                                    bool first, float *c) {
    int64_t twos = k / 2, one = k % 2;
    __asm__ volatile("cbz %w[first], 1f\n" ALL_SUMS(CLEAR) MORE_SUMS(CLEAR) "b 2f\n"
                     "1:\n" ALL_SUMS(LOAD) MORE_SUMS(LOAD)
                     "2:\n"
                     "cbz %[twos], 4f\n"
                     "3:\n"
                     STEP_12(0, 32, 0, 32, 64)
                     STEP_12(64, 96, 96, 128, 160)
                     "subs %[twos], %[twos], #1\n"
                     "add %[a], %[a], #128\n"
                     "add %[w], %[w], #192\n"
                     "b.ne 3b\n"
                     "4:\n"
                     "cbz %[one], 5f\n"
                     STEP_12(0, 32, 0, 32, 64)
                     "5:\n" ALL_SUMS(STORE) MORE_SUMS(STORE)
                     : [a] "+r"(a), [w] "+r"(w), [twos] "+r"(twos)
                     : [one] "r"(one), [c] "r"(c), [first] "r"((int)first)
                     : CLOBBERED);
}

#define STEP_8(a0, a1, w0, w1)                                                       \
    "ldp q0, q1, [%[a], #" #a0                                                       \
    "]\n"                                                                            \
    "ldp q4, q5, [%[w], #" #w0                                                       \
    "]\n"                                                                            \
    "ldp q2, q3, [%[a], #" #a1                                                       \
    "]\n"                                                                            \
    "ldp q6, q7, [%[w], #" #w1 "]\n" PAIR(16, 20, 24, 28, 4) PAIR(17, 21, 25, 29, 5) \
        PAIR(18, 22, 26, 30, 6) PAIR(19, 23, 27, 31, 7)

static __attribute__((noinline)) void multiply_4_8(const uint16_t *a, const uint16_t *w, int64_t k,
                                                   bool first, float *c) {
    int64_t twos = k / 2, one = k % 2;
    __asm__ volatile("cbz %w[first], 1f\n" ALL_SUMS(CLEAR) "b 2f\n"
                     "1:\n" ALL_SUMS(LOAD)
                     "2:\n"
                     "cbz %[twos], 4f\n"
                     "3:\n"
                     STEP_8(0, 32, 0, 32)
                     STEP_8(64, 96, 64, 96)
                     "subs %[twos], %[twos], #1\n"
                     "add %[a], %[a], #128\n"
                     "add %[w], %[w], #128\n"
                     "b.ne 3b\n"
                     "4:\n"
                     "cbz %[one], 5f\n"
                     STEP_8(0, 32, 0, 32)
                     "5:\n" ALL_SUMS(STORE)
                     : [a] "+r"(a), [w] "+r"(w), [twos] "+r"(twos)
                     : [one] "r"(one), [c] "r"(c), [first] "r"((int)first)
                     : CLOBBERED);
}

/* Tiles that are rarer. */
HN_INLINE void multiply(const int pairs, const int outputs, const uint16_t *a, const uint16_t *w,
                        int64_t k, bool first, float *c) {
    const int across = outputs / 2;
    float32x4_t sum[ROWS / 2 * WIDE / 2];
    UNROLL for (int i = 0; i < pairs * across; i++) sum[i] =
        first ? vdupq_n_f32(0.0f) : vld1q_f32(c + i * 4);
    for (; k > 0; k--, a += pairs * 8, w += across * 8) {
        bfloat16x8_t x[ROWS / 2];
        UNROLL for (int i = 0; i < pairs; i++) x[i] = vreinterpretq_bf16_u16(vld1q_u16(a + i * 8));
        UNROLL for (int j = 0; j < across; j++) {
            bfloat16x8_t v = vreinterpretq_bf16_u16(vld1q_u16(w + j * 8));
            UNROLL for (int i = 0; i < pairs; i++) sum[i * across + j] =
                vbfmmlaq_f32(sum[i * across + j], x[i], v);
        }
    }
    UNROLL for (int i = 0; i < pairs * across; i++) vst1q_f32(c + i * 4, sum[i]);
}

#define MULTIPLY(pairs, outputs)                                                 \
    static __attribute__((noinline)) void multiply_##pairs##_##outputs(          \
        const uint16_t *a, const uint16_t *w, int64_t k, bool first, float *c) { \
        multiply(pairs, outputs, a, w, k, first, c);                             \
    }
MULTIPLY(1, 4)
MULTIPLY(2, 4)
MULTIPLY(3, 4)
MULTIPLY(4, 4)
MULTIPLY(1, 8)
MULTIPLY(2, 8)
MULTIPLY(3, 8)
MULTIPLY(1, 12)
MULTIPLY(2, 12)
MULTIPLY(3, 12)

/* By outputs and pairs of pixels. */
static multiply_fn *const functions[][ROWS / 2] = {
    {multiply_1_4, multiply_2_4, multiply_3_4, multiply_4_4},
    {multiply_1_8, multiply_2_8, multiply_3_8, multiply_4_8},
    {multiply_1_12, multiply_2_12, multiply_3_12, multiply_4_12}};

/* ---- sums become outputs ---- */

/* A tile of sums, outputs from `column` on. */
typedef struct ending {
    const task *t;
    const float *c;
    const place *at;
    int rows;
    int64_t column, width;
} ending;

HN_INLINE hn_vf load_as(const void *r, int64_t at, int64_t n, bool bf16) {
    if (!bf16) return hn_v_load_part((const float *)r + at, n);
    return vreinterpretq_f32_u32(vshll_n_u16(load4((const uint16_t *)r + at, n, true), 16));
}

HN_INLINE void store_as(void *y, int64_t at, hn_vf v, int64_t n, bool bf16) {
    uint16_t *to = (uint16_t *)y + at, some[FOUR];
    if (!bf16) {
        hn_v_store_part((float *)y + at, v, n);
    } else if (n == FOUR) {
        vst1_u16(to, narrow4(v));
    } else {
        vst1_u16(some, narrow4(v));
        for (int64_t i = 0; i < n; i++) to[i] = some[i];
    }
}

/* How r is stored, if there is any. */
typedef enum residual { NO_R, R_F32, R_BF16 } residual;

static residual residual_of(const task *t) {
    return t->r == NULL ? NO_R : t->p->r_type == HN_FLOAT_BF16 ? R_BF16 : R_F32;
}

/* n outputs from number j of the panel on, n at most 4, of all rows: `pairs` of them, at least 1. */
HN_INLINE void finish_part(const ending *e, int64_t j, int64_t n, int pairs, hn_act_kind kind,
                           residual r, bool y_bf16) {
    const task *t = e->t;
    const int64_t column = e->column + j;
    hn_vf v[ROWS], bias = hn_v_set1(0.0f);
    if (t->bias != NULL) bias = hn_v_load_part(t->bias + column, n);
    UNROLL for (int i = 0; i < ROWS / 2; i++) {
        const float *c = e->c + (hn_least(i, pairs - 1) * e->width + j) * 2;
        float64x2_t left = vreinterpretq_f64_f32(vld1q_f32(c));
        float64x2_t right = vreinterpretq_f64_f32(vld1q_f32(c + 4));
        v[2 * i] = hn_v_add(vreinterpretq_f32_f64(vzip1q_f64(left, right)), bias);
        v[2 * i + 1] = hn_v_add(vreinterpretq_f32_f64(vzip2q_f64(left, right)), bias);
    }
    UNROLL for (int i = 0; i < ROWS && r != NO_R; i++) {
        if (i < e->rows) v[i] = hn_v_add(v[i], load_as(t->r, e->at[i].r + column, n, r == R_BF16));
    }
    hn_v_act_bf16(v, ROWS / 2, kind, t->act_a, t->act_b);
    UNROLL for (int i = 0; i < ROWS; i++) {
        if (i < e->rows) store_as(t->y, e->at[i].y + column, v[i], n, y_bf16);
    }
}

/* Any tile. */
HN_INLINE void finish_as(const ending *e, hn_act_kind kind) {
    const task *t = e->t;
    int64_t n = hn_least(e->width, t->p->n - e->column);
    const residual r = residual_of(t);
    const bool y_bf16 = t->p->y_type == HN_FLOAT_BF16;
    const int pairs = (e->rows + 1) / 2;
    for (int64_t j = 0; j < n; j += FOUR) {
        if (n - j >= FOUR)
            finish_part(e, j, FOUR, pairs, kind, r, y_bf16);
        else
            finish_part(e, j, n - j, pairs, kind, r, y_bf16);
    }
}

/* A full tile, for which all is known. */
HN_INLINE void finish_full(const ending *of, const int width, hn_act_kind kind, residual r,
                           bool y_bf16) {
    const task t = *of->t;
    ending e = *of;
    e.t = &t, e.width = width, e.rows = ROWS;
    UNROLL for (int j = 0; j < width; j += FOUR)
        finish_part(&e, j, FOUR, ROWS / 2, kind, r, y_bf16);
}

typedef void finish_fn(const ending *e);

/* The usual endings. A clip stands for no activation as well. */
#define FULL(kind, r, y, y_bf16)                              \
    static void full_8_##kind##_##r##_##y(const ending *e) {  \
        finish_full(e, 8, HN_ACT_##kind, r, y_bf16);          \
    }                                                         \
    static void full_12_##kind##_##r##_##y(const ending *e) { \
        finish_full(e, 12, HN_ACT_##kind, r, y_bf16);         \
    }
#define FULL_BOTH(kind, r) FULL(kind, r, f32, false) FULL(kind, r, bf16, true)
FULL_BOTH(CLIP, NO_R)
FULL_BOTH(CLIP, R_F32)
FULL_BOTH(CLIP, R_BF16)
FULL_BOTH(SILU, NO_R)
FULL_BOTH(HARD_SWISH, NO_R)
FULL_BOTH(GELU, NO_R)

/* By how y is stored and the outputs of a panel. */
#define NAMES(kind, r)                                              \
    {                                                               \
        {full_8_##kind##_##r##_f32, full_12_##kind##_##r##_f32}, {  \
            full_8_##kind##_##r##_bf16, full_12_##kind##_##r##_bf16 \
        }                                                           \
    }
static finish_fn *const full[HN_ACT_COUNT_][R_BF16 + 1][2][2] = {
    [HN_ACT_CLIP] = {NAMES(CLIP, NO_R), NAMES(CLIP, R_F32), NAMES(CLIP, R_BF16)},
    [HN_ACT_SILU] = {NAMES(SILU, NO_R)},
    [HN_ACT_HARD_SWISH] = {NAMES(HARD_SWISH, NO_R)},
    [HN_ACT_GELU] = {NAMES(GELU, NO_R)}};

/* Any other. */
static __attribute__((noinline)) void finish_rest(const ending *e) {
    switch (e->t->p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: finish_as(e, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* ---- one by one ---- */

/* Number i of a run: the tap and channel it is. */
static void locate(const hn_conv_f32 *p, source from, int64_t run, int64_t i, int64_t *ky,
                   int64_t *kx, int64_t *channel) {
    if (from == TAPS) {
        *ky = run / p->kw, *kx = run % p->kw, *channel = i;
        return;
    }
    *ky = run % p->kh;
    *kx = from == ROWS_OF_TAPS ? i / p->c : i;
    *channel = from == ROWS_OF_TAPS ? i % p->c : run / p->kh;
}

static float widen(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The sum of output j of a panel, for a pixel; what lies in the padding is left out. */
static float sum_plainly(const task *t, int64_t pixel, const uint16_t *w, int64_t width,
                         int64_t j) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    const bool bf16 = p->x_type == HN_FLOAT_BF16;
    corner at = corner_of(p, pixel);
    float sum = 0;
    for (int64_t run = 0; run < g->runs; run++)
        for (int64_t i = 0; i < g->len; i++) {
            int64_t ky, kx, channel;
            locate(p, g->source, run, i, &ky, &kx, &channel);
            if (!inside(at.iy + ky * p->dh, p->h) || !inside(at.ix + kx * p->dw, p->w)) continue;
            int64_t x =
                at.at + ky * p->dh * p->x_row + kx * p->dw * p->x_pixel + channel * p->x_channel;
            uint16_t v = vget_lane_u16(load4((const char *)t->x + x * (bf16 ? 2 : 4), 1, bf16), 0);
            uint16_t weight = w[((run * g->run + i / FOUR) * width + j) * FOUR + i % FOUR];
            sum = fmaf(widen(v), widen(weight), sum);
        }
    return sum;
}

/* The sums of a tile, laid out as products leave them. */
static void sum_tile(const task *t, int64_t tile, const uint16_t *w, int64_t width, float *c) {
    for (int i = 0; i < tile_rows(t->g, tile); i++)
        for (int64_t j = 0; j < width; j++)
            c[((i / 2 * width / 2) + j / 2) * 4 + i % 2 * 2 + j % 2] =
                sum_plainly(t, tile * ROWS + i, w, width, j);
}

/* ---- blocks ---- */

static void fetch(const char *from, int64_t bytes) {
    for (const char *end = from + bytes; from < end; from += LINE)
        __asm__ volatile("prfm pldl2keep, [%0]" ::"r"(from));
}

/* A panel, or the part of one that a pass takes. */
typedef struct panel {
    int64_t column, width;
    int64_t k, some;         /* its first four, how many */
    const uint16_t *w, *all; /* its weights; those of the whole panel */
    bool first, last, full;  /* pass; whether it has all its outputs, and usual endings */
} panel;

static panel panel_of(const task *t, int64_t i, int64_t pass) {
    const geometry *g = t->g;
    int64_t column = panel_column(g, i), width = panel_width(t->p, g, i), k = pass * g->pass;
    const uint16_t *w = t->w + column * g->k * FOUR;
    return (panel){.column = column,
                   .width = width,
                   .k = k,
                   .some = hn_least(g->pass, g->k - k),
                   .w = w + k * width * FOUR,
                   .all = w,
                   .first = pass == 0,
                   .last = pass == g->passes - 1,
                   .full = width > FOUR && width <= t->p->n - column && t->full != NULL};
}

/* Tile i of the block by a panel; its pixels are packed at a. */
static void multiply_tile(const task *t, int64_t i, const uint16_t *a, const panel *n, float *c) {
    int rows = tile_rows(t->g, t->first + i), pairs = (rows + 1) / 2;
    if (t->one_by_one)
        sum_tile(t, t->first + i, n->all, n->width, c);
    else
        functions[n->width / FOUR - 1][pairs - 1](a + n->k * pairs * 2 * FOUR, n->w, n->some,
                                                  n->first, c);
    if (!n->last) return;
    const ending e = {.t = t,
                      .c = c,
                      .at = t->l.places + i * ROWS,
                      .rows = rows,
                      .column = n->column,
                      .width = n->width};
    if (n->full && rows == ROWS)
        t->full[n->width == WIDE](&e);
    else
        finish_rest(&e);
}

/* Panels [begin, end) by the packed tiles of the block, panel by panel. */
static void multiply_block(const task *t, int64_t begin, int64_t end) {
    const geometry *g = t->g;
    for (int64_t j = begin; j < end; j++)
        for (int64_t pass = 0; pass < g->passes; pass++) {
            const panel n = panel_of(t, j, pass);
            /* Each tile fetches a share of the weights of the next pass. */
            int64_t share = t->fetch ? ceil_div(n.some * n.width * FOUR * 2, t->tiles) : 0;
            const char *next = (const char *)(n.w + n.some * n.width * FOUR);
            for (int64_t i = 0; i < t->tiles; i++, next += share) {
                fetch(next, share);
                multiply_tile(t, i, t->l.a + i * ROWS * g->k * FOUR, &n, t->l.c + i * SUMS);
            }
        }
}

/* The same tile by tile, for weights that L1 holds. */
static void multiply_tiles(const task *t, int64_t begin, int64_t end) {
    panel all[NEAR_PANELS];
    for (int64_t j = begin; j < end; j++) all[j - begin] = panel_of(t, j, 0);
    for (int64_t i = 0; i < t->tiles; i++) {
        pack_tile(t, t->first + i, tile_rows(t->g, t->first + i), t->l.a);
        for (int64_t j = 0; j < end - begin; j++) multiply_tile(t, i, t->l.a, &all[j], t->l.c);
    }
}

/* Whether some tap lies in the padding. */
static bool has_padding(const hn_conv_f32 *p) {
    return p->pt > 0 || p->pl > 0 || (p->oh - 1) * p->sh + (p->kh - 1) * p->dh - p->pt >= p->h ||
           (p->ow - 1) * p->sw + (p->kw - 1) * p->dw - p->pl >= p->w;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    const geometry g = measure(p);
    int64_t blocks = call->work->parts, groups = call->work->tasks[0] / max64(1, blocks);
    const uint8_t *packed = call->ptr[HN_CONV_W];
    bool broken = false, none = p->act.kind == HN_ACT_NONE;
    for (int i = 0; i < HEADER; i++) broken |= packed[i] != 0;
    task t = {.p = p,
              .g = &g,
              .x = call->ptr[HN_CONV_X],
              .bias = call->ptr[HN_CONV_BIAS],
              .r = call->ptr[HN_CONV_R],
              .w = (const uint16_t *)(packed + HEADER),
              .y = call->ptr[HN_CONV_Y],
              .one_by_one = broken && has_padding(p),
              .fetch = p->n * g.k * FOUR * 2 > hn_of_l2(FEW_BYTES),
              .act_a = hn_v_set1(none ? -INFINITY : p->act.a),
              .act_b = hn_v_set1(none ? INFINITY : p->act.b)};
    t.full = full[none ? HN_ACT_CLIP : p->act.kind][residual_of(&t)][p->y_type == HN_FLOAT_BF16];
    if (t.full[0] == NULL) t.full = NULL;
    divide(p, &g, blocks, lane, &t.l);
    memset(t.l.zeros, 0, (size_t)g.len * 4);
    const bool near = g.panels <= NEAR_PANELS && p->n * g.k * FOUR * 2 <= hn_of_l1(NEAR_BYTES);
    int64_t in_scratch = -1; /* the block whose pixels are */
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i % groups, block = i / groups;
        if (block != in_scratch) {
            t.first = g.tiles * block / blocks;
            t.tiles = g.tiles * (block + 1) / blocks - t.first;
            find_places(&t);
            for (int64_t k = 0; k < t.tiles && !near; k++)
                pack_tile(&t, t.first + k, tile_rows(&g, t.first + k),
                          t.l.a + k * ROWS * g.k * FOUR);
            in_scratch = block;
        }
        (near ? multiply_tiles : multiply_block)(&t, g.panels * group / groups,
                                                 g.panels * (group + 1) / groups);
    }
}

/* ---- packing weights ---- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    return HEADER + (size_t)(ceil_div(p->n, FOUR) * FOUR * g.k * FOUR) * 2;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t of[] = {p->c, p->n, p->kh, p->kw, p->w_o, p->w_i, p->w_y, p->w_x, source_of(p)};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* Ranges of panels, each with a part of the header to itself. */
static int64_t pack_tasks(const void *problem) {
    geometry g = measure(problem);
    return max64(1, hn_least(g.panels, HEADER));
}

/* Four products of four outputs: v[k] has product k of each. Their lanes that are not finite. */
HN_INLINE uint16x4_t pack_square(hn_vf *v, uint16_t *to) {
    const uint16x4_t inf = vdup_n_u16(0x7f80);
    uint16x4_t broken = vdup_n_u16(0);
    hn_v_transpose(v);
    UNROLL for (int i = 0; i < FOUR; i++) {
        uint16x4_t h = narrow4(v[i]);
        broken = vorr_u16(broken, vceq_u16(vand_u16(h, inf), inf));
        vst1_u16(to + i * FOUR, h);
    }
    return broken;
}

/* Four outputs of a panel of that width, from number `first` on; true: not all are finite. */
static bool pack_four(const hn_conv_f32 *p, const geometry *g, const void *w, int64_t first,
                      int64_t width, uint16_t *to) {
    const int64_t n = hn_least(FOUR, p->n - first);
    uint16x4_t broken = vdup_n_u16(0);
    hn_columns_room room;
    int64_t taps = g->source == TAPS ? g->runs : 1;
    int64_t most = g->source == TAPS ? max64(FOUR, hn_columns_channels(p) / FOUR * FOUR) : p->c;
    for (int64_t c = 0; c < p->c; c += most) {
        int64_t channels = hn_least(most, p->c - c);
        hn_columns k = hn_columns_of(p, w, first, n, c, channels, room);
        int64_t runs = g->source == TAPS ? taps : g->runs;
        int64_t len = g->source == TAPS ? channels : g->len;
        for (int64_t run = 0; run < runs; run++)
            for (int64_t i = 0; i < len; i += FOUR) {
                hn_vf v[FOUR];
                UNROLL for (int q = 0; q < FOUR; q++) {
                    int64_t ky, kx, channel;
                    v[q] = hn_v_set1(0.0f);
                    if (i + q >= len) continue;
                    locate(p, g->source, run, i + q, &ky, &kx, &channel);
                    v[q] = hn_column(&k, channel, ky * p->kw + kx);
                }
                int64_t four = run * g->run + (c + i) / FOUR;
                broken = vorr_u16(broken, pack_square(v, to + four * width * FOUR));
            }
    }
    return vmaxv_u16(broken) != 0;
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    int64_t tasks = pack_tasks(p);
    uint8_t *header = dst;
    uint16_t *to = (uint16_t *)(header + HEADER);
    for (int64_t part = begin; part < end; part++) {
        int64_t flags = HEADER * part / tasks;
        memset(header + flags, 0, (size_t)(HEADER * (part + 1) / tasks - flags));
        for (int64_t i = g.panels * part / tasks; i < g.panels * (part + 1) / tasks; i++) {
            int64_t column = panel_column(&g, i), width = panel_width(p, &g, i);
            for (int64_t j = 0; j < width; j += FOUR) {
                uint16_t *at = to + (column * g.k + j) * FOUR;
                if (pack_four(p, &g, plain->data, column + j, width, at)) header[flags] = 1;
            }
        }
    }
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->groups != 1) return *why = "groups", false;
    if (p->n < FOUR) return *why = "few outputs", false;
    if (p->x_channel != 1 && (p->x_pixel != 1 || p->dw != 1))
        return *why = "no numbers of x are adjacent", false;
    return true;
}

const hn_kernel hn_conv_f32_one_neoni8mm = {
    .name = "neoni8mm_bf16",
    .isa = HN_ISA_NEONI8MM,
    .order = "runs of the window by fours; one product",
    .precision = HN_PRECISION_BF16,
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = pack_tasks,
    .pack = pack,
};
