/* How the row of conv_q8 for AMX divides a problem: see conv_q8_amx.c for the words. */
#ifndef HN_KERNELS_CONV_Q8_AMX_GEOMETRY_H
#define HN_KERNELS_CONV_Q8_AMX_GEOMETRY_H
#ifdef __AVX512VNNI__

#include "base/cpu.h"
#include "simd/avx512.h"

#include "kernels/conv_q8/conv_q8_parts.h"

enum {
    ROWS = 16,               /* positions in a tile */
    PAIR = 2 * ROWS,         /* positions at a time */
    STEP = 64,               /* products in a step: bytes of a row of any left tile */
    TILE = 1024,             /* bytes */
    PANEL = 32,              /* outputs */
    WIDE = 2 * PANEL,        /* outputs that are finished together, at most */
    SUMS = PAIR * WIDE,      /* of a pair and such outputs */
    UNITS = PAIR / 2,        /* pairs of rows of sums, finished together */
    SMALL_IMAGE = 4 * ROWS,  /* positions */
    BLOCK_BYTES = 600 << 10, /* of copied pixels: they stay in L2 */
    CHUNK_BYTES = 36 << 10,  /* of a pair's steps: they stay in L1 */
    NEAR_BYTES = 16 << 10,   /* of weights that do so too */
    ROUND_BYTES = 64 << 10,  /* of weights that are fetched in four streams */
    SPAN = 8,                /* panels at a time: at most, */
    WIDES = SPAN / 2,        /* of them two at a time */
    LEAST_SPAN = 2,          /* at least, */
    SPAN_STEPS = 48,         /* between the two so many steps of a panel */
    MANY_PAIRS = 16,         /* so that weights need not stay for all of them */
    LEAST_CHANNELS = 4,      /* to be read in place: a step reads at most 16 pixels more */
    WOVEN = 4,               /* channels of rows that are woven, at most */
    JOINED = 16,             /* bytes of a row of a window that is joined with others, at most */
    LEAST_PIXELS = 9,        /* for fewer, rows without tiles are as fast */
};

/* Whether the pixels of an image of outputs, and those of the next, lie at one distance. */
static bool is_even(const hn_conv_q8 *p, int64_t image, int64_t row, int64_t pixel) {
    return (p->oh == 1 || row == p->ow * pixel) &&
           (p->batch == 1 || image == p->oh * p->ow * pixel);
}

typedef enum source { DIRECT, LINES, RUNS, WINDOWS } source;

typedef struct geometry {
    source source;
    int64_t lines, wrap; /* lines of positions; rows of an image on its line, halo and all */
    int64_t pw, halo;    /* positions in a row; how far behind a position its taps reach */
    int64_t phases;      /* of rows */
    int64_t pixel,
        slabs; /* lines, runs: bytes of a copied pixel that lie together; so many times */
    int64_t valid, pairs; /* positions of a line up to its last output; pairs of tiles for them */
    int64_t blocks, cap;  /* of a line; positions a block holds, its halo included */
    int64_t grain;        /* positions: blocks begin at multiples */
    int64_t stride;       /* bytes between rows of a left tile */
    int64_t hop, plane;   /* lines, runs: bytes between copied positions, between phases */
    int64_t woven;        /* runs: rows that are woven; 1: none */
    int64_t joined;       /* runs: bytes of each row of a window, where all are joined; else 0 */
    int64_t offsets;      /* of steps; of rows of a window, where they are joined */
    int64_t steps, panels;
    int64_t depth;    /* bytes of a step */
    int64_t chunk;    /* steps at a time: all, if they stay in L1 */
    int64_t span;     /* panels at a time */
    int64_t in_place; /* direct: the first so many positions */
    bool even;        /* outputs, in order, and what is added to them lie at one distance */
    int64_t scratch;  /* bytes of copied pixels */
} geometry;

/* Whether output pixels, in order, read input pixels at one distance. */
static bool is_dense(const hn_conv_q8 *p) {
    bool one_row = p->oh == 1, one_image = p->batch == 1;
    return p->kh == 1 && p->kw == 1 && p->pt == 0 && p->pl == 0 && p->sw == 1 && p->ow <= p->w &&
           (p->oh - 1) * p->sh < p->h &&
           (one_row || (p->sh == 1 && p->x_row == p->ow * p->x_pixel)) &&
           (one_image || p->x_image == p->oh * p->ow * p->x_pixel);
}

/* Rows of windows so short that all of them fit a step are joined where that spares more steps than
 * it takes to move them. The bytes of each then, whole fours; 0: they stay. */
static int64_t joined_row(const hn_conv_q8 *p) {
    int64_t row = hn_q8_ceil(p->kw * p->c, 4) * 4, halves = hn_q8_ceil(p->n, 16);
    return row <= JOINED && p->kh * row <= STEP && (p->kh - 1) * halves > 2 * p->kh ? row : 0;
}

/* Rows of so few channels, two of which a stride of 2 makes neighbours, are woven: pixel by pixel,
 * those of both follow each other, so that a step takes both. 2 then, else 1. */
static int64_t woven_rows(const hn_conv_q8 *p) {
    return p->sh == 2 && p->dh == 1 && p->kh > 1 && p->c <= WOVEN && p->x_pixel == p->c &&
                   joined_row(p) == 0
               ? 2
               : 1;
}

/* Runs of a window, the bytes of one and its steps. */
static int64_t runs_of(const hn_conv_q8 *p) { return hn_q8_ceil(p->kh, woven_rows(p)); }
static int64_t run_bytes(const hn_conv_q8 *p) { return woven_rows(p) * p->kw * p->c; }
static int64_t run_steps(const hn_conv_q8 *p) { return hn_q8_ceil(run_bytes(p), STEP); }

/* Bytes that are equal parts of a run of n, whole fours. A row of a tile that crosses a line of the
 * cache takes as long as six that do not: so steps take no more than they need. */
static int64_t part_of(int64_t n) {
    return n == 0 ? STEP : hn_q8_ceil(hn_q8_ceil(n, hn_q8_ceil(n, STEP)), 4) * 4;
}

static source source_of(const hn_conv_q8 *p) {
    int64_t taps = p->kh * p->kw, halves = hn_q8_ceil(p->n, 16);
    if ((p->c % STEP == 0 || (p->x_pixel == p->c && p->c >= LEAST_CHANNELS)) && is_dense(p))
        return DIRECT;
    if (taps == 1) return WINDOWS;
    /* In cycles of a position: 1 for a step and 16 outputs, somewhat more where rows cross lines of
     * the cache; 6 to copy a row of a window. */
    int64_t by_lines = 5 * halves * hn_q8_ceil(p->c, STEP) * taps;
    int64_t by_runs = 6 * halves * run_steps(p) * runs_of(p);
    int64_t by_windows =
        5 * halves * hn_q8_ceil(p->c * taps, STEP) + 30 * hn_q8_ceil(p->kw * p->c, STEP) * p->kh;
    if (by_lines <= by_windows && by_lines <= by_runs) return LINES;
    return p->dw == 1 && by_runs <= by_windows ? RUNS : WINDOWS;
}

/* 1 + the last phase that taps 0 .. k-1 of dilation d touch at stride s. */
static int64_t phases_of(int64_t k, int64_t d, int64_t s) {
    int64_t last = 0;
    for (int64_t i = 0; i < k && i < s; i++) last = hn_q8_max(last, i * d % s);
    return last + 1;
}

/* With so many blocks at least. */
static geometry measure(const hn_conv_q8 *p, int64_t least) {
    geometry g = {.source = source_of(p), .lines = 1, .pw = p->ow, .wrap = p->oh, .phases = 1};
    int64_t taps = p->kh * p->kw, rows = p->batch * p->oh, position;
    g.panels = hn_q8_ceil(p->n, PANEL);
    g.steps = hn_q8_ceil(p->c * taps, STEP);
    g.offsets = g.steps;
    g.stride = g.source == DIRECT ? p->x_pixel : g.steps * STEP;
    g.depth = p->kh * p->kw == 1 ? part_of(p->c) : g.source == RUNS ? part_of(run_bytes(p)) : STEP;
    position = g.source == DIRECT ? 0 : g.stride;
    if (g.source == LINES || g.source == RUNS) {
        bool runs = g.source == RUNS;
        int64_t down = (p->kh - 1) * p->dh / p->sh, right = (p->kw - 1) * p->dw;
        g.pw = p->ow + hn_q8_max(0, hn_q8_ceil(right + 1 - p->sw, p->sw));
        /* One line through the batch where images are small: else each would read all weights. */
        bool one = p->oh * g.pw <= SMALL_IMAGE;
        g.lines = one ? 1 : p->batch;
        g.wrap = p->oh + down;
        rows = (one ? p->batch - 1 : 0) * g.wrap + p->oh;
        g.halo = down * g.pw + hn_q8_ceil(right, p->sw);
        g.woven = runs ? woven_rows(p) : 1;
        g.phases = g.woven > 1 ? 1 : phases_of(p->kh, p->dh, p->sh);
        g.pixel = runs ? g.woven * p->c : STEP;
        g.slabs = runs ? 1 : hn_q8_ceil(p->c, STEP);
        g.steps = runs ? runs_of(p) * run_steps(p) : g.slabs * taps;
        g.hop = g.stride = p->sw * g.pixel;
        position = g.slabs * g.phases * g.hop;
        g.joined = runs ? joined_row(p) : 0;
        g.offsets = g.steps;
        if (g.joined > 0) {
            g.steps = 1, g.depth = p->kh * g.joined;
            g.stride = STEP, position += STEP;
        }
    }
    g.even = (g.source == DIRECT || g.source == WINDOWS) && !p->w_zero_points &&
             is_even(p, p->y_image, p->y_row, p->y_pixel) &&
             is_even(p, p->r_image, p->r_row, p->r_pixel);
    g.valid = (rows - 1) * g.pw + p->ow;
    g.pairs = hn_q8_ceil(g.valid, PAIR);
    int64_t chunk = hn_q8_max(1, hn_of_l1(CHUNK_BYTES) / (PAIR * STEP));
    g.chunk = hn_q8_max(1, hn_q8_ceil(g.steps, hn_q8_max(1, hn_q8_ceil(g.steps, chunk))));
    g.span = hn_q8_min(SPAN, hn_q8_max(LEAST_SPAN, SPAN_STEPS / hn_q8_max(1, g.steps) / 2 * 2));
    int64_t most = position == 0 ? g.pairs : hn_of_l2(BLOCK_BYTES) / (position * PAIR);
    g.blocks = hn_q8_ceil(g.pairs, hn_q8_max(2, most - hn_q8_ceil(g.halo, PAIR)));
    if (g.pairs >= MANY_PAIRS) {
        /* A number that 2, 4 and 8 threads can share. */
        int64_t even = g.blocks > 4 ? 8 : g.blocks > 2 ? 4 : 2;
        g.blocks = hn_q8_ceil(g.blocks, even) * even;
    }
    g.blocks = hn_q8_max(g.blocks, least);
    g.grain = g.pairs < MANY_PAIRS ? ROWS : PAIR;
    int64_t grains = hn_q8_ceil(hn_q8_ceil(g.valid, g.grain), g.blocks);
    g.cap = hn_q8_ceil(grains * g.grain, PAIR) * PAIR + g.halo;
    g.plane = g.cap * g.hop;
    /* Direct pairs that are not full or end behind x are copied. Windows and runs end in stores
     * that may be too long, runs in loads too. */
    int64_t over = g.steps * g.depth - p->c;
    g.in_place = hn_q8_max(0, g.valid - (over > 0 ? hn_q8_ceil(over, p->x_pixel) : 0));
    if (g.source == DIRECT)
        g.scratch = hn_q8_ceil(g.valid - g.in_place + PAIR - 1, PAIR) * PAIR * g.steps * STEP;
    else
        g.scratch = g.cap * position + STEP;
    return g;
}

/* Of positions. */
typedef struct places {
    int64_t *y, *r; /* elements; y < 0: no output, and r is 0 */
    int32_t *window_sum;
} places;

static inline places places_from(const places *at, int64_t i) {
    return (places){at->y + i, at->r + i, at->window_sum + i};
}

typedef struct lane_parts {
    int32_t *c;      /* slots of [PAIR][WIDE] sums */
    places at;       /* of the positions of the block */
    int64_t *offset; /* of the steps, from the first tap of a position */
    uint8_t *a;      /* copied pixels */
} lane_parts;

/* Pairs times wide panels whose sums scratch holds: what waits to be finished, and what is in the
 * making, a span where that is done in chunks. */
static int64_t slots_of(const geometry *g) {
    return g->chunk < g->steps ? hn_q8_ceil(g->span, 2) + 1 : 2;
}

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    size_t c = (size_t)slots_of(g) * SUMS * sizeof(int32_t);
    int64_t positions = (int64_t)hn_q8_round64(g->cap - g->halo);
    size_t at = (size_t)positions * (2 * sizeof(int64_t) + sizeof(int32_t));
    size_t offset = hn_q8_round64(g->offsets * (int64_t)sizeof(int64_t));
    if (base != NULL) {
        l->c = (int32_t *)base;
        l->at.y = (int64_t *)(base + c);
        l->at.r = l->at.y + positions;
        l->at.window_sum = (int32_t *)(l->at.r + positions);
        l->offset = (int64_t *)(base + c + at);
        l->a = (uint8_t *)(base + c + at + offset);
    }
    return c + at + offset + hn_q8_round64(g->scratch);
}

/* Blocks that make lanes share the pixels; 0: they should share the panels. What a lane reads of
 * another's pixels comes slowly from the other core's cache, about four times as slowly as weights
 * that all lanes read. Several blocks for each lane, so that one can help another. */
static int64_t choose_blocks(const hn_conv_q8 *p, const geometry *g, int lanes) {
    int64_t tiles = g->lines * hn_q8_ceil(g->valid, ROWS),
            weights = g->panels * g->steps * 2 * TILE;
    int64_t pixels = p->batch * (p->h * p->w * p->c + p->oh * p->ow * p->n);
    if (lanes == 1 || tiles < 2 * lanes) return 0;
    if (g->pairs < MANY_PAIRS && weights > 4 * pixels) return 0;
    int64_t each =
        g->source == LINES || g->source == RUNS ? 1 : hn_q8_max(1, hn_q8_min(4, tiles / lanes / 8));
    int64_t want = hn_q8_ceil(lanes * each, g->lines);
    return hn_q8_max(want, g->blocks);
}

/* Groups of panels: enough that all lanes have work, few enough that copying the pixels anew for
 * each is little beside multiplying them. */
static int64_t choose_groups(const geometry *g, int lanes) {
    /* In cycles of a pair of tiles: 64 for a step, some 3 to copy 64 bytes of a position. */
    double copy = g->source == DIRECT    ? 0
                  : g->source == WINDOWS ? 3.0 * PAIR * (double)g->steps
                                         : 3.0 / STEP * PAIR * (double)(g->slabs * g->pixel);
    int64_t best = 1;
    double best_cost = 0;
    for (int64_t n = 1; n <= g->panels && n <= 4 * lanes; n++) {
        double task = (double)(hn_q8_ceil(g->panels, n) * g->steps * 64) + copy;
        double cost = (double)hn_q8_ceil(g->lines * g->blocks * n, lanes) * task;
        if (n == 1 || cost < best_cost * 0.97) best = n, best_cost = cost;
    }
    return best;
}

static inline __mmask64 first64(int64_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

#endif
#endif
