/* conv_q8 by AMX: tiles of 16 pixels by 64 bytes times tiles of 64 bytes by 16 outputs.
 *
 * 32 pixels by 16 outputs are two tiles of sums, and a step of 64 products deep takes three tile
 * loads and two multiplications. Where rows of a left tile come from:
 *
 *   direct  1x1 over pixels that follow each other at one distance: from x itself. What a step
 *           reads of the next pixel, where channels do not fill it, meets weights of zero.
 *   lines   windows over many channels. The pixels of an image, rows one after the other with their
 *           padding, are a line of positions; an output at position q takes its tap (ky, kx) from
 *           position q + offset(ky, kx), the same offset for every q:
 *
 *               row 0 . . . . h h | row 1 . . . . h h | ...    pw = ow + halo positions in a row
 *               `- 16 positions = the rows of a tile -'        outputs at h are dropped
 *
 *           The pixels are copied into scratch, [channels/64][phase][position * sw][64]: 16 rows of
 *           a tile lie sw pixels apart, and rows of the image that a stride of sh skips between two
 *           neighbours are phases of their own.
 *   runs    windows over few channels. As lines, but pixels follow each other in scratch as they
 *           do in x, [phase][position * sw][channels]: a row of a window is a run of bytes that
 *           steps take. Rows may be woven (see woven_rows), so that runs are fewer and longer.
 *           Where windows are narrower still, their rows are joined: see joined_row.
 *   windows anything else: the window of every position is copied into scratch, one after the
 *           other.
 *
 * Weights are packed as sums of w' [n rounded up to 32], then [panel of 32][step][half][16][16][4].
 * The last panel has one half if 16 outputs or fewer are left.
 *
 * A pair of tiles of positions meets a span of panels one after the other: its rows stay in L1, or,
 * where they are one step deep, in their tiles. Weights come from L2 by a load that leaves L1 to
 * the rows (tileloaddt1). Rows too deep for L1 are multiplied a chunk of steps at a time, and the
 * sums wait in scratch. Then the same panels meet the next pair, and when all pairs of a block had
 * them, the next span follows; its weights are fetched into L2 meanwhile.
 *
 * Sums of a pair and two panels, 64 bytes of each pixel, become outputs after the products of the
 * next, when they have reached L1. Activations that are long chains of operations do so between
 * the steps of these products: the core has time for both. Rounding to bytes was measured to take
 * longer so: for some hundred cycles after a tile instruction, products, conversions and limits of
 * vectors have one port instead of two.
 */
#include <string.h>

#include "kernels/conv_q8/conv_q8_amx_copy.h"
#include "kernels/conv_q8/conv_q8_amx_finish.h"
#include "kernels/conv_q8/conv_q8_amx_geometry.h"
#include "simd/amx.h"

/* ---- tiles ---- */

#define MULTIPLY(c, a, b)            \
    do {                             \
        if (is_signed)               \
            HN_TILE_DOT_S8(c, a, b); \
        else                         \
            HN_TILE_DOT_U8(c, a, b); \
    } while (0)

/* What is done beside the products, at every step. */
typedef struct beside {
    waiting *before;
    int units;      /* of it to finish; 0: all, after the last step */
    hn_fetch fetch; /* of the weights of the next span */
} beside;

/* Of so many halves of two panels, those of one. */
static inline int64_t panel_halves(int64_t halves, int which) {
    return which == 0 ? hn_q8_min(halves, 2) : hn_q8_max(halves - 2, 0);
}

typedef struct product {
    const uint8_t *a;
    int64_t stride;
    const int64_t *offset;
    const uint8_t *w[2]; /* of each panel */
    int64_t steps;
    int halves;           /* of the panels */
    const int32_t *start; /* of all rows of C; NULL: C begins with itself */
    int32_t *c;
} product;

/* C[rows*16][halves*16] = or += A * W; tiles 0-1: C, 2: A, 3: W. Weights that stay in L1 (`near`)
 * are loaded into it.
 *
 * Four of the eight tiles, although more of them would save loads. Beside another busy thread of
 * the core, a product with eight tiles in use was measured to take 4.5 times as long as on a core
 * to itself, with four of them twice as long: perhaps tile registers for renaming run out, and a
 * load waits until the products before it are done. On a core to itself four are no slower. */
HN_INLINE void multiply(const int rows, const bool is_signed, const bool near, const product *t,
                        beside *aside) {
    enum { PITCH = WIDE * sizeof(int32_t) };
    const int64_t stride = t->stride, below = ROWS * stride;
    for (int half = 0; half < t->halves; half++) {
        const int64_t next = panel_halves(t->halves, half / 2) * TILE;
        const uint8_t *w = t->w[half / 2] + half % 2 * TILE;
        int32_t *c = t->c + half * 16;
        if (t->start != NULL) {
            HN_TILE_LOAD(0, t->start + half * 16, 0);
            if (rows == 2) HN_TILE_LOAD(1, t->start + half * 16, 0);
        } else {
            HN_TILE_LOAD(0, c, PITCH);
            if (rows == 2) HN_TILE_LOAD(1, c + ROWS * WIDE, PITCH);
        }
        for (int64_t s = 0; s < t->steps; s++, w += next) {
            const uint8_t *a = t->a + t->offset[s];
            if (near)
                HN_TILE_LOAD(3, w, 64);
            else
                HN_TILE_STREAM(3, w, 64);
            HN_TILE_LOAD(2, a, stride);
            MULTIPLY(0, 2, 3);
            if (rows == 2) {
                HN_TILE_LOAD(2, a + below, stride);
                MULTIPLY(1, 2, 3);
            }
            if (aside->fetch.fours > 0) hn_fetch_some(&aside->fetch);
            if (aside->units > 0) finish_some(aside->before, aside->units);
        }
        HN_TILE_STORE(0, c, PITCH);
        if (rows == 2) HN_TILE_STORE(1, c + ROWS * WIDE, PITCH);
    }
    finish_some(aside->before, UNITS);
}

typedef void multiplier(const product *t, beside *aside);

static __attribute__((noinline)) void multiply_unsigned(const product *t, beside *aside) {
    multiply(2, false, false, t, aside);
}
static __attribute__((noinline)) void multiply_unsigned_near(const product *t, beside *aside) {
    multiply(2, false, true, t, aside);
}
static __attribute__((noinline)) void multiply_signed(const product *t, beside *aside) {
    multiply(2, true, false, t, aside);
}
static __attribute__((noinline)) void multiply_signed_near(const product *t, beside *aside) {
    multiply(2, true, true, t, aside);
}
static __attribute__((noinline)) void multiply_one_unsigned(const product *t, beside *aside) {
    multiply(1, false, false, t, aside);
}
static __attribute__((noinline)) void multiply_one_signed(const product *t, beside *aside) {
    multiply(1, true, false, t, aside);
}

/* The same where rows of A cross lines of the cache, and take long to load, and W is near: each
 * tile of A is loaded once for all halves. Tiles 0, 1, 5, 6: C, 2: A, 3: W. */
HN_INLINE void multiply_across(const bool is_signed, const product *t, beside *aside) {
    enum { PITCH = WIDE * sizeof(int32_t) };
    const int halves = t->halves;
    const int64_t next[] = {panel_halves(halves, 0) * TILE, panel_halves(halves, 1) * TILE};
    for (int tile = 0; tile < 2; tile++) {
        const uint8_t *a = t->a + tile * ROWS * t->stride, *w0 = t->w[0], *w1 = t->w[1];
        int32_t *c = t->c + tile * ROWS * WIDE;
        const int32_t *start = t->start != NULL ? t->start : c;
        const int64_t pitch = t->start != NULL ? 0 : PITCH;
        HN_TILE_LOAD(0, start, pitch);
        if (halves > 1) HN_TILE_LOAD(1, start + 16, pitch);
        if (halves > 2) HN_TILE_LOAD(5, start + 32, pitch);
        if (halves > 3) HN_TILE_LOAD(6, start + 48, pitch);
        for (int64_t s = 0; s < t->steps; s++, w0 += next[0], w1 += next[1]) {
            HN_TILE_LOAD(2, a + t->offset[s], t->stride);
            HN_TILE_LOAD(3, w0, 64);
            MULTIPLY(0, 2, 3);
            if (halves > 1) {
                HN_TILE_LOAD(3, w0 + TILE, 64);
                MULTIPLY(1, 2, 3);
            }
            if (halves > 2) {
                HN_TILE_LOAD(3, w1, 64);
                MULTIPLY(5, 2, 3);
            }
            if (halves > 3) {
                HN_TILE_LOAD(3, w1 + TILE, 64);
                MULTIPLY(6, 2, 3);
            }
            if (aside->fetch.fours > 0) hn_fetch_some(&aside->fetch);
            if (aside->units > 0) finish_some(aside->before, aside->units);
        }
        HN_TILE_STORE(0, c, PITCH);
        if (halves > 1) HN_TILE_STORE(1, c + 16, PITCH);
        if (halves > 2) HN_TILE_STORE(5, c + 32, PITCH);
        if (halves > 3) HN_TILE_STORE(6, c + 48, PITCH);
    }
    finish_some(aside->before, UNITS);
}
static __attribute__((noinline)) void multiply_across_unsigned(const product *t, beside *aside) {
    multiply_across(false, t, aside);
}
static __attribute__((noinline)) void multiply_across_signed(const product *t, beside *aside) {
    multiply_across(true, t, aside);
}

/* For one tile of rows, or two. */
static multiplier *choose_multiplier(bool one, bool is_signed, bool near, bool across) {
    if (across && !one) return is_signed ? multiply_across_signed : multiply_across_unsigned;
    if (one) return is_signed ? multiply_one_signed : multiply_one_unsigned;
    if (near) return is_signed ? multiply_signed_near : multiply_unsigned_near;
    return is_signed ? multiply_signed : multiply_unsigned;
}

/* The same where there is one step: the rows of A stay in their tiles for all panels of a span. The
 * first loads them. Tiles 0: C, 2 and 4: A, 3: W. */
HN_INLINE void multiply_shallow(const bool is_signed, const product *t, bool load, beside *aside) {
    enum { PITCH = WIDE * sizeof(int32_t) };
    if (load) {
        HN_TILE_LOAD(2, t->a, t->stride);
        HN_TILE_LOAD(4, t->a + ROWS * t->stride, t->stride);
    }
    for (int half = 0; half < t->halves; half++) {
        int32_t *c = t->c + half * 16;
        HN_TILE_LOAD(3, t->w[half / 2] + half % 2 * TILE, 64);
        HN_TILE_LOAD(0, t->start + half * 16, 0);
        MULTIPLY(0, 2, 3);
        HN_TILE_STORE(0, c, PITCH);
        HN_TILE_LOAD(0, t->start + half * 16, 0);
        MULTIPLY(0, 4, 3);
        HN_TILE_STORE(0, c + ROWS * WIDE, PITCH);
        if (aside->units > 0) finish_some(aside->before, aside->units);
    }
    finish_some(aside->before, UNITS);
}
static __attribute__((noinline)) void multiply_shallow_unsigned(const product *t, bool load,
                                                                beside *aside) {
    multiply_shallow(false, t, load, aside);
}
static __attribute__((noinline)) void multiply_shallow_signed(const product *t, bool load,
                                                              beside *aside) {
    multiply_shallow(true, t, load, aside);
}

/* Left tiles are 2 and 4, the right one 3. */
static void begin_tiles(const geometry *g) {
    hn_tiles t = hn_tiles_whole();
    t.bytes[2] = t.bytes[4] = (uint16_t)g->depth;
    t.rows[3] = (uint8_t)(g->depth / 4);
    hn_tiles_begin_as(&t);
}

/* ---- blocks ---- */

typedef struct task {
    const hn_q8_args *a;
    const geometry *g;
    lane_parts l;
    const uint8_t *w; /* packed tiles */
    const int32_t *w_sums;
    int64_t line, q0, end, pairs; /* the block: positions from q0 to end - 1 */
    int64_t copied;               /* direct: positions from this one on are in scratch */
    int64_t back;                 /* direct: so many positions earlier begins the last pair */
    panel (*panels)[WIDES];       /* those of the sums that wait, those of the sums being made */
    int now;                      /* which of the two are the latter */
    int64_t slot;                 /* for the next sums */
    waiting before;
    constants constants;
} task;

/* Of n positions from the i-th on, the first at y and r, at one distance. */
static void put_places(const task *t, int64_t i, int64_t n, int64_t y, int64_t r) {
    const hn_conv_q8 *p = t->a->p;
    for (int64_t k = 0; k < n; k++) t->l.at.y[i + k] = y + k * p->y_pixel;
    for (int64_t k = 0; k < n; k++) t->l.at.r[i + k] = r + k * p->r_pixel;
}

/* Nothing becomes of n positions from the i-th on. */
static void put_no_places(const task *t, int64_t i, int64_t n) {
    for (int64_t k = 0; k < n; k++) t->l.at.y[i + k] = -1, t->l.at.r[i + k] = 0;
}

/* Where the positions of a block are in y and r. */
static void find_places(const task *t) {
    const geometry *g = t->g;
    const hn_conv_q8 *p = t->a->p;
    const int64_t all = t->pairs * PAIR;
    if (g->even) {
        int64_t n = t->end - t->q0;
        put_places(t, 0, n, t->q0 * p->y_pixel, t->q0 * p->r_pixel);
        put_no_places(t, n, all - n);
        return;
    }
    int64_t q = t->q0, ox = q % g->pw, oy = q / g->pw % g->wrap;
    int64_t image = t->line + q / g->pw / g->wrap;
    for (int64_t i = 0, run; i < all; i += run, q += run, ox = 0) {
        bool inside = oy < p->oh && q < g->valid;
        run = hn_q8_min(g->pw - ox, all - i);
        int64_t n = inside ? hn_q8_min(hn_q8_min(run, p->ow - ox), t->end - q) : 0;
        n = hn_q8_max(0, n);
        put_places(t, i, n, image * p->y_image + oy * p->y_row + ox * p->y_pixel,
                   image * p->r_image + oy * p->r_row + ox * p->r_pixel);
        put_no_places(t, i + n, run - n);
        if (p->w_zero_points)
            for (int64_t k = 0; k < n; k++)
                t->l.at.window_sum[i + k] = hn_q8_window_sum(t->a, 0, image, oy, ox + k);
        if (++oy == g->wrap) oy = 0, image++;
    }
}

/* The last pair of the block begins t->back positions earlier, of which nothing becomes. */
static void move_last(const task *t) {
    int64_t i = (t->pairs - 1) * PAIR, to = i + t->back, n = t->end - t->q0 - i;
    memmove(t->l.at.y + to, t->l.at.y + i, (size_t)n * sizeof *t->l.at.y);
    memmove(t->l.at.r + to, t->l.at.r + i, (size_t)n * sizeof *t->l.at.r);
    memmove(t->l.at.window_sum + to, t->l.at.window_sum + i,
            (size_t)n * sizeof *t->l.at.window_sum);
    put_no_places(t, i, t->back);
}

/* Positions of a direct block that cannot be read in place are copied: those whose tiles would end
 * behind x, unless they can begin earlier. */
static void place_block(task *t) {
    const geometry *g = t->g;
    int64_t last = t->q0 + (t->pairs - 1) * PAIR, rows = t->end - last <= ROWS ? ROWS : PAIR;
    int64_t back = hn_q8_max(0, last + rows - g->valid);
    t->copied = t->q0 + hn_q8_max(0, g->in_place - t->q0) / PAIR * PAIR;
    t->back = 0;
    if (g->source == DIRECT && g->in_place == g->valid && last >= back)
        t->back = back, t->copied = t->end;
    find_places(t);
    if (t->back > 0) move_last(t);
}

/* Copies what cannot be read in place. */
static void copy_block(const task *t) {
    const geometry *g = t->g;
    int64_t count = t->pairs * PAIR;
    if (g->source == LINES || g->source == RUNS) {
        uint8_t *pixels = t->l.a + (g->joined > 0 ? (g->cap - g->halo) * STEP : 0);
        copy_lines(t->a, g, pixels, t->line, t->q0, count + g->halo);
        if (g->joined > 0) join_rows(t->a->p, g, pixels, t->l.offset, count, t->l.a);
    } else if (g->source == WINDOWS)
        copy_windows(t->a, t->l.a, g->stride, t->q0, t->end - t->q0);
    else if (t->copied < t->end)
        copy_windows(t->a, t->l.a, g->steps * STEP, t->copied, t->end - t->copied);
}

/* Panels [first, last), a span at most, times pair i of the block. */
static void multiply_pair(task *t, int64_t i, int64_t first, int64_t last, beside *aside) {
    const geometry *g = t->g;
    const hn_conv_q8 *p = t->a->p;
    const panel *now = t->panels[t->now];
    bool direct = g->source == DIRECT, is_signed = p->x == HN_Q8_S8;
    bool long_act = p->y == HN_Q8_F32 && p->act.kind > HN_ACT_LEAKY;
    int64_t q = t->q0 + i * PAIR, slots = slots_of(g);
    bool in_place = direct && q < t->copied, one = t->end - q <= ROWS;
    bool near = (last - first) * g->steps * 2 * TILE <= NEAR_BYTES;
    bool across = near && p->n > 16 && g->stride % STEP != 0;
    multiplier *multiply_some = choose_multiplier(one, is_signed, near, across);
    product m = {.stride = direct && !in_place ? g->steps * STEP : g->stride};
    if (in_place)
        m.a = t->a->x + (i + 1 == t->pairs ? q - t->back : q) * g->stride;
    else
        m.a = t->l.a + (q - (direct ? t->copied : t->q0)) * m.stride;
    int64_t slot = t->slot;
    for (int64_t step = 0; step == 0 || step < g->steps; step += g->chunk) {
        slot = t->slot;
        m.steps = hn_q8_min(g->chunk, g->steps - step);
        m.offset = t->l.offset + step;
        bool whole = step + m.steps == g->steps;
        for (int64_t n = first; n < last; n += 2) {
            const panel *of = &now[(n - first) / 2];
            const uint8_t *w = t->w + n * g->steps * 2 * TILE;
            m.halves = (int)hn_q8_ceil(of->n, 16);
            m.w[0] = w + step * panel_halves(m.halves, 0) * TILE;
            m.w[1] = m.w[0];
            if (m.halves > 2) m.w[1] = w + (g->steps * 2 + step * panel_halves(m.halves, 1)) * TILE;
            m.start = step == 0 ? of->start : NULL;
            m.c = t->l.c + slot * SUMS;
            if (++slot == slots) slot = 0;
            if (long_act)
                aside->units =
                    (int)hn_q8_max(2, hn_q8_ceil(UNITS, hn_q8_max(1, m.halves * m.steps)));
            if (one || g->steps != 1)
                multiply_some(&m, aside);
            else if (is_signed)
                multiply_shallow_signed(&m, n == first, aside);
            else
                multiply_shallow_unsigned(&m, n == first, aside);
            if (whole)
                t->before = (waiting){.a = t->a,
                                      .constants = &t->constants,
                                      .c = m.c,
                                      .panel = of,
                                      .at = places_from(&t->l.at, i * PAIR)};
        }
    }
    t->slot = slot;
}

/* Panels [first, last), a span at most, times the block. */
static void multiply_panels(task *t, int64_t first, int64_t last) {
    const geometry *g = t->g;
    t->now = !t->now;
    for (int64_t n = first; n < last; n += 2) {
        int64_t end = hn_q8_min(t->a->p->n, hn_q8_min(n + 2, last) * PANEL);
        begin_panel(&t->panels[t->now][(n - first) / 2], t->a, t->w_sums, n * PANEL,
                    end - n * PANEL);
    }
    int64_t bytes = g->steps * 2 * TILE; /* of a panel */
    beside aside = {.before = &t->before};
    if (t->pairs <= MANY_PAIRS)
        aside.fetch =
            hn_fetch_begin((uintptr_t)t->w + (uintptr_t)(last * bytes), (last - first) * bytes,
                           ROUND_BYTES, hn_q8_ceil(TILE / 256, t->pairs));
    for (int64_t i = 0; i < t->pairs; i++) multiply_pair(t, i, first, last, &aside);
}

static size_t header_bytes(const hn_conv_q8 *p) {
    return (size_t)(hn_q8_ceil(p->n, PANEL) * PANEL) * sizeof(int32_t);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p, 1);
    int64_t blocks = choose_blocks(p, &g, lanes), groups = 1;
    if (blocks > 0)
        g = measure(p, blocks);
    else
        groups = choose_groups(&g, lanes);
    *w = hn_q8_work(p, g.lines * g.blocks * groups, divide(&g, NULL, NULL));
    w->parts = g.blocks;
}

static int64_t block_start(const geometry *g, int64_t block) {
    return hn_q8_ceil(g->valid, g->grain) * block / g->blocks * g->grain;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    if (hn_q8_sum_pixels(call, phase, begin, end)) return;
    const hn_conv_q8 *p = call->problem;
    hn_q8_args a = hn_q8_args_of(call);
    geometry g = measure(p, call->work->parts);
    int64_t groups = hn_work_tasks(call->work, phase) / (g.lines * g.blocks);
    const uint8_t *packed = call->ptr[HN_CONV_Q8_W];
    panel panels[2][WIDES];
    task t = {.a = &a,
              .g = &g,
              .w = packed + header_bytes(p),
              .w_sums = (const void *)packed,
              .panels = panels};
    t.constants = make_constants(p);
    divide(&g, lane, &t.l);
    fill_offsets(p, &g, t.l.offset);
    t.before = (waiting){.next = UNITS};
    begin_tiles(&g);
    int64_t in_scratch = -1;
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i % groups, block = i / groups;
        if (block != in_scratch) {
            /* What waits still needs the places of its block. */
            finish_some(&t.before, UNITS);
            t.line = block / g.blocks;
            t.q0 = block_start(&g, block % g.blocks);
            t.end = hn_q8_min(g.valid, block_start(&g, block % g.blocks + 1));
            t.pairs = hn_q8_ceil(t.end - t.q0, PAIR);
            place_block(&t);
            copy_block(&t);
            in_scratch = block;
        }
        int64_t last = g.panels * (group + 1) / groups;
        for (int64_t n = g.panels * group / groups; n < last; n += g.span)
            multiply_panels(&t, n, hn_q8_min(last, n + g.span));
    }
    finish_some(&t.before, UNITS);
    hn_tiles_end();
}

/* ---- packing ---- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_q8 *p = problem;
    return header_bytes(p) + (size_t)(measure(p, 1).steps * hn_q8_ceil(p->n, 16)) * TILE;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p, 1);
    const int64_t of[] = {p->c,    p->n,     p->kh,  p->kw,     p->w_o,
                          p->w_i,  p->w_y,   p->w_x, p->w_type, g.source == LINES,
                          g.depth, g.joined, g.woven};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* The place of product k of step s in the plain weights of an output; -1: none. */
static int64_t weight_at(const hn_conv_q8 *p, const geometry *g, int64_t s, int64_t k) {
    int64_t taps = p->kh * p->kw, at = s * g->depth + k, tap, i;
    if (g->joined > 0) {
        if (k % g->joined >= p->kw * p->c) return -1;
        at = k / g->joined * p->kw * p->c + k % g->joined;
    } else if (g->source == RUNS) {
        at = s % run_steps(p) * g->depth + k;
        if (at >= run_bytes(p)) return -1;
        int64_t pixel = at / p->c, ky = s / run_steps(p) * g->woven + pixel % g->woven;
        at = (ky * p->kw + pixel / g->woven) * p->c + at % p->c;
    }
    if (g->source == LINES)
        tap = s % taps, i = s / taps * STEP + k;
    else
        tap = at / p->c, i = at % p->c;
    if (tap >= taps || i >= p->c) return -1;
    return tap / p->kw * p->w_y + tap % p->kw * p->w_x + i * p->w_i;
}

static int64_t pack_tasks(const void *problem) {
    const hn_conv_q8 *p = problem;
    return hn_q8_ceil(p->n, PANEL);
}

/* The products of a step: where each of them lies in the plain weights of an output; -1: nowhere.
 */
typedef struct products {
    int64_t at[STEP];
    int64_t n;       /* of them that lie somewhere, */
    bool neighbours; /* all the first ones, side by side */
} products;

static products products_of(const hn_conv_q8 *p, const geometry *g, int64_t s) {
    products k = {.neighbours = true};
    for (int64_t i = 0; i < STEP; i++) {
        k.at[i] = i < g->depth ? weight_at(p, g, s, i) : -1;
        if (k.at[i] < 0) continue;
        k.neighbours &= i == k.n && k.at[i] == k.at[0] + i;
        k.n++;
    }
    return k;
}

/* Four products of n adjacent outputs as a row of a tile. */
static __m512i weave(const uint8_t *w, const int64_t *at, int64_t n, __m128i nothing) {
    __m128i k[4];
    __mmask16 m = (__mmask16)((1u << n) - 1);
    for (int i = 0; i < 4; i++)
        k[i] = at[i] < 0 ? nothing : _mm_mask_loadu_epi8(nothing, m, w + at[i]);
    __m128i ab0 = _mm_unpacklo_epi8(k[0], k[1]), ab1 = _mm_unpackhi_epi8(k[0], k[1]);
    __m128i cd0 = _mm_unpacklo_epi8(k[2], k[3]), cd1 = _mm_unpackhi_epi8(k[2], k[3]);
    __m512i row = _mm512_castsi128_si512(_mm_unpacklo_epi16(ab0, cd0));
    row = _mm512_inserti32x4(row, _mm_unpackhi_epi16(ab0, cd0), 1);
    row = _mm512_inserti32x4(row, _mm_unpacklo_epi16(ab1, cd1), 2);
    return _mm512_inserti32x4(row, _mm_unpackhi_epi16(ab1, cd1), 3);
}

/* All products of an output. */
static __m512i line_of(const uint8_t *w, const products *k, __m512i nothing) {
    if (k->neighbours && k->n > 0)
        return _mm512_mask_loadu_epi8(nothing, ~(__mmask64)0 >> (64 - k->n), w + k->at[0]);
    uint8_t line[STEP];
    _mm512_storeu_si512(line, nothing);
    for (int i = 0; i < STEP; i++)
        if (k->at[i] >= 0) line[i] = w[k->at[i]];
    return _mm512_loadu_si512(line);
}

/* A tile of n outputs, the first of which is at w; adds to their sums. */
static void pack_tile(const hn_conv_q8 *p, const products *k, const uint8_t *w, int64_t n,
                      int32_t *sums, int8_t *to) {
    const __m512i flip = _mm512_set1_epi8(p->w_type == HN_Q8_U8 ? -128 : 0);
    __m512i sum = _mm512_loadu_si512(sums);
    hn_vf row[16];
    if (p->w_o == 1) {
        for (int i = 0; i < 16; i++)
            row[i] = _mm512_castsi512_ps(weave(w, k->at + 4 * i, n, _mm512_castsi512_si128(flip)));
    } else {
        for (int i = 0; i < 16; i++)
            row[i] = _mm512_castsi512_ps(i < n ? line_of(w + i * p->w_o, k, flip) : flip);
        hn_v_transpose(row);
    }
    for (int i = 0; i < 16; i++) {
        __m512i v = _mm512_xor_si512(_mm512_castps_si512(row[i]), flip);
        _mm512_storeu_si512(to + 64 * i, v);
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), v);
    }
    _mm512_storeu_si512(sums, sum);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_q8 *p = problem;
    const geometry g = measure(p, 1);
    int32_t *sums = dst;
    int8_t *tiles = (int8_t *)dst + header_bytes(p);
    memset(sums + begin * PANEL, 0, (size_t)((end - begin) * PANEL) * sizeof *sums);
    for (int64_t s = 0; s < g.steps; s++) {
        const products k = products_of(p, &g, s);
        for (int64_t n = begin * PANEL; n < hn_q8_min(p->n, end * PANEL); n += 16) {
            int64_t of = n / PANEL, half = n % PANEL / 16;
            int64_t halves = p->n - of * PANEL > 16 ? 2 : 1;
            pack_tile(p, &k, (const uint8_t *)plain->data + n * p->w_o, hn_q8_min(16, p->n - n),
                      sums + n, tiles + (of * g.steps * 2 + s * halves + half) * TILE);
        }
    }
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->groups != 1) return *why = "groups", false;
    if (p->y_scales) return *why = "a scale for each output", false;
    if (p->batch * p->oh * p->ow < LEAST_PIXELS) return *why = "too few pixels", false;
    return true;
}

const hn_kernel hn_conv_q8_amx = {
    .name = "amx",
    .isa = HN_ISA_AMX,
    .order = "exact",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = pack_tasks,
    .pack = pack,
};
