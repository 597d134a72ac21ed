/* conv_f32 by AMX in bf16: pixels and weights rounded to the nearest bf16, products summed in f32.
 *
 * A block of 16 pixels by 32 outputs is two tiles of sums. A step, 32 products deep, loads one tile
 * of pixels and two of weights. Where the rows of a tile of pixels come from:
 *
 *   direct   1x1 over pixels of bf16 that follow each other at one distance, whole steps of
 *            channels: from x itself.
 *   blocks   windows over many channels. The pixels of an image, rows one after the other with
 *            their padding, are a line of positions; an output at position q takes its tap (ky, kx)
 *            from position q + offset(ky, kx), the same offset for every q:
 *
 *                row 0 . . . . h h | row 1 . . . . h h | ...    pw = ow + halo positions in a row
 *                `- 16 positions = the rows of a tile -'        outputs at h are dropped
 *
 *            The pixels are rounded into scratch, [channels/32][phase][position * keep][32]. Rows
 *            of a tile lie `keep` pixels apart: the stride, or 1 where a window has one column.
 * Rows of the image that a stride skips between two neighbours are phases of their own. compact
 * windows over few channels, a first layer above all, planar or not. As before, but with all
 * channels of a pixel side by side, so that 32 neighbours in scratch are a part of a row of the
 * window: [phase][position * keep][channel]. A step may reach beyond the row of its window; weights
 * are zero there.
 *
 * Weights are packed as 64 bytes of header, then [panel of 32][step][half][16][16][2]. The last
 * panel has one half if 16 outputs or fewer are left.
 *
 * A panel meets the tiles of a block a few at a time: CHUNK steps of its weights, which L1 holds,
 * are multiplied by each of the tiles, then the next steps. Pixels come from L2 by a load that
 * leaves L1 to the weights (tileloaddt1). Meanwhile the sums of the tile before become outputs,
 * some rows after every step: that runs in units of the core which tiles leave idle. And weights
 * that come two panels later are fetched into L2.
 *
 * Four of the eight tile registers are in use. Beside another busy thread of the core a product
 * with eight was measured to take 4.5 times as long as on a core to itself, with four 1.6 times.
 *
 * The sum of an output runs through the steps in order, in f32: blocks, groups and chunks change
 * nothing in it. Inf and NaN flow through products as IEEE says, but for zeros that stand for
 * nothing: padding beside weights that are not finite, and weights beyond a compact window. The
 * header says of weights, copying of compact pixels, that some are not finite; outputs are then
 * summed one by one. AMX takes numbers below 2^-126 for zero.
 */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "simd/amx.h"
#include "simd/avx512.h"

#include "kernels/act_simd.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_amx.h"
#include "kernels/conv_f32/conv_f32_columns.h"

enum {
    ROWS = 16,           /* positions in a tile */
    STEP = 32,           /* products in a step */
    LINE = 64,           /* bytes of a row of any tile */
    TILE = 1024,         /* bytes */
    PANEL = 32,          /* outputs */
    SUMS = ROWS * PANEL, /* of a tile and a panel */
    HEADER = HN_AMX_HEADER,
    SMALL_IMAGE = 4 * ROWS, /* positions */
    BLOCK_BYTES = 1400000,  /* of pixels: they and the weights in use stay in L2 */
    FEW_BYTES = 512 << 10,  /* of weights */
    CHUNK = 12,             /* steps of weights, 24 KB: L1 holds them on every CPU that has tiles */
    GROUP = 8,              /* tiles whose sums wait between chunks */
    ROUND = 32 << 10,       /* bytes that are fetched in four streams */
    AHEAD = 24,             /* steps between the weights in use and those being fetched */
};

typedef enum source { DIRECT, BLOCKS, COMPACT } source;

typedef struct geometry {
    source source;
    int64_t lines, wrap;   /* lines of positions; rows of an image on its line, halo and all */
    int64_t pw, halo;      /* positions in a row; how far behind a position its taps reach */
    int64_t keep, phases;  /* pixels of a position; phases of rows */
    int64_t valid, tiles;  /* positions of a line up to its last output; tiles that cover them */
    int64_t blocks, cap;   /* of a line; positions a block holds, its halo included */
    int64_t pixel, stride; /* bytes of a pixel in one plane, between rows of a tile of pixels */
    int64_t plane;         /* bytes of a phase */
    int64_t steps, panels;
    int64_t scratch; /* bytes of copied pixels */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static size_t round64(int64_t bytes) { return ((size_t)bytes + 63) & ~(size_t)63; }

/* Whether output pixels, in order, read input pixels at one distance. */
static bool is_dense(const hn_conv_f32 *p) {
    return p->kh == 1 && p->kw == 1 && p->pt == 0 && p->pl == 0 && p->sw == 1 && p->ow <= p->w &&
           (p->oh - 1) * p->sh < p->h &&
           (p->oh == 1 || (p->sh == 1 && p->x_row == p->ow * p->x_pixel)) &&
           (p->batch == 1 || p->x_image == p->oh * p->ow * p->x_pixel);
}

/* Steps that a window takes when its rows are compact. */
static int64_t compact_steps(const hn_conv_f32 *p) { return p->kh * ceil_div(p->kw * p->c, STEP); }

static bool is_compact(const hn_conv_f32 *p) {
    return p->dw == 1 &&
           (p->x_channel != 1 || compact_steps(p) < ceil_div(p->c, STEP) * p->kh * p->kw);
}

/* 1 + the last phase that taps 0 .. k-1 of dilation d touch at stride s. */
static int64_t phases_of(int64_t k, int64_t d, int64_t s) {
    int64_t last = 0;
    for (int64_t i = 0; i < k && i < s; i++) last = max64(last, i * d % s);
    return last + 1;
}

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {.source = is_compact(p) ? COMPACT
                            : p->x_type == HN_FLOAT_BF16 && p->c % STEP == 0 && is_dense(p)
                                ? DIRECT
                                : BLOCKS};
    bool compact = g.source == COMPACT;
    int64_t down = (p->kh - 1) * p->dh / p->sh, right = (p->kw - 1) * p->dw;
    int64_t cblocks = compact ? 1 : ceil_div(p->c, STEP);
    g.keep = p->kw == 1 ? 1 : p->sw;
    g.pw = p->ow + max64(0, ceil_div(right + 1 - g.keep, g.keep));
    /* One line through the batch, where it wastes nothing or else every small image would have to
     * read all weights. */
    bool one = down == 0 || p->oh * g.pw <= SMALL_IMAGE;
    g.lines = one ? 1 : p->batch;
    g.wrap = p->oh + down;
    g.halo = down * g.pw + ceil_div(right, g.keep);
    g.phases = phases_of(p->kh, p->dh, p->sh);
    g.valid = ((one ? p->batch - 1 : 0) * g.wrap + p->oh - 1) * g.pw + p->ow;
    g.tiles = ceil_div(g.valid, ROWS);
    g.steps = compact ? compact_steps(p) : cblocks * p->kh * p->kw;
    g.panels = ceil_div(p->n, PANEL);
    g.pixel = compact ? p->c * 2 : LINE;
    g.stride = g.source == DIRECT ? p->x_pixel * 2 : g.keep * g.pixel;
    int64_t position = g.source == DIRECT ? p->c * 2 : cblocks * g.phases * g.stride;
    int64_t most = hn_of_l2(BLOCK_BYTES) / (max64(1, position) * ROWS) - ceil_div(g.halo, ROWS);
    /* Weights that L2 holds meet few tiles at a time, so that outputs are written row by row. */
    if (g.steps * g.panels * 2 * TILE <= hn_of_l2(FEW_BYTES))
        most = hn_least(most, max64(GROUP, ceil_div(4 * g.halo, ROWS)));
    g.blocks = hn_least(g.tiles, ceil_div(g.tiles, max64(4, most)));
    /* A number that 2, 4 and 8 threads can share. */
    if (g.tiles >= 32) {
        int64_t even = g.blocks > 4 ? 8 : g.blocks > 2 ? 4 : 2;
        g.blocks = ceil_div(g.blocks, even) * even;
    }
    g.cap = ceil_div(g.tiles, g.blocks) * ROWS + g.halo;
    g.plane = g.cap * g.stride;
    /* The last tile, where it is not full, is copied. Steps of compact windows reach further than
     * their pixels. */
    g.scratch = g.source == DIRECT ? g.steps * TILE : g.cap * position + (compact ? 2 * LINE : 0);
    return g;
}

/* Where an output pixel is, in elements; y < 0: there is none, and r is 0. */
typedef struct place {
    int64_t y, r;
} place;

typedef struct lane_parts {
    float *c;        /* [tile of a group][16][32] sums */
    place *places;   /* of the positions of the block */
    int64_t *offset; /* of the steps, from the first tap of a position, in bytes */
    char *a;         /* copied pixels */
} lane_parts;

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    size_t c = GROUP * SUMS * sizeof(float);
    size_t places = round64((g->cap - g->halo) * (int64_t)sizeof(place));
    size_t offset = round64(g->steps * (int64_t)sizeof(int64_t));
    if (base != NULL) {
        l->c = (float *)base;
        l->places = (place *)(base + c);
        l->offset = (int64_t *)(base + c + places);
        l->a = base + c + places + offset;
    }
    return c + places + offset + round64(g->scratch);
}

/* Groups of panels: enough that all lanes have work, few enough that copying the pixels anew for
 * each is little beside multiplying them. */
static int64_t choose_groups(const hn_conv_f32 *p, const geometry *g, int lanes) {
    /* In cycles of a tile: 32 for a step, some 6 to copy 32 channels of a position. */
    double copy = g->source == DIRECT ? 0 : 6.0 * ROWS * (double)ceil_div(p->c * g->keep, STEP);
    int64_t best = 1;
    double best_cost = 0;
    for (int64_t n = 1; n <= g->panels && n <= 4 * lanes; n++) {
        double task = (double)(ceil_div(g->panels, n) * g->steps * 32) + copy;
        double cost = (double)ceil_div(g->lines * g->blocks * n, lanes) * task;
        if (n == 1 || cost < best_cost * 0.97) best = n, best_cost = cost;
    }
    return best;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.lines * g.blocks * choose_groups(p, &g, lanes)},
                   .lane_scratch = divide(&g, NULL, NULL)};
}

typedef struct task {
    const hn_conv_f32 *p;
    const geometry *g;
    const void *x, *r;
    const float *bias;
    const char *w; /* packed, behind the header */
    void *y;
    lane_parts l;
    int64_t line, q0, tiles; /* the block */
    bool one_by_one;         /* its outputs, since something is not finite */
    bool fetch;              /* weights, which no block has met before */
} task;

/* ---- copying pixels ---- */

static inline __mmask32 first32(int64_t n) {
    return n >= 32 ? ~(__mmask32)0 : n <= 0 ? 0 : ((__mmask32)1 << n) - 1;
}

static inline __m256i low_half(__m512 v) { return (__m256i)_mm512_cvtneps_pbh(v); }

static inline __m512 widen(__m256i v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

/* n channels, at most 32, from element `at` on, as bf16. */
HN_INLINE __m512i load_pixel(const void *x, int64_t at, bool bf16, int64_t n) {
    if (bf16) return _mm512_maskz_loadu_epi16(first32(n), (const uint16_t *)x + at);
    const float *f = (const float *)x + at;
    __m512 lo = _mm512_maskz_loadu_ps(hn_v_first_(hn_least(n, 16)), f);
    __m512 hi = n > 16 ? _mm512_maskz_loadu_ps(hn_v_first_(hn_least(n - 16, 16)), f + 16)
                       : _mm512_setzero_ps();
    return (__m512i)_mm512_cvtne2ps_pbh(hi, lo);
}

/* All channels of a pixel, or zeros, into planes that lie `next` bytes apart. */
HN_INLINE void copy_pixel(const hn_conv_f32 *p, const void *x, int64_t at, bool inside, bool bf16,
                          char *to, int64_t next) {
    int64_t i = 0;
    if (!inside) {
        for (; i < p->c; i += STEP, to += next) _mm512_store_si512(to, _mm512_setzero_si512());
        return;
    }
    for (; i + STEP <= p->c; i += STEP, to += next)
        _mm512_store_si512(to, load_pixel(x, at + i, bf16, STEP));
    if (i < p->c) _mm512_store_si512(to, load_pixel(x, at + i, bf16, p->c - i));
}

/* n elements of a row of compact pixels, which follow each other in x. *not_finite gathers lanes.
 */
static void copy_row(const hn_conv_f32 *p, const void *x, int64_t at, uint16_t *to, int64_t n,
                     __mmask32 *not_finite) {
    const __m512i inf = _mm512_set1_epi16(0x7f80);
    for (int64_t i = 0; i < n; i += STEP) {
        int64_t some = hn_least(STEP, n - i);
        __m512i v = load_pixel(x, at + i, p->x_type == HN_FLOAT_BF16, some);
        *not_finite |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(v, inf), inf);
        _mm512_mask_storeu_epi16(to + i, first32(some), v);
    }
}

/* Planes of at most FEW channels are woven: vector v of a run of 32 pixels takes, from channel i in
 * lanes mask[v][i], the pixels at[v]. */
enum { FEW = 4 };
typedef struct weave {
    __m512i at[FEW];
    __mmask32 mask[FEW][FEW];
} weave;

static weave weave_of(int64_t c) {
    weave w = {0};
    for (int64_t v = 0; v < c && c <= FEW; v++) {
        _Alignas(64) uint16_t at[STEP];
        for (int64_t lane = 0; lane < STEP; lane++) {
            at[lane] = (uint16_t)((v * STEP + lane) / c);
            w.mask[v][(v * STEP + lane) % c] |= (__mmask32)1 << lane;
        }
        w.at[v] = _mm512_load_si512(at);
    }
    return w;
}

/* n pixels of a row that lies in planes. */
static void copy_planes(const hn_conv_f32 *p, const weave *w, const void *x, int64_t at,
                        uint16_t *to, int64_t n, __mmask32 *not_finite) {
    const __m512i inf = _mm512_set1_epi16(0x7f80);
    for (int64_t i = 0; i < n; i += STEP) {
        int64_t some = hn_least(STEP, n - i);
        __m512i plane[FEW], v;
        for (int64_t k = 0; k < p->c; k++) {
            plane[k] = load_pixel(x, at + k * p->x_channel + i, p->x_type == HN_FLOAT_BF16, some);
            *not_finite |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(plane[k], inf), inf);
        }
        for (int64_t k = 0; k < p->c; k++) {
            v = _mm512_maskz_permutexvar_epi16(w->mask[k][0], w->at[k], plane[0]);
            for (int64_t j = 1; j < p->c; j++)
                v = _mm512_mask_permutexvar_epi16(v, w->mask[k][j], w->at[k], plane[j]);
            _mm512_mask_storeu_epi16(to + i * p->c + k * STEP, first32(some * p->c - k * STEP), v);
        }
    }
}

/* One channel of n pixels of a row. */
static void copy_channel(const hn_conv_f32 *p, const void *x, int64_t at, uint16_t *to, int64_t n,
                         __mmask32 *not_finite) {
    for (int64_t i = 0; i < n; i++, at += p->x_pixel, to += p->c) {
        __m512i v = load_pixel(x, at, p->x_type == HN_FLOAT_BF16, 1);
        *to = (uint16_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(v));
        *not_finite |= (*to & 0x7f80) == 0x7f80;
    }
}

/* Pixels [ix, ix + n) of a row, ones outside the image included, side by side. */
static void copy_compact(const hn_conv_f32 *p, const weave *w, const void *x, int64_t row_at,
                         int64_t ix, int64_t n, uint16_t *to, __mmask32 *not_finite) {
    int64_t left = max64(0, hn_least(n, -ix)), right = max64(left, hn_least(n, p->w - ix));
    memset(to, 0, (size_t)(left * p->c) * sizeof *to);
    memset(to + right * p->c, 0, (size_t)((n - right) * p->c) * sizeof *to);
    if (right == left) return;
    int64_t at = row_at + (ix + left) * p->x_pixel;
    if (p->x_channel == 1 && p->x_pixel == p->c) {
        copy_row(p, x, at, to + left * p->c, (right - left) * p->c, not_finite);
        return;
    }
    if (p->x_pixel == 1 && p->c <= FEW) {
        copy_planes(p, w, x, at, to + left * p->c, right - left, not_finite);
        return;
    }
    for (int64_t i = 0; i < p->c; i++)
        copy_channel(p, x, at + i * p->x_channel, to + left * p->c + i, right - left, not_finite);
}

/* Positions [q0, q0 + count) of the block's line into scratch; says if all are finite, where that
 * is asked of them. */
static bool copy_lines(const task *t, int64_t count) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    const bool bf16 = p->x_type == HN_FLOAT_BF16;
    int64_t next = g->phases * g->plane, width = g->pw * g->keep;
    const weave woven = weave_of(p->c);
    __mmask32 not_finite = 0;
    char *to = t->l.a;
    for (int64_t phase = 0; phase < g->phases; phase++, to += g->plane) {
        int64_t col = t->q0 % g->pw * g->keep, row = t->q0 / g->pw % g->wrap;
        int64_t image = t->line + t->q0 / g->pw / g->wrap;
        char *dst = to;
        for (int64_t left = count * g->keep; left > 0;) {
            int64_t iy = row * p->sh + phase - p->pt, run = hn_least(left, width - col);
            bool inside = iy >= 0 && iy < p->h && image < p->batch;
            int64_t at = image * p->x_image + iy * p->x_row;
            if (g->source == COMPACT) {
                /* With one column of taps, pixels that a stride skips are left out. */
                if (!inside)
                    memset(dst, 0, (size_t)(run * g->pixel));
                else if (g->keep == p->sw)
                    copy_compact(p, &woven, t->x, at, col - p->pl, run, (uint16_t *)dst,
                                 &not_finite);
                else
                    for (int64_t i = 0; i < run; i++)
                        copy_compact(p, &woven, t->x, at, (col + i) * p->sw - p->pl, 1,
                                     (uint16_t *)(dst + i * g->pixel), &not_finite);
            } else {
                int64_t over = g->keep == 1 ? p->sw : 1;
                for (int64_t i = 0; i < run; i++) {
                    int64_t ix = (col + i) * over - p->pl;
                    bool in = inside && ix >= 0 && ix < p->w;
                    if (bf16)
                        copy_pixel(p, t->x, at + ix * p->x_pixel, in, true, dst + i * LINE, next);
                    else
                        copy_pixel(p, t->x, at + ix * p->x_pixel, in, false, dst + i * LINE, next);
                }
            }
            dst += run * g->pixel;
            left -= run, col = 0;
            if (++row == g->wrap) row = 0, image++;
        }
    }
    if (g->source == COMPACT)
        memset(t->l.a + (g->phases - 1) * g->plane + count * g->stride, 0, LINE);
    return not_finite == 0;
}

/* Copies what cannot be read in place. */
static bool copy_block(const task *t) {
    const geometry *g = t->g;
    if (g->source != DIRECT) return copy_lines(t, t->tiles * ROWS + g->halo);
    int64_t full = g->valid / ROWS * ROWS;
    if (t->q0 + t->tiles * ROWS <= g->valid) return true;
    for (int64_t i = 0; i < ROWS; i++)
        copy_pixel(t->p, t->x, (full + i) * t->p->x_pixel, full + i < g->valid, true,
                   t->l.a + i * LINE, TILE);
    return true;
}

static void fill_offsets(const hn_conv_f32 *p, const geometry *g, int64_t *offset) {
    if (g->source == DIRECT) {
        for (int64_t s = 0; s < g->steps; s++) offset[s] = s * LINE;
        return;
    }
    bool compact = g->source == COMPACT;
    int64_t across = compact ? ceil_div(p->kw * p->c, STEP) : p->kw;
    int64_t apart = compact ? LINE : p->dw * LINE;
    for (int64_t cb = 0; cb < g->steps / max64(1, p->kh * across); cb++)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t k = 0; k < across; k++) {
                int64_t dy = ky * p->dh;
                *offset++ = (cb * g->phases + dy % p->sh) * g->plane +
                            dy / p->sh * g->pw * g->stride + k * apart;
            }
}

/* ---- sums become outputs ---- */

/* A tile of sums that waits. */
typedef struct waiting {
    const task *t;
    const float *c;
    const place *at;
    int64_t n0; /* the first output of the panel */
    int next;   /* the row to finish; ROWS: none */
} waiting;

HN_INLINE __m512 load_residual(const task *t, int64_t at, __mmask16 m) {
    if (t->p->r_type == HN_FLOAT_BF16)
        return widen(_mm256_maskz_loadu_epi16(m, (const uint16_t *)t->r + at));
    return _mm512_maskz_loadu_ps(m, (const float *)t->r + at);
}

HN_INLINE void finish_as(waiting *f, int end, hn_act_kind kind) {
    const task *t = f->t;
    const hn_act *act = &t->p->act;
    const bool narrow = t->p->y_type == HN_FLOAT_BF16;
    int64_t left = t->p->n - f->n0;
    __mmask16 m0 = hn_v_first_(hn_least(left, 16)),
              m1 = hn_v_first_(max64(0, hn_least(left - 16, 16)));
    __m512 b0 = _mm512_setzero_ps(), b1 = b0;
    __m512 act_a = _mm512_set1_ps(act->a), act_b = _mm512_set1_ps(act->b);
    if (t->bias != NULL) {
        b0 = _mm512_maskz_loadu_ps(m0, t->bias + f->n0);
        b1 = _mm512_maskz_loadu_ps(m1, t->bias + f->n0 + 16);
    }
    for (; f->next < end; f->next++) {
        const place *at = &f->at[f->next];
        if (at->y < 0) continue;
        const float *c = f->c + f->next * PANEL;
        __m512 v0 = _mm512_add_ps(_mm512_load_ps(c), b0);
        __m512 v1 = _mm512_add_ps(_mm512_load_ps(c + 16), b1);
        if (t->r != NULL) {
            v0 = _mm512_add_ps(v0, load_residual(t, at->r + f->n0, m0));
            v1 = _mm512_add_ps(v1, load_residual(t, at->r + f->n0 + 16, m1));
        }
        v0 = hn_v_act(v0, kind, act_a, act_b);
        v1 = hn_v_act(v1, kind, act_a, act_b);
        if (narrow) {
            _mm512_mask_storeu_epi16((uint16_t *)t->y + at->y + f->n0,
                                     (__mmask32)m0 | (__mmask32)m1 << 16,
                                     (__m512i)_mm512_cvtne2ps_pbh(v1, v0));
        } else {
            float *y = (float *)t->y + at->y + f->n0;
            _mm512_mask_storeu_ps(y, m0, v0);
            _mm512_mask_storeu_ps(y + 16, m1, v1);
        }
    }
}

/* Some rows more of what waits. */
static __attribute__((noinline)) void finish_some(waiting *f, int rows) {
    int end = f->next + rows < ROWS ? f->next + rows : ROWS;
    switch (f->t->p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: finish_as(f, end, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

/* ---- tiles ---- */

/* What is done beside the products, at every step. */
typedef struct beside {
    waiting *before;
    int rows;       /* of it to finish */
    hn_fetch fetch; /* of weights that come later */
} beside;

typedef struct product {
    const char *a;
    int64_t stride;
    const int64_t *offset;
    const char *w;
    int64_t steps;
    float *c;
    bool first; /* the sums begin here */
} product;

/* C[16][cols*16] (+)= A * W; tiles 0-1: C, 2: A, 3: W. */
HN_INLINE void multiply(const int cols, const bool near, const product *m, beside *aside) {
    enum { PITCH = PANEL * sizeof(float) };
    const char *w = m->w;
    if (m->first) {
        HN_TILE_ZERO(0);
        if (cols == 2) HN_TILE_ZERO(1);
    } else {
        HN_TILE_LOAD(0, m->c, PITCH);
        if (cols == 2) HN_TILE_LOAD(1, m->c + 16, PITCH);
    }
    for (int64_t s = 0; s < m->steps; s++, w += cols * TILE) {
        if (near)
            HN_TILE_LOAD(2, m->a + m->offset[s], m->stride);
        else
            HN_TILE_STREAM(2, m->a + m->offset[s], m->stride);
        HN_TILE_LOAD(3, w, LINE);
        HN_TILE_DOT_BF16(0, 2, 3);
        if (cols == 2) {
            HN_TILE_LOAD(3, w + TILE, LINE);
            HN_TILE_DOT_BF16(1, 2, 3);
        }
        if (aside->fetch.fours > 0) hn_fetch_some(&aside->fetch);
        if (aside->before->next < ROWS) finish_some(aside->before, aside->rows);
    }
    if (aside->before->next < ROWS) finish_some(aside->before, ROWS);
    HN_TILE_STORE(0, m->c, PITCH);
    if (cols == 2) HN_TILE_STORE(1, m->c + 16, PITCH);
}

static __attribute__((noinline)) void multiply_whole(const product *m, beside *aside) {
    multiply(2, false, m, aside);
}
static __attribute__((noinline)) void multiply_half(const product *m, beside *aside) {
    multiply(1, false, m, aside);
}
/* Compact windows overlap: a line of cache is loaded several times. */
static __attribute__((noinline)) void multiply_near(const product *m, beside *aside) {
    multiply(2, true, m, aside);
}

/* ---- one by one ---- */

/* Product k of step s: its weights lie at pair k/2, and its pixel is channel *i of tap (*ky, *kx).
 * False: there is none. */
static bool locate(const hn_conv_f32 *p, bool compact, int64_t s, int64_t k, int64_t *ky,
                   int64_t *kx, int64_t *i) {
    if (compact) {
        int64_t across = ceil_div(p->kw * p->c, STEP), at = s % across * STEP + k;
        *ky = s / across, *kx = at / p->c, *i = at % p->c;
        return *kx < p->kw;
    }
    int64_t taps = p->kh * p->kw;
    *ky = s % taps / p->kw, *kx = s % taps % p->kw, *i = s / taps * STEP + k;
    return *i < p->c;
}

static float element(const hn_conv_f32 *p, const void *x, int64_t at) {
    if (p->x_type == HN_FLOAT_F32) return ((const float *)x)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)x)[at] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The sums of a panel for the output at position q of a line. */
static void sum_plainly(const task *t, int64_t q, const char *w, int cols, float *c) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    int64_t row = q / g->pw, ox = q % g->pw, image = t->line + row / g->wrap, oy = row % g->wrap;
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int64_t s = 0; s < g->steps; s++)
        for (int64_t k = 0; k < STEP; k++) {
            int64_t ky, kx, i;
            if (!locate(p, g->source == COMPACT, s, k, &ky, &kx, &i)) continue;
            int64_t iy = oy * p->sh + ky * p->dh - p->pt, ix = ox * p->sw + kx * p->dw - p->pl;
            if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) continue;
            __m512 x = _mm512_set1_ps(element(
                p, t->x, image * p->x_image + iy * p->x_row + ix * p->x_pixel + i * p->x_channel));
            for (int half = 0; half < cols; half++) {
                __m512i both = _mm512_load_si512(w + (s * cols + half) * TILE + k / 2 * LINE);
                both = k % 2 == 0 ? _mm512_slli_epi32(both, 16) : _mm512_and_si512(both, top);
                sum[half] = _mm512_fmadd_ps(x, _mm512_castsi512_ps(both), sum[half]);
            }
        }
    _mm512_store_ps(c, sum[0]);
    _mm512_store_ps(c + 16, sum[1]);
}

/* ---- blocks ---- */

/* Where the outputs of the block's positions are in y and r. */
static void find_places(const task *t) {
    const geometry *g = t->g;
    const hn_conv_f32 *p = t->p;
    int64_t q = t->q0, ox = q % g->pw, oy = q / g->pw % g->wrap;
    int64_t image = t->line + q / g->pw / g->wrap;
    for (place *at = t->l.places; at < t->l.places + t->tiles * ROWS; at++, q++) {
        *at = (place){.y = -1};
        if (q < g->valid && ox < p->ow && oy < p->oh) {
            at->y = image * p->y_image + oy * p->y_row + ox * p->y_pixel;
            at->r = image * p->r_image + oy * p->r_row + ox * p->r_pixel;
        }
        if (++ox == g->pw) {
            ox = 0;
            if (++oy == g->wrap) oy = 0, image++;
        }
    }
}

/* Fetches what finishing a tile will read and write: outputs often lie beyond L2. */
static void fetch_outputs(const task *t, int64_t tile, int64_t n0) {
    const hn_conv_f32 *p = t->p;
    int64_t y_bytes = p->y_type == HN_FLOAT_BF16 ? 2 : 4,
            r_bytes = p->r_type == HN_FLOAT_BF16 ? 2 : 4;
    for (const place *at = t->l.places + tile * ROWS, *end = at + ROWS; at < end; at++) {
        if (at->y < 0) continue;
        const char *y = (const char *)t->y + (at->y + n0) * y_bytes;
        const char *r = (const char *)t->r + (at->r + n0) * r_bytes;
        for (int64_t i = 0; i < PANEL * y_bytes; i += LINE) _mm_prefetch(y + i, _MM_HINT_T0);
        if (t->r == NULL) continue;
        for (int64_t i = 0; i < PANEL * r_bytes; i += LINE) _mm_prefetch(r + i, _MM_HINT_T0);
    }
}

/* A panel for the block, output by output. */
static void sum_panel(task *t, int64_t panel, const char *w, int cols) {
    for (int64_t i = 0; i < t->tiles; i++) {
        waiting now = {.t = t, .c = t->l.c, .at = t->l.places + i * ROWS, .n0 = panel * PANEL};
        for (int64_t row = 0; row < ROWS; row++)
            if (now.at[row].y >= 0)
                sum_plainly(t, t->q0 + i * ROWS + row, w, cols, t->l.c + row * PANEL);
        finish_some(&now, ROWS);
    }
}

/* A panel times the block: tiles in groups, each through all chunks of steps. */
static void multiply_panel(task *t, int64_t panel, waiting *before) {
    const geometry *g = t->g;
    int cols = t->p->n - panel * PANEL > 16 ? 2 : 1;
    const char *w = t->w + panel * g->steps * 2 * TILE;
    if (t->one_by_one) {
        sum_panel(t, panel, w, cols);
        return;
    }
    beside aside = {.before = before};
    if (t->fetch)
        aside.fetch = hn_fetch_begin((uintptr_t)w + AHEAD * 2 * TILE, g->steps * 2 * TILE, ROUND,
                                     ceil_div(2 * TILE / 256, t->tiles));
    int64_t chunks = max64(1, ceil_div(g->steps, CHUNK)), groups = ceil_div(t->tiles, GROUP);
    for (int64_t group = 0; group < groups; group++) {
        int64_t first = t->tiles * group / groups, end = t->tiles * (group + 1) / groups;
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            int64_t s0 = g->steps * chunk / chunks, s1 = g->steps * (chunk + 1) / chunks;
            aside.rows = (int)ceil_div(ROWS, max64(1, s1 - s0));
            for (int64_t i = first; i < end; i++) {
                int64_t q = t->q0 + i * ROWS;
                product m = {.a = t->l.a + i * ROWS * g->stride,
                             .stride = g->stride,
                             .offset = t->l.offset + s0,
                             .w = w + s0 * cols * TILE,
                             .steps = s1 - s0,
                             .c = t->l.c + (i - first) * SUMS,
                             .first = chunk == 0};
                if (g->source == DIRECT) m.a = (const char *)t->x + q * g->stride;
                int64_t last[CHUNK];
                if (g->source == DIRECT && g->valid - q < ROWS) {
                    for (int64_t s = s0; s < s1; s++) last[s - s0] = s * TILE;
                    m.a = t->l.a, m.stride = LINE, m.offset = last;
                }
                if (chunk == chunks - 1)
                    fetch_outputs(t, i + 1 < end ? i + 1 : first,
                                  panel * PANEL + (i + 1 < end ? 0 : PANEL));
                if (cols == 1)
                    multiply_half(&m, &aside);
                else if (g->source == COMPACT)
                    multiply_near(&m, &aside);
                else
                    multiply_whole(&m, &aside);
                if (chunk == chunks - 1)
                    *before = (waiting){.t = t,
                                        .c = m.c,
                                        .at = t->l.places + i * ROWS,
                                        .n0 = panel * PANEL,
                                        .next = 0};
            }
        }
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    geometry g = measure(p);
    int64_t groups = call->work->tasks[0] / (g.lines * g.blocks);
    const char *packed = call->ptr[HN_CONV_W];
    __m512i header = _mm512_load_si512(packed);
    const bool broken = _mm512_test_epi8_mask(header, header) != 0;
    task t = {.p = p,
              .g = &g,
              .x = call->ptr[HN_CONV_X],
              .bias = call->ptr[HN_CONV_BIAS],
              .r = call->ptr[HN_CONV_R],
              .w = packed + HEADER,
              .y = call->ptr[HN_CONV_Y]};
    divide(&g, lane, &t.l);
    fill_offsets(p, &g, t.l.offset);
    waiting before = {.t = &t, .next = ROWS};
    hn_tiles_begin();
    int64_t in_scratch = -1; /* the block whose pixels are */
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i % groups, block = i / groups;
        int64_t tile0 = g.tiles * (block % g.blocks) / g.blocks;
        if (block != in_scratch) {
            /* What waits still needs the places of its block. */
            if (before.next < ROWS) finish_some(&before, ROWS);
            t.line = block / g.blocks;
            t.q0 = tile0 * ROWS;
            t.tiles = g.tiles * (block % g.blocks + 1) / g.blocks - tile0;
            find_places(&t);
            t.one_by_one = !copy_block(&t) || broken;
            t.fetch = i == begin || g.steps * g.panels * 2 * TILE > FEW_BYTES;
            in_scratch = block;
        }
        int64_t last = g.panels * (group + 1) / groups;
        for (int64_t n = g.panels * group / groups; n < last; n++) multiply_panel(&t, n, &before);
    }
    if (before.next < ROWS) finish_some(&before, ROWS);
    hn_tiles_end();
}

/* ---- packing ---- */

static int64_t steps_of(const hn_conv_f32 *p) {
    return is_compact(p) ? compact_steps(p) : ceil_div(p->c, STEP) * p->kh * p->kw;
}

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return HEADER + (size_t)(steps_of(p) * ceil_div(p->n, 16)) * TILE;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t of[] = {p->c, p->n, p->kh, p->kw, p->w_o, p->w_i, p->w_y, p->w_x, is_compact(p)};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* Two products of 16 outputs; their lanes that are not finite. */
HN_INLINE __mmask16 pack_pair(__m512 even, __m512 odd, char *to) {
    enum { NOT_FINITE = 0x99 };
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i pairs = _mm512_inserti64x4(_mm512_castsi256_si512(low_half(even)), low_half(odd), 1);
    _mm512_store_si512(to, _mm512_permutexvar_epi16(order, pairs));
    return _mm512_fpclass_ps_mask(even, NOT_FINITE) | _mm512_fpclass_ps_mask(odd, NOT_FINITE);
}

/* Step s, whose products are channels of one tap. */
static __mmask16 pack_step(const hn_columns *k, int64_t channels, int64_t tap, char *to) {
    const __m512 zero = _mm512_setzero_ps();
    __mmask16 broken = 0;
    for (int64_t i = 0; i < STEP; i += 2) {
        __m512 even = i < channels ? hn_column(k, i, tap) : zero;
        __m512 odd = i + 1 < channels ? hn_column(k, i + 1, tap) : zero;
        broken |= pack_pair(even, odd, to + i / 2 * LINE);
    }
    return broken;
}

/* Step s of compact weights, whose products may be of any tap. */
static __mmask16 pack_compact(const hn_conv_f32 *p, const void *w, int64_t n, int64_t s, char *to) {
    __mmask16 broken = 0;
    hn_columns k = hn_columns_of(p, w, n, hn_least(16, p->n - n), 0, HN_COLUMNS_ROWS + 1, NULL);
    for (int64_t i = 0; i < STEP; i += 2) {
        __m512 v[2];
        for (int j = 0; j < 2; j++) {
            int64_t ky, kx, c;
            bool there = locate(p, true, s, i + j, &ky, &kx, &c);
            v[j] = there ? hn_column(&k, c, ky * p->kw + kx) : _mm512_setzero_ps();
        }
        broken |= pack_pair(v[0], v[1], to + i / 2 * LINE);
    }
    return broken;
}

/* All steps of up to 32 channels, or all there are of compact weights, for a panel of outputs;
 * true: not all are finite. */
static bool pack_block(const hn_conv_f32 *p, const void *w, int64_t panel, int64_t cb, char *dst) {
    int64_t taps = p->kh * p->kw, steps = steps_of(p), n0 = panel * PANEL;
    int64_t halves = p->n - n0 > 16 ? 2 : 1, channels = hn_least(STEP, p->c - cb * STEP);
    char *to = dst + HEADER + steps * (n0 / 16) * TILE;
    __mmask16 broken = 0;
    hn_columns_room room;
    for (int64_t half = 0; half < halves; half++) {
        int64_t n = n0 + half * 16;
        if (is_compact(p)) {
            for (int64_t s = 0; s < steps; s++)
                broken |= pack_compact(p, w, n, s, to + (s * halves + half) * TILE);
            continue;
        }
        hn_columns k = hn_columns_of(p, w, n, hn_least(16, p->n - n), cb * STEP, channels, room);
        for (int64_t tap = 0; tap < taps; tap++)
            broken |= pack_step(&k, channels, tap, to + ((cb * taps + tap) * halves + half) * TILE);
    }
    return broken != 0;
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    hn_amx_pack(p, plain->data, begin, end, is_compact(p) ? 1 : ceil_div(p->c, STEP), pack_block,
                dst);
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->groups != 1) return *why = "groups", false;
    if (p->x_channel != 1 && !is_compact(p)) return *why = "the input is planar", false;
    /* What decides is time, estimated in ns. Positions, channels and outputs count as far as tiles
     * go. FMA rows reach 115 GFLOP/s of what they compute. Weights come from memory, 20 bytes in a
     * ns: with few pixels that is all, and those of bf16 are half as many. */
    geometry g = measure(p);
    double positions = (double)(g.lines * g.tiles * ROWS);
    double copy = g.source == COMPACT ? (double)(p->c * g.keep * g.phases) * 0.6
                                      : (double)(ceil_div(p->c, STEP) * g.keep * g.phases) * 3;
    double outputs = (double)(ceil_div(p->n, 16) * 16);
    double multiply_and_store = outputs * ((double)(g.steps * STEP) * 0.0015 + 0.1);
    double weights = (double)p->n * (double)(p->c * p->kh * p->kw);
    double products = (double)(p->batch * p->oh * p->ow) * weights;
    double amx = positions * (copy + multiply_and_store), fma = 2 * products / 115;
    if (fmax(amx, 2 * weights / 20) + 300 > 0.8 * fmax(fma, 4 * weights / 20))
        return *why = "FMA is as fast: half-empty tiles, or much to copy for few products", false;
    return true;
}

const hn_kernel hn_conv_f32_one_amx = {
    .name = "amx1",
    .isa = HN_ISA_AMX,
    .order = "channel blocks of 32, taps; one product",
    .precision = HN_PRECISION_BF16,
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack_tasks = hn_amx_pack_tasks,
    .pack = pack,
};
