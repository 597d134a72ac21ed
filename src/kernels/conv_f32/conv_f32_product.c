/* Products of matrices [m][k] x [k][n] that are large enough for their left operand to be copied
 * first: the rows of a tile interleaved, as one stream of floats. A tile that reads rows where they
 * lie reads a stream for each; the CPU fetches these ahead less well, and rows whose pitch is a
 * multiple of 4096 bytes push each other out of L1.
 *
 * Rows are taken in blocks, whose copies stay in L2. Each block has two phases:
 *
 *   copy      x -> [tile][k][rows of the tile], in scratch that all lanes share
 *   multiply  the tiles of tile_f32
 *
 * Weights are packed as those of the direct rows: [panel][k][columns of the panel].
 *
 * A task of the second phase is one tile of one panel: all tiles of the block meet one panel after
 * the other. k is cut into passes, so that the part of a panel which a pass needs stays near; the
 * partial sums are in y. Meanwhile the weights that the next pass or panel needs are fetched.
 *
 * Sums are added up in the same order as by the direct rows: the bits are the same.
 */
#include <math.h>

#include "base/cpu.h"
#include "base/divide.h"
#include "base/least.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32.h"

enum {
    BLOCK = 512 << 10,   /* bytes of rows that stay in L2 beside weights and results */
    LEAST_BLOCK = 96,    /* rows for which it is worth to fetch all weights once more */
    PASS = 768,          /* the most k of a pass, with an L1 of 48 kB */
    LEAST_COLUMNS = 128, /* copying the rows pays from here on */
    LEAST_K = 64,
    FEW_K = 128,       /* with fewer, results are written panel by panel only while they */
    RESULTS = 2 << 20, /* stay in L2: these bytes */
    MAX_ROWS = 16,     /* of a tile */
};

typedef struct geometry {
    int64_t m, n, k;
    int64_t tiles, blocks;
    int64_t pass, passes;
    int64_t x_pitch, r_pitch, y_pitch; /* floats from a row to the next */
    int64_t x_channel;                 /* from a column to the next: 1, or x_pitch is */
    hn_panels_f32 panels;
} geometry;

/* Whether the pixels of all images lie at equal distances. */
static bool equidistant(const hn_conv_f32 *p, int64_t image, int64_t row, int64_t pixel) {
    return (p->oh == 1 || row == p->ow * pixel) &&
           (p->batch == 1 || image == p->oh * p->ow * pixel);
}

static int64_t tile_row(const geometry *g, int64_t tile) { return hn_over(g->m * tile, g->tiles); }
static int64_t block_tile(const geometry *g, int64_t block) {
    return hn_over(g->tiles * block, g->blocks);
}

static geometry measure(const hn_tiles_f32 *t, const hn_conv_f32 *p) {
    geometry g = {.m = p->batch * p->oh * p->ow, .n = p->n, .k = p->c};
    g.x_pitch = p->sw * p->x_pixel, g.r_pitch = p->r_pixel, g.y_pitch = p->y_pixel;
    g.x_channel = p->x_channel;
    g.panels = hn_panels_f32_of(t, g.n);
    g.tiles = hn_ceil_over(g.m, t->rows);
    int64_t rows = hn_over(hn_of_l2(BLOCK), g.k * 4);
    g.blocks = hn_ceil_over(g.m, rows > LEAST_BLOCK ? rows : LEAST_BLOCK);
    g.passes = hn_ceil_over(g.k, hn_of_l1(PASS));
    g.pass = hn_ceil_over(g.k, g.passes);
    return g;
}

static bool ok(const hn_tiles_f32 *t, const hn_conv_f32 *p, const char **why) {
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->kh * p->kw != 1 || p->groups != 1) return *why = "not a product of matrices", false;
    bool inside =
        p->pt == 0 && p->pl == 0 && (p->oh - 1) * p->sh < p->h && (p->ow - 1) * p->sw < p->w;
    if (!inside) return *why = "there is padding", false;
    if (p->x_channel != 1 && p->sw * p->x_pixel != 1)
        return *why = "neither rows nor columns of x are adjacent floats", false;
    if (!equidistant(p, p->x_image, p->sh * p->x_row, p->sw * p->x_pixel) ||
        !equidistant(p, p->y_image, p->y_row, p->y_pixel) ||
        !equidistant(p, p->r_image, p->r_row, p->r_pixel))
        return *why = "rows do not lie at equal distances", false;
    int64_t m = p->batch * p->oh * p->ow;
    if (m <= t->rows || p->n < LEAST_COLUMNS || p->c < LEAST_K)
        return *why = "copying the rows takes too long", false;
    if (p->c < FEW_K && m * p->n * 4 > hn_of_l2(RESULTS))
        return *why = "sums are too short for so many results", false;
    return true;
}

/* The most tiles of a block. */
static int64_t most_tiles(const geometry *g) { return hn_ceil_over(g->tiles, g->blocks); }

/* All phases have the same number of tasks; the last ones of a smaller block do nothing. */
static void work(const hn_tiles_f32 *t, const hn_conv_f32 *p, hn_work *w) {
    geometry g = measure(t, p);
    int64_t tiles = most_tiles(&g), tasks = tiles * g.panels.count;
    *w =
        (hn_work){.n_phases = (int)(2 * g.blocks),
                  .scratch = (size_t)(tiles * hn_tile_f32_pitch(t, t->rows) * g.k) * sizeof(float)};
    for (int i = 0; i < HN_MAX_PHASES; i++) w->tasks[i] = tasks;
}

/* Tiles [first, end). */
typedef struct block {
    int64_t first, end;
} block;

/* Where the copied rows of a tile begin, from element k on. */
static float *copied_rows(const hn_tiles_f32 *t, const geometry *g, const block *b, void *scratch,
                          int64_t tile, int64_t k) {
    int rows = (int)(tile_row(g, tile + 1) - tile_row(g, tile));
    return (float *)scratch + (tile - b->first) * hn_tile_f32_pitch(t, t->rows) * g->k +
           k * hn_tile_f32_pitch(t, rows);
}

/* What is transposed already: rows of x are read along the whole block, a few k in a task. */
static void copy_columns(const hn_tiles_f32 *t, const geometry *g, const block *b,
                         const hn_call *call, int64_t begin, int64_t end) {
    enum { FEW = 16 };
    const float *x = call->ptr[HN_CONV_X];
    int64_t tasks = call->work->tasks[0], first = hn_over(g->k * begin, tasks);
    int64_t last = hn_over(g->k * end, tasks);
    for (int64_t k = first; k < last; k += FEW)
        for (int64_t tile = b->first; tile < b->end; tile++) {
            int64_t row = tile_row(g, tile), rows = tile_row(g, tile + 1) - row;
            t->copy(x + row + k * g->x_channel, g->x_channel, 1, hn_least(FEW, last - k), rows, 1,
                    copied_rows(t, g, b, call->scratch, tile, k), hn_tile_f32_pitch(t, (int)rows));
        }
}

/* Pieces of one tile in one pass, spread over all tasks of the phase. */
static void copy_rows(const hn_tiles_f32 *t, const geometry *g, const block *b, const hn_call *call,
                      int64_t begin, int64_t end) {
    const float *x = call->ptr[HN_CONV_X];
    if (g->x_channel != 1) {
        copy_columns(t, g, b, call, begin, end);
        return;
    }
    int64_t pieces = (b->end - b->first) * g->passes, tasks = call->work->tasks[0];
    for (int64_t i = hn_over(pieces * begin, tasks); i < hn_over(pieces * end, tasks); i++) {
        int64_t tile = i, k = hn_digit(&tile, g->passes) * g->pass;
        tile += b->first;
        int64_t row = tile_row(g, tile), rows = tile_row(g, tile + 1) - row;
        t->copy(x + row * g->x_pitch + k, 1, g->x_pitch, hn_least(g->pass, g->k - k), rows, 1,
                copied_rows(t, g, b, call->scratch, tile, k), hn_tile_f32_pitch(t, (int)rows));
    }
}

/* Fetches the results of a tile, and what is added to them: the CPU does not see that these lie on
 * the way of the panels. */
static void fetch_results(const geometry *g, const hn_call *call, int64_t tile, int64_t column,
                          int64_t width) {
    enum { LINE = 16 }; /* floats of a cache line */
    const float *r = call->ptr[HN_CONV_R], *y = call->ptr[HN_CONV_Y];
    for (int64_t row = tile_row(g, tile); row < tile_row(g, tile + 1); row++)
        for (int64_t i = column; i < column + width; i += LINE) {
            if (r != NULL) __builtin_prefetch(r + row * g->r_pitch + i, 0, 3);
            __builtin_prefetch(y + row * g->y_pitch + i, 1, 3);
        }
}

/* One tile by one panel in one pass over k: [k0, k0 + len). */
static void run_tile(const hn_tiles_f32 *t, const geometry *g, const block *b, const hn_call *call,
                     int64_t tile, int64_t panel, int64_t k0, int64_t len) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS], *r = call->ptr[HN_CONV_R];
    const float *weights = call->ptr[HN_CONV_W];
    int64_t width = hn_panels_f32_width(&g->panels, panel), row = tile_row(g, tile);
    int64_t column = hn_panels_f32_column(&g->panels, panel);
    int rows = (int)(tile_row(g, tile + 1) - row);
    bool starts = k0 == 0, ends = k0 + len == g->k, clip = p->act.kind == HN_ACT_CLIP;
    const float *a = copied_rows(t, g, b, call->scratch, tile, k0), *rows_r[MAX_ROWS];
    float *rows_y[MAX_ROWS];
    for (int i = 0; i < rows; i++) {
        rows_y[i] = (float *)call->ptr[HN_CONV_Y] + (row + i) * g->y_pitch;
        rows_r[i] = r == NULL || !starts ? rows_y[i] : r + (row + i) * g->r_pitch;
    }
    hn_tile_f32 args = {.a = &a,
                        .runs = 1,
                        .len = len,
                        .b = weights + column * g->k + k0 * width,
                        .bias = starts && bias != NULL ? bias + column : NULL,
                        .r = starts && r == NULL ? NULL : rows_r,
                        .y = rows_y,
                        .column = column,
                        .n = hn_panels_f32_used(&g->panels, panel),
                        .lo = ends && clip ? p->act.a : -INFINITY,
                        .hi = ends && clip ? p->act.b : INFINITY};
    /* This tile's share of the weights that follow; behind the last panel, of the first. */
    bool last = ends && panel + 1 == g->panels.count;
    const float *next = last ? weights : args.b + len * width;
    int64_t at = tile - b->first, tiles = b->end - b->first;
    args.ahead = next + hn_over(len * width * at, tiles);
    args.ahead_step = hn_ceil_over(width * 4, tiles);
    if (starts && tile + 1 < b->end) fetch_results(g, call, tile + 1, column, width);
    t->interleaved_fn[width == t->narrow][rows - 1](&args);
    if (ends && p->act.kind != HN_ACT_NONE && !clip) t->act(&p->act, rows_y, rows, column, args.n);
}

static void multiply(const hn_tiles_f32 *t, const geometry *g, const block *b, const hn_call *call,
                     int64_t begin, int64_t end) {
    int64_t tiles = b->end - b->first;
    end = hn_least(end, tiles * g->panels.count);
    while (begin < end) {
        int64_t panel = hn_over(begin, tiles), stop = hn_least(end, (panel + 1) * tiles);
        for (int64_t k = 0; k < g->k; k += g->pass)
            for (int64_t task = begin; task < stop; task++)
                run_tile(t, g, b, call, b->first + hn_rest(task, tiles), panel, k,
                         hn_least(g->pass, g->k - k));
        begin = stop;
    }
}

static void run(const hn_tiles_f32 *t, const hn_call *call, int phase, int64_t begin, int64_t end) {
    const geometry g = measure(t, call->problem);
    const block b = {block_tile(&g, phase / 2), block_tile(&g, phase / 2 + 1)};
    (phase % 2 == 0 ? copy_rows : multiply)(t, &g, &b, call, begin, end);
}

/* The row whose tiles are hn_tiles_f32_<isa>. Weights are packed by the direct row. */
#define ROW(isa_name, bits, sums)                                                                  \
    extern const hn_kernel hn_conv_f32_direct_##isa_name;                                          \
    static bool ok_##isa_name(const void *p, const char **why) {                                   \
        return ok(&hn_tiles_f32_##isa_name, p, why);                                               \
    }                                                                                              \
    static void work_##isa_name(const void *p, int lanes, hn_work *w) {                            \
        (void)lanes;                                                                               \
        work(&hn_tiles_f32_##isa_name, p, w);                                                      \
    }                                                                                              \
    static void run_##isa_name(const hn_call *call, int phase, int64_t begin, int64_t end,         \
                               void *lane) {                                                       \
        (void)lane;                                                                                \
        run(&hn_tiles_f32_##isa_name, call, phase, begin, end);                                    \
    }                                                                                              \
    static size_t packed_bytes_##isa_name(const void *p) {                                         \
        return hn_conv_f32_direct_##isa_name.packed_bytes(p);                                      \
    }                                                                                              \
    static uint64_t pack_key_##isa_name(const void *p) {                                           \
        return hn_conv_f32_direct_##isa_name.pack_key(p);                                          \
    }                                                                                              \
    static int64_t pack_tasks_##isa_name(const void *p) {                                          \
        return hn_conv_f32_direct_##isa_name.pack_tasks(p);                                        \
    }                                                                                              \
    static void pack_##isa_name(const void *p, const hn_stored *plain, int64_t begin, int64_t end, \
                                void *dst) {                                                       \
        hn_conv_f32_direct_##isa_name.pack(p, plain, begin, end, dst);                             \
    }                                                                                              \
    const hn_kernel hn_conv_f32_product_##isa_name = {.name = #isa_name "_product",                \
                                                      .isa = bits,                                 \
                                                      .order = sums,                               \
                                                      .ok = ok_##isa_name,                         \
                                                      .work = work_##isa_name,                     \
                                                      .run = run_##isa_name,                       \
                                                      .packed_bytes = packed_bytes_##isa_name,     \
                                                      .pack_key = pack_key_##isa_name,             \
                                                      .pack_tasks = pack_tasks_##isa_name,         \
                                                      .pack = pack_##isa_name};

#if defined(__x86_64__)
ROW(avx512, HN_ISA_AVX512, "fma")
ROW(avx2, HN_ISA_AVX2, "fma")
#elif defined(__aarch64__)
ROW(neon, HN_ISA_NEON, "fma")
#endif
