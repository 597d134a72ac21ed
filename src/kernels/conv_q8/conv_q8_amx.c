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
 *           do in x, [phase][position * sw][channels]: a row of a window is a run of bytes, of
 * which a step takes 64. What it reads behind the run meets weights of zero. windows anything else:
 * the window of every position is copied into scratch, one after the other.
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
 * Sums of a pair and a panel become outputs after the products of the next, when they have reached
 * L1. Activations that are long chains of operations do so between the steps of these products:
 * the core has time for both. Rounding to bytes was measured to take longer so.
 */
#include <string.h>

#include "simd/avx512.h"

#include "kernels/conv_q8/conv_q8_parts.h"
#include "simd/amx.h"

enum {
    ROWS = 16,               /* positions in a tile */
    PAIR = 2 * ROWS,         /* positions at a time */
    STEP = 64,               /* products in a step: bytes of a row of any left tile */
    TILE = 1024,             /* bytes */
    PANEL = 32,              /* outputs */
    SUMS = PAIR * PANEL,     /* of a pair and a panel */
    UNITS = PAIR / 2,        /* pairs of rows of sums, finished together */
    SMALL_IMAGE = 4 * ROWS,  /* positions */
    BLOCK_BYTES = 600 << 10, /* of copied pixels: they stay in a 2 MB L2 */
    CHUNK = 18,              /* steps of a pair that stay in L1 */
    SPAN = 8,                /* panels at a time: at most, */
    LEAST_SPAN = 2,          /* at least, */
    SPAN_STEPS = 48,         /* between the two so many steps of a panel */
    MANY_PAIRS = 16,         /* so that weights need not stay for all of them */
    LEAST_CHANNELS = 4,      /* to be read in place: a step reads at most 16 pixels more */
    LEAST_PIXELS = 9,        /* for fewer, rows without tiles are as fast */
};

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
    int64_t plane;        /* lines, runs: bytes between phases */
    int64_t steps, panels;
    int64_t chunk;    /* steps at a time: all, if they stay in L1 */
    int64_t span;     /* panels at a time */
    int64_t in_place; /* direct: the first so many positions */
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

/* Steps of a row of a window. */
static int64_t run_steps(const hn_conv_q8 *p) { return hn_q8_ceil(p->kw * p->c, STEP); }

static source source_of(const hn_conv_q8 *p) {
    int64_t taps = p->kh * p->kw, halves = hn_q8_ceil(p->n, 16);
    if ((p->c % STEP == 0 || (p->x_pixel == p->c && p->c >= LEAST_CHANNELS)) && is_dense(p))
        return DIRECT;
    if (taps == 1) return WINDOWS;
    /* In cycles of a position: 2 for a step and 16 outputs, 3 if its rows cross lines of the cache;
     * 4 to copy a row of a window. */
    int64_t by_lines = 2 * halves * hn_q8_ceil(p->c, STEP) * taps;
    int64_t by_runs = 3 * halves * run_steps(p) * p->kh;
    int64_t by_windows = 2 * halves * hn_q8_ceil(p->c * taps, STEP) + 4 * run_steps(p) * p->kh;
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
    g.stride = g.source == DIRECT ? p->x_pixel : g.steps * STEP;
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
        g.phases = phases_of(p->kh, p->dh, p->sh);
        g.pixel = runs ? p->c : STEP;
        g.slabs = runs ? 1 : hn_q8_ceil(p->c, STEP);
        g.steps = runs ? p->kh * run_steps(p) : g.slabs * taps;
        g.stride = p->sw * g.pixel;
        position = g.slabs * g.phases * g.stride;
    }
    g.valid = (rows - 1) * g.pw + p->ow;
    g.pairs = hn_q8_ceil(g.valid, PAIR);
    g.chunk = hn_q8_max(1, hn_q8_ceil(g.steps, hn_q8_max(1, hn_q8_ceil(g.steps, CHUNK))));
    g.span = hn_q8_min(SPAN, hn_q8_max(LEAST_SPAN, SPAN_STEPS / hn_q8_max(1, g.steps)));
    int64_t most = position == 0 ? g.pairs : BLOCK_BYTES / (position * PAIR);
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
    g.plane = g.cap * g.stride;
    /* Direct pairs that are not full or end behind x are copied. Windows and runs end in stores
     * that may be too long, runs in loads too. */
    int64_t over = g.steps * STEP - p->c;
    g.in_place = hn_q8_max(0, g.valid - (over > 0 ? hn_q8_ceil(over, p->x_pixel) : 0));
    if (g.source == DIRECT)
        g.scratch = hn_q8_ceil(g.valid - g.in_place + PAIR - 1, PAIR) * PAIR * g.steps * STEP;
    else
        g.scratch = g.cap * position + STEP;
    return g;
}

typedef struct place {
    int64_t y, r; /* elements; y < 0: no output, and r is 0 */
    int32_t window_sum;
} place;

typedef struct lane_parts {
    int32_t *c;      /* slots of [32][32] sums */
    place *places;   /* of the positions of the block */
    int64_t *offset; /* of the steps, from the first tap of a position */
    uint8_t *a;      /* copied pixels */
} lane_parts;

/* Pairs and panels whose sums scratch holds: what waits to be finished, and what is in the making,
 * a span where that is done in chunks. */
static int64_t slots_of(const geometry *g) { return g->chunk < g->steps ? g->span + 1 : 2; }

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    size_t c = (size_t)slots_of(g) * SUMS * sizeof(int32_t);
    size_t places = hn_q8_round64((g->cap - g->halo) * (int64_t)sizeof(place));
    size_t offset = hn_q8_round64(g->steps * (int64_t)sizeof(int64_t));
    if (base != NULL) {
        l->c = (int32_t *)base;
        l->places = (place *)(base + c);
        l->offset = (int64_t *)(base + c + places);
        l->a = (uint8_t *)(base + c + places + offset);
    }
    return c + places + offset + hn_q8_round64(g->scratch);
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

/* ---- copying pixels ---- */

static inline __mmask64 first64(int64_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

/* n bytes; may write up to 64 bytes behind the last. */
static inline uint8_t *copy_some(uint8_t *to, const uint8_t *from, int64_t n) {
    if (n <= 32) {
        __mmask32 m = (__mmask32)first64(n);
        _mm256_storeu_si256((__m256i *)to, _mm256_maskz_loadu_epi8(m, from));
        return to + n;
    }
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
    if (i < n) _mm512_storeu_si512(to + i, _mm512_maskz_loadu_epi8(first64(n - i), from + i));
    return to + n;
}

/* n times the byte v; may write up to 64 bytes behind the last. */
static inline void fill_some(uint8_t *to, __m512i v, int64_t n) {
    for (int64_t i = 0; i < n; i += 64) _mm512_storeu_si512(to + i, v);
}

/* Columns [col, col + n) of a padded row of x, of which x points to the first inside the image;
 * NULL: none is. Pixels become slabs of 64 channels, `next` apart. */
static void copy_line(const hn_q8_args *a, const uint8_t *x, int64_t col, int64_t n, uint8_t *to,
                      int64_t slabs, int64_t next) {
    const hn_conv_q8 *p = a->p;
    const __m512i padding = _mm512_set1_epi8((char)a->xz);
    const __mmask64 last = first64(p->c - (slabs - 1) * STEP);
    for (int64_t ix = col - p->pl; n > 0; n--, ix++, to += STEP) {
        uint8_t *d = to;
        if (x != NULL && ix >= 0 && ix < p->w) {
            const uint8_t *from = x + ix * p->x_pixel;
            for (int64_t b = 0; b + 1 < slabs; b++, d += next, from += STEP)
                _mm512_store_si512(d, _mm512_loadu_si512(from));
            _mm512_store_si512(d, _mm512_maskz_loadu_epi8(last, from));
        } else {
            for (int64_t b = 0; b < slabs; b++, d += next) _mm512_store_si512(d, padding);
        }
    }
}

/* The same as they are in x. */
static void copy_run(const hn_q8_args *a, const uint8_t *x, int64_t col, int64_t n, uint8_t *to) {
    const hn_conv_q8 *p = a->p;
    const __m512i padding = _mm512_set1_epi8((char)a->xz);
    int64_t ix = col - p->pl, first = hn_q8_min(n, hn_q8_max(0, -ix));
    int64_t last = x == NULL ? 0 : hn_q8_min(n, p->w - ix);
    if (last <= first) {
        fill_some(to, padding, n * p->c);
        return;
    }
    fill_some(to, padding, first * p->c);
    x += (ix + first) * p->x_pixel, to += first * p->c;
    if (p->x_pixel == p->c)
        to = copy_some(to, x, (last - first) * p->c);
    else
        for (int64_t i = first; i < last; i++, x += p->x_pixel) to = copy_some(to, x, p->c);
    fill_some(to, padding, (n - last) * p->c);
}

/* Positions [q0, q0 + count) of a line into `to`. */
static void copy_lines(const hn_q8_args *a, const geometry *g, uint8_t *to, int64_t line,
                       int64_t q0, int64_t count) {
    const hn_conv_q8 *p = a->p;
    int64_t width = g->pw * p->sw;
    for (int64_t phase = 0; phase < g->phases; phase++, to += g->plane) {
        int64_t col = q0 % g->pw * p->sw, row = q0 / g->pw % g->wrap;
        int64_t image = line + q0 / g->pw / g->wrap;
        uint8_t *dst = to;
        for (int64_t left = count * p->sw; left > 0;) {
            int64_t iy = row * p->sh + phase - p->pt, n = hn_q8_min(left, width - col);
            bool inside = iy >= 0 && iy < p->h && image < p->batch;
            const uint8_t *x = inside ? a->x + image * p->x_image + iy * p->x_row : NULL;
            if (g->source == RUNS)
                copy_run(a, x, col, n, dst);
            else
                copy_line(a, x, col, n, dst, g->slabs, g->phases * g->plane);
            dst += n * g->pixel, left -= n, col = 0;
            if (++row == g->wrap) row = 0, image++;
        }
    }
}

/* The window of one position. */
static void copy_window(const hn_q8_args *a, uint8_t *to, int64_t image, int64_t oy, int64_t ox) {
    const hn_conv_q8 *p = a->p;
    int64_t x0 = ox * p->sw - p->pl, y0 = oy * p->sh - p->pt;
    bool whole = p->dw == 1 && p->x_pixel == p->c && x0 >= 0 && x0 + p->kw <= p->w;
    const uint8_t *from = a->x + image * p->x_image + y0 * p->x_row + x0 * p->x_pixel;
    for (int64_t ky = 0; ky < p->kh; ky++, from += p->dh * p->x_row) {
        int64_t iy = y0 + ky * p->dh;
        bool inside = iy >= 0 && iy < p->h;
        if (inside && whole) {
            to = copy_some(to, from, p->kw * p->c);
            continue;
        }
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t ix = x0 + kx * p->dw;
            if (inside && ix >= 0 && ix < p->w) {
                to = copy_some(to, from + kx * p->dw * p->x_pixel, p->c);
            } else {
                memset(to, a->xz, (size_t)p->c);
                to += p->c;
            }
        }
    }
}

enum { SHORT = 32 }; /* bytes */

/* Whether rows of windows are so short that each is one store, whose rest the next row of the
 * window, or nothing, takes. */
static bool has_short_rows(const hn_conv_q8 *p, int64_t pitch) {
    int64_t row = p->kw * p->c;
    return p->dw == 1 && p->x_pixel == p->c && row <= SHORT && (p->kh - 1) * row + SHORT <= pitch;
}

/* The windows of n positions from (oy, ox) on, none of which leaves the image sideways, row by row
 * of all of them. */
static void copy_short_rows(const hn_q8_args *a, uint8_t *to, int64_t pitch, int64_t image,
                            int64_t oy, int64_t ox, int64_t n) {
    const hn_conv_q8 *p = a->p;
    const int64_t row = p->kw * p->c, hop = p->sw * p->c;
    const __mmask32 mask = (__mmask32)first64(row);
    for (int64_t ky = 0; ky < p->kh; ky++, to += row) {
        int64_t iy = oy * p->sh - p->pt + ky * p->dh;
        bool inside = iy >= 0 && iy < p->h;
        const uint8_t *from =
            a->x + image * p->x_image + iy * p->x_row + (ox * p->sw - p->pl) * p->c;
        __m256i v = _mm256_set1_epi8((char)a->xz);
        for (int64_t i = 0; i < n; i++) {
            if (inside) v = _mm256_maskz_loadu_epi8(mask, from + i * hop);
            _mm256_storeu_si256((__m256i *)(to + i * pitch), v);
        }
    }
}

static void copy_windows(const hn_q8_args *a, uint8_t *to, int64_t pitch, int64_t q0,
                         int64_t count) {
    const hn_conv_q8 *p = a->p;
    int64_t ox = q0 % p->ow, oy = q0 / p->ow % p->oh, image = q0 / p->ow / p->oh;
    /* Positions [first, last) of a row see nothing beside the image. */
    int64_t first = hn_q8_ceil(hn_q8_max(0, p->pl), p->sw);
    int64_t last = p->w + p->pl >= p->kw ? (p->w + p->pl - p->kw) / p->sw + 1 : 0;
    if (!has_short_rows(p, pitch)) last = 0;
    while (count > 0) {
        int64_t end = hn_q8_min(p->ow, ox + count), n = hn_q8_min(end, last) - ox;
        bool many = ox >= first && n > 0;
        if (many)
            copy_short_rows(a, to, pitch, image, oy, ox, n);
        else
            copy_window(a, to, image, oy, ox);
        if (!many) n = 1;
        to += n * pitch, ox += n, count -= n;
        if (ox == p->ow) {
            ox = 0;
            if (++oy == p->oh) oy = 0, image++;
        }
    }
}

static void fill_offsets(const hn_conv_q8 *p, const geometry *g, int64_t *offset) {
    if (g->source == DIRECT || g->source == WINDOWS) {
        for (int64_t s = 0; s < g->steps; s++) offset[s] = s * STEP;
        return;
    }
    int64_t row_steps = g->source == RUNS ? run_steps(p) : p->kw;
    for (int64_t slab = 0; slab < g->slabs; slab++)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t s = 0; s < row_steps; s++) {
                int64_t dy = ky * p->dh;
                *offset++ = (slab * g->phases + dy % p->sh) * g->plane +
                            dy / p->sh * g->pw * g->stride + s * p->dw * STEP;
            }
}

/* ---- sums become outputs ---- */

/* What becomes of sums beside rounding: nothing, r is added, r is added to what was rounded. */
typedef enum residual { NONE, ADDED, TWICE } residual;

typedef struct waiting waiting;
/* Units [f->next, end). */
typedef void finisher(waiting *f, int end);

/* What the outputs of a panel need. */
typedef struct panel {
    _Alignas(64) int32_t start[PANEL];
    _Alignas(64) float scale[PANEL];
    _Alignas(64) float fbias[PANEL];
    int64_t n0, n;
    finisher *finish;
} panel;

/* What outputs of bytes need, in every lane. */
typedef struct constants {
    __m512 mr, r_less; /* r as the low byte of a float of 2^23, less that and rz */
    __m512i yz, lo, hi;
    __m512 lo1, hi1, m1;
    bool r_signed, y_moved; /* y has a zero point */
    bool limited;           /* by more than the type */
} constants;

/* A block of sums that waits. */
struct waiting {
    const hn_q8_args *a;
    const constants *constants;
    const int32_t *c;
    const panel *panel;
    const place *at;
    int next; /* the unit to finish; UNITS: none */
};

static constants make_constants(const hn_conv_q8 *p) {
    const int32_t flip = p->r_type == HN_Q8_S8 ? 0x80 : 0;
    return (constants){.mr = _mm512_set1_ps(p->mr),
                       .r_less = _mm512_set1_ps(0x1p23F + (float)(p->rz + flip)),
                       .yz = _mm512_set1_epi16((short)p->yz),
                       .lo = _mm512_set1_epi8((char)p->lo),
                       .hi = _mm512_set1_epi8((char)p->hi),
                       .lo1 = _mm512_set1_ps((float)p->lo1),
                       .hi1 = _mm512_set1_ps((float)p->hi1),
                       .m1 = _mm512_set1_ps(p->m1),
                       .r_signed = flip != 0,
                       .y_moved = p->yz != 0,
                       .limited = p->hi - p->lo < 255};
}

/* What is the same for all rows of bytes of a panel. */
typedef struct bytes_of {
    constants all;
    __m512 scale[2];
    const uint8_t *r;
    __mmask16 mask[2];
} bytes_of;

/* (float)(r - rz). The load gives all quarters all 16 bytes, so that one shuffle puts each where it
 * is the last of a float; s8 are moved to 0 .. 255. */
HN_INLINE __m512 widen(const bytes_of *of, const uint8_t *from, __mmask16 mask, bool whole) {
    const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i all = _mm512_broadcast_i32x4(whole ? _mm_loadu_si128((const __m128i *)from)
                                               : _mm_maskz_loadu_epi8(mask, from));
    __m512i wide =
        _mm512_mask_shuffle_epi8(_mm512_set1_epi32(0x4b000000), 0x1111111111111111, all, order);
    if (of->all.r_signed) wide = _mm512_xor_si512(wide, _mm512_set1_epi32(0x80));
    return _mm512_sub_ps(_mm512_castsi512_ps(wide), of->all.r_less);
}

HN_INLINE __m512i requantize(const bytes_of *of, const int32_t *c, const place *at, int half,
                             bool whole, residual added) {
    __m512i sum = _mm512_load_si512(c + half * 16);
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), of->scale[half]);
    if (added == TWICE) {
        v = _mm512_min_ps(of->all.hi1, _mm512_max_ps(of->all.lo1, v));
        v = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtps_epi32(v)), of->all.m1);
    }
    if (added != NONE) {
        __m512 r = widen(of, of->r + at->r + half * 16, of->mask[half], whole);
        v = _mm512_add_ps(v, _mm512_mul_ps(r, of->all.mr));
    }
    return _mm512_cvtps_epi32(v);
}

/* Two rows of 32 outputs: 16 bits saturate where 8 bits with their zero point do anyway. */
HN_INLINE __m512i two_rows(const bytes_of *of, const int32_t *c, const place *at, bool is_signed,
                           bool whole, residual added) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i top = _mm512_packs_epi32(requantize(of, c, at, 0, whole, added),
                                     requantize(of, c, at, 1, whole, added));
    __m512i bottom = _mm512_packs_epi32(requantize(of, c + PANEL, at + 1, 0, whole, added),
                                        requantize(of, c + PANEL, at + 1, 1, whole, added));
    if (of->all.y_moved)
        top = _mm512_adds_epi16(top, of->all.yz), bottom = _mm512_adds_epi16(bottom, of->all.yz);
    __m512i both = is_signed ? _mm512_packs_epi16(top, bottom) : _mm512_packus_epi16(top, bottom);
    if (of->all.limited)
        both = is_signed ? _mm512_min_epi8(_mm512_max_epi8(both, of->all.lo), of->all.hi)
                         : _mm512_min_epu8(_mm512_max_epu8(both, of->all.lo), of->all.hi);
    return _mm512_permutexvar_epi32(order, both);
}

HN_INLINE void finish_bytes(waiting *f, int end, bool is_signed, residual added) {
    const panel *own = f->panel;
    const uint64_t mask = first64(own->n);
    const bytes_of of = {.all = *f->constants,
                         .scale = {_mm512_load_ps(own->scale), _mm512_load_ps(own->scale + 16)},
                         .r = added != NONE ? (const uint8_t *)f->a->r + own->n0 : NULL,
                         .mask = {(__mmask16)mask, (__mmask16)(mask >> 16)}};
    uint8_t *y = (uint8_t *)f->a->y + own->n0;
    const int32_t *c = f->c + f->next * 2 * PANEL;
    const place *at = f->at + f->next * 2;
    for (int unit = f->next; unit < end; unit++, c += 2 * PANEL, at += 2) {
        uint8_t *y0 = y + at[0].y, *y1 = y + at[1].y;
        if (own->n == PANEL && at[0].y >= 0 && at[1].y >= 0) {
            __m512i both = two_rows(&of, c, at, is_signed, true, added);
            _mm256_storeu_si256((__m256i *)y0, _mm512_castsi512_si256(both));
            _mm256_storeu_si256((__m256i *)y1, _mm512_extracti64x4_epi64(both, 1));
        } else {
            __m512i both = two_rows(&of, c, at, is_signed, false, added);
            __mmask32 m = (__mmask32)mask;
            if (at[0].y >= 0) _mm256_mask_storeu_epi8(y0, m, _mm512_castsi512_si256(both));
            if (at[1].y >= 0) _mm256_mask_storeu_epi8(y1, m, _mm512_extracti64x4_epi64(both, 1));
        }
    }
    f->next = end;
}
static void finish_u8(waiting *f, int end) { finish_bytes(f, end, false, NONE); }
static void finish_u8_added(waiting *f, int end) { finish_bytes(f, end, false, ADDED); }
static void finish_u8_twice(waiting *f, int end) { finish_bytes(f, end, false, TWICE); }
static void finish_s8(waiting *f, int end) { finish_bytes(f, end, true, NONE); }
static void finish_s8_added(waiting *f, int end) { finish_bytes(f, end, true, ADDED); }
static void finish_s8_twice(waiting *f, int end) { finish_bytes(f, end, true, TWICE); }

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

/* Two rows at a time: activations are long chains of operations, of which a core runs several side
 * by side if they stand side by side. Hence no branch around the stores either. */
HN_INLINE void finish_floats(waiting *f, int end, hn_act_kind kind) {
    const hn_act *act = &f->a->p->act;
    const panel *of = f->panel;
    const __m512 act_a = _mm512_set1_ps(act->a), act_b = _mm512_set1_ps(act->b);
    const uint64_t mask = first64(of->n);
    const __mmask16 m[] = {(__mmask16)mask, (__mmask16)(mask >> 16)};
    for (int unit = f->next; unit < end; unit++) {
        const int32_t *c = f->c + unit * 2 * PANEL;
        const place *at = f->at + unit * 2;
        __m512 v[4];
        UNROLL for (int k = 0; k < 4; k++) {
            const int row = k / 2, i = k % 2 * 16;
            __m512i acc = _mm512_load_si512(c + row * PANEL + i);
            v[k] = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), _mm512_load_ps(of->scale + i));
            if (f->a->fbias != NULL) v[k] = _mm512_add_ps(v[k], _mm512_load_ps(of->fbias + i));
            if (f->a->r != NULL) {
                const float *r = (const float *)f->a->r + at[row].r + of->n0;
                v[k] = _mm512_add_ps(v[k], _mm512_maskz_loadu_ps(m[k % 2], r + i));
            }
        }
        UNROLL for (int k = 0; k < 4; k++) v[k] = hn_v_act(v[k], kind, act_a, act_b);
        UNROLL for (int k = 0; k < 4; k++) {
            float *y = (float *)f->a->y + at[k / 2].y + of->n0 + k % 2 * 16;
            _mm512_mask_storeu_ps(y, at[k / 2].y >= 0 ? m[k % 2] : 0, v[k]);
        }
    }
    f->next = end;
}
#define HN_X(name, formula) \
    static void finish_##name(waiting *f, int end) { finish_floats(f, end, HN_ACT_##name); }
HN_ACT_LIST(HN_X)
#undef HN_X

/* Floats that become bytes, two rows as one vector. */
static void finish_through_floats(waiting *f, int end) {
    const hn_conv_q8 *p = f->a->p;
    const panel *of = f->panel;
    const hn_q8_end bounds = hn_q8_end_of(p->y, p->yz, p->lo, p->hi);
    const hn_q8_scale scale = hn_q8_scale_of(p->ys);
    const __mmask32 m = (__mmask32)first64(of->n);
    const int rows = 2 * (end - f->next);
    const place *at = f->at + 2 * f->next;
    const int32_t *c = f->c + 2 * f->next * PANEL;
    _Alignas(64) float v[2 * UNITS * PANEL];
    for (int i = 0; i < rows * PANEL; i += 16) {
        const int n = i % PANEL;
        __m512i sums = _mm512_load_si512(c + i);
        __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_load_ps(of->scale + n));
        _mm512_store_ps(v + i, _mm512_add_ps(scaled, _mm512_load_ps(of->fbias + n)));
    }
    hn_q8_activate(&p->act, v, rows * PANEL);
    for (int row = 0; row < rows; row += 2) {
        __m512i q[4];
        hn_vf x[4];
        hn_q8_fetch_f32(v + row * PANEL, 1, 0, HN_VB, x);
        hn_q8_divide(&scale, &bounds, x, q);
        __m512i both = hn_q8_to_bytes(&bounds, q);
        uint8_t *y = (uint8_t *)f->a->y + of->n0;
        _mm256_mask_storeu_epi8(y + at[row].y, at[row].y >= 0 ? m : 0,
                                _mm512_castsi512_si256(both));
        _mm256_mask_storeu_epi8(y + at[row + 1].y, at[row + 1].y >= 0 ? m : 0,
                                _mm512_extracti64x4_epi64(both, 1));
    }
    f->next = end;
}

static void finish_slowly(waiting *f, int end) {
    const panel *of = f->panel;
    for (int row = 2 * f->next; row < 2 * end; row++) {
        const place *at = &f->at[row];
        if (at->y >= 0)
            hn_q8_finish(f->a, f->c + row * PANEL, of->scale, of->n0, of->n, at->window_sum,
                         at->y + of->n0, at->r + of->n0);
    }
    f->next = end;
}

/* Its products with what a byte may be are well within s32. */
static bool is_small(float m) { return m * 512 < 0x1p29F && m * 512 > -0x1p29F; }

/* By whole vectors, where weights have no zero points and nothing leaves s32. */
static finisher *choose_finisher(const panel *f, const hn_q8_args *a) {
    static finisher *const floats[] = {
#define HN_X(name, formula) [HN_ACT_##name] = finish_##name,
        HN_ACT_LIST(HN_X)
#undef HN_X
    };
    const hn_conv_q8 *p = a->p;
    if (p->w_zero_points || p->y == HN_Q8_S32) return finish_slowly;
    if (p->y == HN_Q8_F32) return floats[p->act.kind];
    if (hn_conv_q8_has_floats(p)) return finish_through_floats;
    bool is_signed = p->y == HN_Q8_S8;
    if (a->r != NULL && !is_small(p->mr)) return finish_slowly;
    if (a->r != NULL && p->twice)
        return !is_small(p->m1) ? finish_slowly : is_signed ? finish_s8_twice : finish_u8_twice;
    for (int i = 0; i < PANEL; i++)
        if (f->scale[i] > 0.5F || f->scale[i] < -0.5F) return finish_slowly;
    if (a->r != NULL) return is_signed ? finish_s8_added : finish_u8_added;
    return is_signed ? finish_s8 : finish_u8;
}

static void begin_panel(panel *f, const hn_q8_args *a, const int32_t *w_sums, int64_t n0) {
    memset(f, 0, sizeof *f);
    f->n0 = n0, f->n = hn_q8_min(PANEL, a->p->n - n0);
    hn_q8_begin(a, w_sums + n0, 0, n0, f->n, f->start, f->scale);
    if (a->fbias != NULL) memcpy(f->fbias, a->fbias + n0, (size_t)f->n * sizeof *f->fbias);
    f->finish = choose_finisher(f, a);
}

/* Some units more of what waits. */
static inline void finish_some(waiting *f, int units) {
    if (f->next < UNITS) f->panel->finish(f, f->next + units < UNITS ? f->next + units : UNITS);
}

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

typedef struct product {
    const uint8_t *a;
    int64_t stride;
    const int64_t *offset;
    const uint8_t *w;
    int64_t steps;
    int halves;           /* of the panel */
    const int32_t *start; /* of all rows of C; NULL: C begins with itself */
    int32_t *c;
} product;

/* C[rows*16][32] = or += A * W; tiles 0-1: C, 2: A, 3: W.
 *
 * Four of the eight tiles, although more of them would save loads. Beside another busy thread of
 * the core, a product with eight tiles in use was measured to take 4.5 times as long as on a core
 * to itself, with four of them twice as long: perhaps tile registers for renaming run out, and a
 * load waits until the products before it are done. On a core to itself four are no slower. */
HN_INLINE void multiply(const int rows, const bool is_signed, const product *t, beside *aside) {
    enum { PITCH = PANEL * sizeof(int32_t) };
    const int64_t stride = t->stride, below = ROWS * stride, next = t->halves * TILE;
    for (int half = 0; half < t->halves; half++) {
        const uint8_t *w = t->w + half * TILE;
        int32_t *c = t->c + half * 16;
        if (t->start != NULL) {
            HN_TILE_LOAD(0, t->start + half * 16, 0);
            if (rows == 2) HN_TILE_LOAD(1, t->start + half * 16, 0);
        } else {
            HN_TILE_LOAD(0, c, PITCH);
            if (rows == 2) HN_TILE_LOAD(1, c + ROWS * PANEL, PITCH);
        }
        for (int64_t s = 0; s < t->steps; s++, w += next) {
            const uint8_t *a = t->a + t->offset[s];
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
        if (rows == 2) HN_TILE_STORE(1, c + ROWS * PANEL, PITCH);
    }
    finish_some(aside->before, UNITS);
}

static __attribute__((noinline)) void multiply_unsigned(const product *t, beside *aside) {
    multiply(2, false, t, aside);
}
static __attribute__((noinline)) void multiply_signed(const product *t, beside *aside) {
    multiply(2, true, t, aside);
}
static __attribute__((noinline)) void multiply_one(bool is_signed, const product *t,
                                                   beside *aside) {
    if (is_signed)
        multiply(1, true, t, aside);
    else
        multiply(1, false, t, aside);
}

/* The same where there is one step: the rows of A stay in their tiles for all panels of a span. The
 * first loads them. Tiles 0: C, 1 and 2: A, 3: W. */
HN_INLINE void multiply_shallow(const bool is_signed, const product *t, bool load, beside *aside) {
    enum { PITCH = PANEL * sizeof(int32_t) };
    if (load) {
        HN_TILE_LOAD(1, t->a, t->stride);
        HN_TILE_LOAD(2, t->a + ROWS * t->stride, t->stride);
    }
    for (int half = 0; half < t->halves; half++) {
        int32_t *c = t->c + half * 16;
        HN_TILE_LOAD(3, t->w + half * TILE, 64);
        HN_TILE_LOAD(0, t->start + half * 16, 0);
        MULTIPLY(0, 1, 3);
        HN_TILE_STORE(0, c, PITCH);
        HN_TILE_LOAD(0, t->start + half * 16, 0);
        MULTIPLY(0, 2, 3);
        HN_TILE_STORE(0, c + ROWS * PANEL, PITCH);
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

/* ---- blocks ---- */

typedef struct task {
    const hn_q8_args *a;
    const geometry *g;
    lane_parts l;
    const uint8_t *w; /* packed tiles */
    const int32_t *w_sums;
    int64_t line, q0, end, pairs; /* the block: positions from q0 to end - 1 */
    int64_t copied;               /* direct: positions from this one on are in scratch */
    panel panels[2][SPAN];        /* those of the sums that wait, those of the sums being made */
    int now;                      /* which of the two are the latter */
    int64_t slot;                 /* for the next sums */
    waiting before;
    constants constants;
} task;

/* Where the positions of a block are in y and r. */
static void find_places(const task *t) {
    const geometry *g = t->g;
    const hn_conv_q8 *p = t->a->p;
    int64_t q = t->q0, ox = q % g->pw, oy = q / g->pw % g->wrap;
    int64_t image = t->line + q / g->pw / g->wrap;
    place *at = t->l.places, *end = at + t->pairs * PAIR;
    while (at < end) {
        bool inside = oy < p->oh && q < g->valid;
        int64_t run = hn_q8_min(g->pw - ox, end - at), n = inside ? hn_q8_min(run, p->ow - ox) : 0;
        n = hn_q8_min(n, t->end - q);
        int64_t y = image * p->y_image + oy * p->y_row + ox * p->y_pixel;
        int64_t r = image * p->r_image + oy * p->r_row + ox * p->r_pixel;
        for (int64_t i = 0; i < n; i++)
            at[i] = (place){.y = y + i * p->y_pixel, .r = r + i * p->r_pixel};
        if (p->w_zero_points)
            for (int64_t i = 0; i < n; i++)
                at[i].window_sum = hn_q8_window_sum(t->a, 0, image, oy, ox + i);
        for (int64_t i = hn_q8_max(0, n); i < run; i++) at[i] = (place){.y = -1};
        at += run, q += run, ox = 0;
        if (++oy == g->wrap) oy = 0, image++;
    }
}

/* Copies what cannot be read in place. */
static void copy_block(const task *t) {
    const geometry *g = t->g;
    int64_t count = t->pairs * PAIR;
    if (g->source == LINES || g->source == RUNS)
        copy_lines(t->a, g, t->l.a, t->line, t->q0, count + g->halo);
    else if (g->source == WINDOWS)
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
    product m = {.stride = direct && !in_place ? g->steps * STEP : g->stride};
    m.a =
        in_place ? t->a->x + q * g->stride : t->l.a + (q - (direct ? t->copied : t->q0)) * m.stride;
    for (int64_t step = 0; step == 0 || step < g->steps; step += g->chunk) {
        m.steps = hn_q8_min(g->chunk, g->steps - step);
        m.offset = t->l.offset + step;
        bool whole = step + m.steps == g->steps;
        for (int64_t n = first; n < last; n++) {
            m.halves = p->n - n * PANEL > 16 ? 2 : 1;
            m.w = t->w + (n * g->steps * 2 + step * m.halves) * TILE;
            m.start = step == 0 ? now[n - first].start : NULL;
            m.c = t->l.c + (t->slot + n - first) % slots * SUMS;
            if (long_act)
                aside->units =
                    (int)hn_q8_max(2, hn_q8_ceil(UNITS, hn_q8_max(1, m.halves * m.steps)));
            if (one)
                multiply_one(is_signed, &m, aside);
            else if (g->steps == 1 && is_signed)
                multiply_shallow_signed(&m, n == first, aside);
            else if (g->steps == 1)
                multiply_shallow_unsigned(&m, n == first, aside);
            else if (is_signed)
                multiply_signed(&m, aside);
            else
                multiply_unsigned(&m, aside);
            if (whole)
                t->before = (waiting){.a = t->a,
                                      .constants = &t->constants,
                                      .c = m.c,
                                      .panel = &now[n - first],
                                      .at = t->l.places + i * PAIR};
        }
    }
    t->slot = (t->slot + last - first) % slots;
}

/* Panels [first, last), a span at most, times the block. */
static void multiply_panels(task *t, int64_t first, int64_t last) {
    const geometry *g = t->g;
    t->now = !t->now;
    for (int64_t n = first; n < last; n++)
        begin_panel(&t->panels[t->now][n - first], t->a, t->w_sums, n * PANEL);
    int64_t bytes = g->steps * 2 * TILE; /* of a panel */
    beside aside = {.before = &t->before};
    if (t->pairs <= MANY_PAIRS)
        aside.fetch = hn_fetch_begin((uintptr_t)t->w + (uintptr_t)(last * bytes),
                                     (last - first) * bytes, hn_q8_ceil(TILE / 256, t->pairs));
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
    task t = {.a = &a, .g = &g, .w = packed + header_bytes(p), .w_sums = (const void *)packed};
    t.constants = make_constants(p);
    divide(&g, lane, &t.l);
    fill_offsets(p, &g, t.l.offset);
    t.before = (waiting){.next = UNITS};
    hn_tiles_begin();
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
            t.copied = t.q0 + hn_q8_max(0, g.in_place - t.q0) / PAIR * PAIR;
            find_places(&t);
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

/* How the products of a window are put into steps. */
static source order_of(const hn_conv_q8 *p) {
    source s = source_of(p);
    return s == DIRECT ? WINDOWS : s;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c,   p->n,   p->kh,  p->kw,     p->w_o,
                          p->w_i, p->w_y, p->w_x, p->w_type, order_of(p)};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* The place of product k of step s in the plain weights of an output; -1: none. */
static int64_t weight_at(const hn_conv_q8 *p, source order, int64_t s, int64_t k) {
    int64_t taps = p->kh * p->kw, at = s * STEP + k, tap, i;
    if (order == RUNS) {
        at = s % run_steps(p) * STEP + k;
        if (at >= p->kw * p->c) return -1;
        at += s / run_steps(p) * p->kw * p->c;
    }
    if (order == LINES)
        tap = s % taps, i = s / taps * STEP + k;
    else
        tap = at / p->c, i = at % p->c;
    if (tap >= taps || i >= p->c) return -1;
    return tap / p->kw * p->w_y + tap % p->kw * p->w_x + i * p->w_i;
}

static void pack(const void *problem, const void *plain, void *dst) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p, 1);
    int32_t *sums = dst;
    int8_t *to = (int8_t *)dst + header_bytes(p);
    memset(dst, 0, packed_bytes(p));
    for (int64_t panel0 = 0; panel0 < p->n; panel0 += PANEL) {
        int64_t halves = p->n - panel0 > 16 ? 2 : 1;
        for (int64_t s = 0; s < g.steps; s++, to += halves * TILE)
            for (int64_t k = 0; k < STEP; k++) {
                int64_t at = weight_at(p, order_of(p), s, k);
                if (at < 0) continue;
                for (int64_t o = panel0; o < hn_q8_min(p->n, panel0 + PANEL); o++) {
                    int8_t w = hn_q8_weight(p, plain, at + o * p->w_o);
                    sums[o] += w;
                    to[(o - panel0) / 16 * TILE + k / 4 * 64 + o % 16 * 4 + k % 4] = w;
                }
            }
    }
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_q8 *p = problem;
    if (p->groups != 1) return *why = "groups", false;
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
    .pack = pack,
};
