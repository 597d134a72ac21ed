/* Convolution as a product of matrices [m][k] x [k][n]: a row is what the window of an output pixel
 * sees, so that k counts taps and channels; products of matrices themselves are 1x1 convolutions.
 *
 * A task is a block of tiles of rows, in one part of the panels. It interleaves the rows of its
 * tiles into lane scratch, where they stay in L1 if k is small; then all of them meet one panel
 * after the other, with nothing else to do in between, while the next panel is fetched.
 *
 * (Tiles that read rows where they lie were measured: 7 x 12 of them reach 67 GFLOP/s on a
 * Neoverse-V1, and 58 where the distance of rows is a multiple of 128 bytes, so that all rows of a
 * tile are in one bank of L1. Tiles of interleaved rows reach 80, and interleaving takes a sixth of
 * the time with as few as 24 columns. Copying larger blocks first, as conv_f32_product.c does, is up
 * to 5 % slower; it is left to rows so long that a block of them falls out of L2.)
 *
 * Weights are packed as those of the direct row: [panel][k][columns of the panel]. Sums are added up
 * in the same order as by it: the bits are the same.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/tile_f32/tile_f32.h"

enum {
    BLOCK = 24 << 10, /* bytes of pixels that stay in L1 beside a panel, of 48 kB */
    LEAST_TILES = 4,  /* of a block, however many bytes they have: a panel is worth fetching */
    TASKS = 8,        /* at least, where there are that many blocks or panels */
    FAR = 5 << 18,    /* bytes of a block that stay in L2, of 2 MB */
    ROWS = 8,         /* of a tile */
};

static const hn_tiles_f32 *const tiles = &hn_tiles_f32_neon;
extern const hn_kernel hn_conv_f32_direct_neon;

typedef struct geometry {
    int64_t m, taps, k;
    int64_t tiles, blocks, parts;
    hn_panels_f32 panels;
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {.m = p->batch * p->oh * p->ow, .taps = p->kh * p->kw};
    g.k = g.taps * p->c;
    g.panels = hn_panels_f32_of(tiles, p->n);
    g.tiles = ceil_div(g.m, ROWS);
    int64_t near = hn_of_l1(BLOCK) / (ROWS * g.k * 4);
    g.blocks = ceil_div(g.tiles, near > LEAST_TILES ? near : LEAST_TILES);
    g.parts = g.blocks >= TASKS ? 1 : hn_least(ceil_div(TASKS, g.blocks), g.panels.count);
    return g;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->dh != 1 || p->dw != 1) return *why = "dilation", false; /* direct rows leave taps out */
    if (p->x_channel != 1) return *why = "the channels of x are not adjacent", false;
    if (p->c == 0 || p->batch * p->oh * p->ow <= ROWS) return *why = "too few pixels", false;
    if (LEAST_TILES * ROWS * p->kh * p->kw * p->c * 4 > hn_of_l2(FAR))
        return *why = "rows are too long", false;
    return true;
}

static int64_t most_tiles(const geometry *g) { return ceil_div(g->tiles, g->blocks); }

/* The tiles of a block, in lane scratch. */
typedef struct block {
    int64_t first, end; /* tiles */
    const float **r;    /* [tile][ROWS] */
    float **y;          /* [tile][ROWS] */
    const float **taps; /* of one tile: [tap][rows] */
    float *zeros;       /* the channels of a pixel outside the image */
    float *x;           /* [tile][k][ROWS] */
} block;

static size_t divide(const hn_conv_f32 *p, const geometry *g, void *lane, block *b) {
    int64_t rows = most_tiles(g) * ROWS, pointers = 2 * rows + g->taps * ROWS;
    if (b != NULL) {
        b->r = lane;
        b->y = (float **)(b->r + rows);
        b->taps = (const float **)(b->y + rows);
        b->zeros = (float *)(b->taps + g->taps * ROWS);
        b->x = b->zeros + p->c;
    }
    return (size_t)pointers * sizeof(void *) + (size_t)(p->c + rows * g->k) * sizeof(float);
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    geometry g = measure(problem);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.blocks * g.parts},
                   .lane_scratch = divide(problem, &g, NULL, NULL)};
}

static int rows_of(const geometry *g, int64_t tile) {
    return (int)(g->m * (tile + 1) / g->tiles - g->m * tile / g->tiles);
}

/* What the window of an output sees: a pointer for each tap, `rows` pointers apart. */
static void place_window(const hn_conv_f32 *p, const float *image, int64_t oy, int64_t ox,
                         const float *zeros, int rows, const float **to) {
    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++, to += rows) {
            int64_t iy = oy * p->sh + ky - p->pt, ix = ox * p->sw + kx - p->pl;
            bool inside = iy >= 0 && iy < p->h && ix >= 0 && ix < p->w;
            *to = inside ? image + (iy * p->x_row + ix * p->x_pixel) : zeros;
        }
}

static void fill(const geometry *g, const hn_call *call, const block *b) {
    const hn_conv_f32 *p = call->problem;
    const float *x = call->ptr[HN_CONV_X], *r = call->ptr[HN_CONV_R];
    float *y = call->ptr[HN_CONV_Y];
    int64_t pixel = g->m * b->first / g->tiles, image = pixel / p->ow / p->oh;
    int64_t ox = pixel % p->ow, oy = pixel / p->ow % p->oh;
    for (int64_t tile = b->first; tile < b->end; tile++) {
        int64_t at = (tile - b->first) * ROWS;
        int rows = rows_of(g, tile);
        for (int i = 0; i < rows; i++) {
            place_window(p, x + image * p->x_image, oy, ox, b->zeros, rows, b->taps + i);
            b->y[at + i] = y + (image * p->y_image + oy * p->y_row + ox * p->y_pixel);
            if (r != NULL)
                b->r[at + i] = r + (image * p->r_image + oy * p->r_row + ox * p->r_pixel);
            if (++ox == p->ow) {
                ox = 0;
                if (++oy == p->oh) oy = 0, image++;
            }
        }
        hn_tile_f32_interleave(b->taps, rows, g->taps, p->c, b->x + at * g->k);
    }
}

/* One panel. */
static void run_panel(const geometry *g, const hn_call *call, const block *b, int64_t panel) {
    const hn_conv_f32 *p = call->problem;
    const float *bias = call->ptr[HN_CONV_BIAS];
    bool clip = p->act.kind == HN_ACT_CLIP, acts = p->act.kind != HN_ACT_NONE && !clip;
    int64_t width = hn_panels_f32_width(&g->panels, panel), n_tiles = b->end - b->first;
    hn_tile_f32_fn *const *fn = tiles->interleaved_fn[width == tiles->narrow];
    hn_tile_f32 args = {.runs = 1,
                        .len = g->k,
                        .column = hn_panels_f32_column(&g->panels, panel),
                        .n = hn_panels_f32_used(&g->panels, panel),
                        .lo = clip ? p->act.a : -INFINITY,
                        .hi = clip ? p->act.b : INFINITY};
    args.b = (const float *)call->ptr[HN_CONV_W] + args.column * g->k;
    args.bias = bias != NULL ? bias + args.column : NULL;
    /* Each tile fetches its share of the next panel; behind the last there is none. */
    bool more = panel + 1 < g->panels.count;
    const char *next = (const char *)(args.b + (more ? width * g->k : 0));
    args.ahead_step = more ? ceil_div(width * 4, n_tiles) : 0;
    for (int64_t i = 0; i < n_tiles; i++) {
        const float *a = b->x + i * ROWS * g->k;
        int rows = rows_of(g, b->first + i);
        args.a = &a;
        args.y = b->y + i * ROWS;
        args.r = call->ptr[HN_CONV_R] != NULL ? b->r + i * ROWS : NULL;
        args.ahead = next + i * args.ahead_step * g->k;
        fn[rows - 1](&args);
        if (acts) tiles->act(&p->act, args.y, rows, args.column, args.n);
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const geometry g = measure(call->problem);
    block b;
    divide(call->problem, &g, lane, &b);
    memset(b.zeros, 0, (size_t)((const hn_conv_f32 *)call->problem)->c * sizeof(float));
    for (int64_t task = begin, filled = -1; task < end; task++) {
        int64_t at = task / g.parts, part = task % g.parts;
        b.first = g.tiles * at / g.blocks, b.end = g.tiles * (at + 1) / g.blocks;
        if (filled != at) fill(&g, call, &b);
        filled = at;
        int64_t last = g.panels.count * (part + 1) / g.parts;
        for (int64_t panel = g.panels.count * part / g.parts; panel < last; panel++)
            run_panel(&g, call, &b, panel);
    }
}

static size_t packed_bytes(const void *problem) {
    return hn_conv_f32_direct_neon.packed_bytes(problem);
}
static uint64_t pack_key(const void *problem) { return hn_conv_f32_direct_neon.pack_key(problem); }
static int64_t pack_tasks(const void *problem) {
    return hn_conv_f32_direct_neon.pack_tasks(problem);
}
static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    hn_conv_f32_direct_neon.pack(problem, plain, begin, end, dst);
}

const hn_kernel hn_conv_f32_rows_neon = {.name = "neon_rows",
                                         .isa = HN_ISA_NEON,
                                         .order = "fma",
                                         .ok = ok,
                                         .work = work,
                                         .run = run,
                                         .packed_bytes = packed_bytes,
                                         .pack_key = pack_key,
                                         .pack_tasks = pack_tasks,
                                         .pack = pack};
