/* Convolution as a product of matrices whose left one is never built: the tiles of tile_f32 read
 * pixels where they lie.
 *
 *   rows     m = batch * oh * ow output pixels, cut into tiles of nearly the same number of rows;
 *            a tile may span rows and images
 *   columns  output channels of a group, cut into panels
 *   k        one run of c/groups channels per tap; taps outside the image point at zeros
 *
 * Weights are packed [group][panel][ky][kx][i][columns of the panel].
 *
 * A task is one tile of one panel. Tasks are numbered so that walking them in order reuses what is
 * expensive to fetch: blocks of `block` tiles, in each the panels, in each the tiles of the block.
 *   block = 1        all panels for a tile, then the next tile: small weights stay in L2
 *   block = many     all tiles for a panel, then the next panel: weights are read once, while the
 *                    pixels of the block stay in L2; the part of the weights that comes next is
 *                    fetched meanwhile
 */
#include <math.h>
#include <string.h>

#include "kernels/act_ref.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32.h"

enum {
    WEIGHTS_STAY = 640 << 10, /* bytes of weights that stay in L2 beside pixels and outputs */
    PIXELS_STAY = 768 << 10,  /* bytes of pixels that do, beside two blocks of a panel */
    K_BLOCK = 4096,           /* the k of one pass: 512 KB of a panel with 32 columns */
};

typedef struct geometry {
    int64_t pixels, tiles; /* rows of the product, cut into tiles */
    int64_t block;         /* tiles per block */
    int64_t taps, c, n, k; /* of a group */
    int64_t panels;        /* of a group */
    int64_t group_weights; /* floats */
} geometry;

static geometry measure(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    geometry g = {.pixels = p->batch * p->oh * p->ow,
                  .taps = p->kh * p->kw,
                  .c = p->c / p->groups,
                  .n = p->n / p->groups};
    g.k = g.taps * g.c;
    g.tiles = (g.pixels + t->rows - 1) / t->rows;
    g.panels = hn_tiles_f32_panels(t, g.n);
    g.group_weights = g.k * hn_tiles_f32_columns(t, g.n);
    int64_t per_pixel = p->sh < p->kh && p->sw < p->kw ? p->sh * p->sw : 1;
    int64_t tile_bytes = t->rows * per_pixel * g.c * 4;
    g.block = 1;
    if (g.group_weights * p->groups * 4 > WEIGHTS_STAY)
        g.block = PIXELS_STAY / (tile_bytes + 1) + 1;
    if (g.block > g.tiles) g.block = g.tiles;
    return g;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->x_channel == 1) return true;
    *why = "the channels of x are not adjacent";
    return false;
}

static void work(const hn_tiles_f32 *t, const hn_conv_f32 *p, hn_work *w) {
    geometry g = measure(t, p);
    size_t pointers = (size_t)((g.taps + 2) * t->rows) * sizeof(void *);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.tiles * g.panels * p->groups},
                   .lane_scratch = pointers + (size_t)g.c * 4};
}

/* ---- packing -------------------------------------------------------------------------------- */

static size_t packed_bytes(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    return (size_t)(measure(t, p).group_weights * p->groups) * 4;
}

static uint64_t pack_key(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    const int64_t facts[] = {t->width, t->narrow, p->groups, p->c,   p->n,  p->kh,
                             p->kw,    p->w_o,    p->w_i,    p->w_y, p->w_x};
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        h = (h ^ (uint64_t)facts[i]) * 0x100000001b3;
        h ^= h >> 29;
    }
    return h;
}

static void pack(const hn_tiles_f32 *t, const hn_conv_f32 *p, const float *w, float *dst) {
    enum { BLOCK = 16 }; /* channels at a time, so that what is written stays in L1 */
    geometry g = measure(t, p);
    for (int64_t panel = 0; panel < g.panels * p->groups; panel++) {
        int64_t in_group = panel % g.panels, width = hn_tiles_f32_width(t, g.n, in_group);
        int64_t first = panel / g.panels * g.n + in_group * t->width;
        int64_t n = g.n - in_group * t->width < width ? g.n - in_group * t->width : width;
        for (int64_t i0 = 0; i0 < g.c; i0 += BLOCK) {
            int64_t i1 = i0 + BLOCK < g.c ? i0 + BLOCK : g.c;
            for (int64_t j = 0; j < width; j++) {
                const float *src = w + (first + j) * p->w_o;
                for (int64_t i = i0; i < i1; i++)
                    for (int64_t tap = 0; tap < g.taps; tap++)
                        dst[(tap * g.c + i) * width + j] =
                            j < n ? src[i * p->w_i + tap / p->kw * p->w_y + tap % p->kw * p->w_x]
                                  : 0;
            }
        }
        dst += g.k * width;
    }
}

/* ---- running -------------------------------------------------------------------------------- */

/* The rows of one tile, and where lane scratch holds its pointers. */
typedef struct rows {
    const float **a; /* [taps][n] */
    float **y;
    const float **r;
    float *zeros;
    int n;
} rows;

/* Points a, y and r at the pixels of tile `tile`, in group `group`. */
static void place(const hn_conv_f32 *p, const geometry *g, void *const *ptr, int64_t tile,
                  int64_t group, rows *s) {
    int64_t first = g->pixels * tile / g->tiles, end = g->pixels * (tile + 1) / g->tiles;
    const float *x = (const float *)ptr[HN_CONV_X] + group * g->c, *r = ptr[HN_CONV_R];
    float *y = ptr[HN_CONV_Y];
    int64_t ox = first % p->ow, oy = first / p->ow % p->oh, b = first / p->ow / p->oh;
    s->n = (int)(end - first);
    for (int i = 0; i < s->n; i++) {
        int64_t iy = oy * p->sh - p->pt, ix = ox * p->sw - p->pl;
        int64_t at = b * p->x_image + iy * p->x_row + ix * p->x_pixel;
        s->y[i] = y + b * p->y_image + oy * p->y_row + ox * p->y_pixel;
        if (r != NULL) s->r[i] = r + b * p->r_image + oy * p->r_row + ox * p->r_pixel;
        const float **a = s->a + i;
        bool inside = iy >= 0 && iy + (p->kh - 1) * p->dh < p->h && ix >= 0 &&
                      ix + (p->kw - 1) * p->dw < p->w;
        for (int64_t ky = 0; ky < p->kh; ky++, iy += p->dh, at += p->dh * p->x_row) {
            bool row = inside || (iy >= 0 && iy < p->h);
            for (int64_t kx = 0; kx < p->kw; kx++, a += s->n) {
                int64_t jx = ix + kx * p->dw;
                *a = inside || (row && jx >= 0 && jx < p->w) ? x + (at + kx * p->dw * p->x_pixel)
                                                             : s->zeros;
            }
        }
        if (++ox == p->ow) {
            ox = 0;
            if (++oy == p->oh) oy = 0, b++;
        }
    }
}

/* Activations that are no clipping run over the finished rows, which are still in L1. */
static void activate(const hn_act *act, const rows *s, int64_t column, int64_t n) {
    for (int i = 0; i < s->n; i++) {
        float *y = s->y[i] + column;
        for (int64_t j = 0; j < n; j++) y[j] = (float)hn_act_ref(act, (double)y[j]);
    }
}

static void run(const hn_tiles_f32 *t, const hn_call *call, int64_t begin, int64_t end,
                void *lane) {
    const hn_conv_f32 *p = call->problem;
    const geometry g = measure(t, p);
    const float *weights = call->ptr[HN_CONV_W], *bias = call->ptr[HN_CONV_BIAS];
    rows s = {.a = lane};
    s.y = (float **)(s.a + g.taps * t->rows);
    s.r = (const float **)(s.y + t->rows);
    s.zeros = (float *)(s.r + t->rows);
    memset(s.zeros, 0, (size_t)g.c * 4);
    bool clip = p->act.kind == HN_ACT_CLIP, later = !clip && p->act.kind != HN_ACT_NONE;
    int64_t all_panels = g.panels * p->groups, placed_tile = -1, placed_group = -1;
    /* Passes over k: some taps each, or a part of the only tap. */
    int64_t tap_step = K_BLOCK / g.c > 0 ? K_BLOCK / g.c : 1;
    int64_t c_step = g.taps == 1 && g.c > K_BLOCK ? K_BLOCK : g.c;
    while (begin < end) {
        /* The tasks of this range that share a block and a panel. */
        int64_t block = begin / (g.block * all_panels), block_first = block * g.block;
        int64_t in_block = g.tiles - block_first < g.block ? g.tiles - block_first : g.block;
        int64_t at = begin - block_first * all_panels, panel = at / in_block;
        int64_t tile0 = at % in_block, tile1 = tile0 + (end - begin);
        if (tile1 > in_block) tile1 = in_block;
        begin += tile1 - tile0;
        int64_t group = panel / g.panels, in_group = panel % g.panels;
        int64_t width = hn_tiles_f32_width(t, g.n, in_group), left = g.n - in_group * t->width;
        const float *b = weights + group * g.group_weights + in_group * t->width * g.k;
        hn_tile_f32 args = {.column = group * g.n + in_group * t->width,
                            .n = left < width ? left : width};
        for (int64_t tap = 0, c0 = 0; tap < g.taps;) {
            args.runs = g.taps - tap < tap_step ? g.taps - tap : tap_step;
            args.len = g.c - c0 < c_step ? g.c - c0 : c_step;
            args.b = b;
            bool starts = tap == 0 && c0 == 0;
            bool ends = tap + args.runs == g.taps && c0 + args.len == g.c;
            args.bias = starts && bias != NULL ? bias + args.column : NULL;
            args.lo = ends && clip ? p->act.a : -INFINITY;
            args.hi = ends && clip ? p->act.b : INFINITY;
            int64_t bytes = args.runs * args.len * width * 4;
            args.ahead_step = in_block > 1 || tile0 == 0 ? width * 4 / in_block : 0;
            for (int64_t i = tile0; i < tile1; i++) {
                if (block_first + i != placed_tile || group != placed_group) {
                    placed_tile = block_first + i, placed_group = group;
                    place(p, &g, call->ptr, placed_tile, group, &s);
                }
                args.a = s.a + tap * s.n;
                if (c0 > 0)
                    for (int j = 0; j < s.n; j++) s.a[j] += c0;
                args.y = s.y;
                args.r = !starts                        ? (const float *const *)s.y
                         : call->ptr[HN_CONV_R] != NULL ? s.r
                                                        : NULL;
                args.ahead = (const char *)b + bytes + bytes * i / in_block;
                t->fn[width == t->narrow][s.n - 1](&args);
                if (c0 > 0) placed_tile = -1;
                if (ends && later) activate(&p->act, &s, args.column, args.n);
            }
            b += bytes / 4;
            c0 += args.len;
            if (c0 == g.c) c0 = 0, tap += args.runs;
        }
    }
}

/* A row whose tiles are hn_tiles_f32_<isa>. */
#define ROW(isa_name, bits, tile_name, sums)                                                  \
    static void work_##isa_name(const void *p, int lanes, hn_work *w) {                       \
        (void)lanes;                                                                          \
        work(&hn_tiles_f32_##isa_name, p, w);                                                 \
    }                                                                                         \
    static void run_##isa_name(const hn_call *call, int phase, int64_t begin, int64_t end,    \
                               void *lane) {                                                  \
        (void)phase;                                                                          \
        run(&hn_tiles_f32_##isa_name, call, begin, end, lane);                                \
    }                                                                                         \
    static size_t packed_bytes_##isa_name(const void *p) {                                    \
        return packed_bytes(&hn_tiles_f32_##isa_name, p);                                     \
    }                                                                                         \
    static uint64_t pack_key_##isa_name(const void *p) {                                      \
        return pack_key(&hn_tiles_f32_##isa_name, p);                                         \
    }                                                                                         \
    static void pack_##isa_name(const void *p, const void *plain, void *dst) {                \
        pack(&hn_tiles_f32_##isa_name, p, plain, dst);                                        \
    }                                                                                         \
    const hn_kernel hn_conv_f32_direct_##isa_name = {.name = tile_name,                       \
                                                     .isa = bits,                             \
                                                     .order = sums,                           \
                                                     .ok = ok,                                \
                                                     .work = work_##isa_name,                 \
                                                     .run = run_##isa_name,                   \
                                                     .packed_bytes = packed_bytes_##isa_name, \
                                                     .pack_key = pack_key_##isa_name,         \
                                                     .pack = pack_##isa_name};

#if defined(__x86_64__)
ROW(avx512, HN_ISA_AVX512, "avx512_14x32", "fma")
ROW(avx2, HN_ISA_AVX2, "avx2_6x16", "fma")
#endif
ROW(portable, HN_ISA_PORTABLE, "portable_6x8", "f32")
