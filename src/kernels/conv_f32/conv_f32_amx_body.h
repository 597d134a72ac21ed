/* conv_f32 by AMX: six products of bf16 that together are one of f32, or three that nearly are.
 * PARTS says into how many bf16 a float is split: 3, or 2 for f32-relaxed.
 *
 * A float of 24 bits is the sum of three bf16 of 8 bits, exactly: x = x1 + x2 + x3, each about 2^8
 * times smaller than the one before. Of the nine products of two such sums the six largest,
 *
 *     x1*w1 + (x1*w2 + x2*w1) + (x1*w3 + x2*w2 + x3*w1),
 *
 * leave an error of at most 2^-22 |x*w|, what a few roundings of f32 leave. TDPBF16PS multiplies
 * and adds bf16 into f32 at 16 times the rate of FMA, so that six of them are still 2.6 times as
 * fast.
 *
 * With two parts three products are left, x1*w1 + (x1*w2 + x2*w1). Pixels are cut into their parts
 * and weights rounded, so |x2| < 2^-7 |x|, |x3| < 2^-15 |x|, |w2| <= 2^-8 |w| and |w3| <= 2^-16
 * |w|: what is left out, x2*w2 + x3*w + x*w3, is at most 2.5 * 2^-15 |x*w| (that is f32-relaxed).
 *
 * The convolution is a matrix product without a copy of the windows. The pixels of an image, rows
 * one after the other, are a line of positions; an output pixel at position q takes its tap (ky,
 * kx) from position q + offset(ky, kx), the same offset for every q. So 16 neighbours on the line
 * are the 16 rows of a tile, and one tile load with another offset gets the next tap:
 *
 *     line:   row 0 . . . . h h | row 1 . . . . h h | ...     pw = ow + halo positions in a row
 *             `- 16 positions = the rows of a tile -'         outputs at h are computed and dropped
 *
 * Padding is positions that hold zero. A stride of s becomes 1 by sorting the pixels into s*s
 * phases, each a line of its own: taps of one phase lie side by side. For 1x1 the line has no halo
 * and runs through the batch.
 *
 * A task is a block of tiles times a group of panels of 32 outputs. The pixels of the block are
 * split into lane scratch [channel block][phase][position][part][channel 32], a line of cache per
 * part. Splitting takes as long as multiplying by 64 outputs, but other units of the core, so it is
 * done in the shadow of the products: while a pair of tiles is multiplied by the first few panels,
 * the pixels of the next pair are split. The other panels follow one by one, and fetch the weights
 * of the next into L2 meanwhile. If not all channels fit into scratch, this is done for some of
 * them at a time, and the sums C of the whole group wait in scratch.
 *
 * Weights are split when packed: 64 bytes of header, then [panel][step][part][half 2][16][16][2],
 * a step being 32 channels of one tap, channels outermost. Channels i and i+16 of a step make a
 * pair (any order serves if both operands agree), since that is how 32 floats are cut with two
 * instructions per part. The last panel has one half if 16 outputs or fewer are left.
 *
 * The sum of an output runs through the steps in order, in f32, each step its products in the
 * order below: blocks and groups change nothing in it.
 *
 * Inf and NaN cannot be split (inf - inf). Splitting marks the positions that hold one, and an
 * output whose window has a marked position is summed again from x and from w1 + w2 + w3 = w (or
 * w1 + w2) by FMA. If the weights are not all finite the header says so and every output is. AMX
 * takes numbers below 2^-126 for zero; an output is off by no more than K * 2^-126 * (max|x| +
 * max|w|) for that.
 */
#ifdef PARTS
#include <string.h>

#include "base/cpu.h"
#include "base/least.h"
#include "simd/avx512.h"

#include "kernels/act_simd.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/conv_f32/conv_f32_amx.h"
#include "kernels/conv_f32/conv_f32_columns.h"
#include "simd/amx.h"

enum {
    ROWS = 16,               /* positions in a tile */
    STEP = 32,               /* channels in a step */
    PART = 64,               /* bytes of one part of a position, of a row of any tile */
    POSITION = PARTS * PART, /* bytes of a position in one channel block */
    TILE = 1024,             /* bytes of a tile of weights */
    HALF = PARTS * TILE,     /* bytes of a step of weights for 16 outputs */
    HEADER = HN_AMX_HEADER,
    PAIR = 32 * 32,         /* floats of C for two tiles and a panel */
    SMALL_IMAGE = 4 * 16,   /* positions */
    BLOCK_PAIRS = 16,       /* pairs of tiles in a block: at most, */
    LEAST_PAIRS = 4,        /* and before channels are divided */
    BLOCK_BYTES = 800000,   /* of split pixels: they and the weights in use stay in L2 */
    FIRST_BYTES = 300000,   /* of weights that meet every pair while the next one is split */
    WAITING_BYTES = 400000, /* of sums that wait */
    CHUNK = 12 / PARTS,     /* steps of half a panel before the same ones of the other */
    AHEAD = 24,             /* steps between the weights in use and those being fetched */
};

typedef struct geometry {
    int64_t lines, wrap;   /* lines of positions; rows of an image on its line, halo and all */
    int64_t pw, halo;      /* positions in a row; how far behind a position its taps reach */
    int64_t ny, nx;        /* phases */
    int64_t valid, tiles;  /* positions of a line up to its last output; tiles that cover them */
    int64_t blocks, pairs; /* of a line, of a block (at most) */
    int64_t cap;           /* positions a block holds, per phase and channel block */
    int64_t cblocks, at_a_time; /* channel blocks; those that fit into scratch */
    int64_t taps, steps, panels;
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static size_t round64(int64_t bytes) { return ((size_t)bytes + 63) & ~(size_t)63; }

/* 1 + the last phase that taps 0 .. k-1 of dilation d touch at stride s. */
static int64_t phases(int64_t k, int64_t d, int64_t s) {
    int64_t last = 0;
    for (int64_t i = 0; i < k && i < s; i++) last = max64(last, i * d % s);
    return last + 1;
}

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {0};
    int64_t down = (p->kh - 1) * p->dh / p->sh, right = (p->kw - 1) * p->dw / p->sw;
    g.pw = p->ow + right;
    /* One line through the batch, where it wastes nothing or else every small image would have to
     * read all weights. */
    bool one = down == 0 || p->oh * g.pw <= SMALL_IMAGE;
    g.lines = one ? 1 : p->batch;
    g.wrap = p->oh + down;
    int64_t rows = (one ? p->batch - 1 : 0) * g.wrap + p->oh;
    g.halo = down * g.pw + right;
    g.ny = phases(p->kh, p->dh, p->sh);
    g.nx = phases(p->kw, p->dw, p->sw);
    g.valid = (rows - 1) * g.pw + p->ow;
    g.tiles = ceil_div(g.valid, ROWS);
    g.cblocks = ceil_div(p->c, STEP);
    g.taps = p->kh * p->kw;
    g.steps = g.cblocks * g.taps;
    g.panels = ceil_div(p->n, 32);

    int64_t pairs = ceil_div(g.tiles, 2), most = BLOCK_PAIRS;
    int64_t position = g.ny * g.nx * POSITION;
    int64_t bytes = hn_of_l2(BLOCK_BYTES);
    while (most > LEAST_PAIRS && (most * 2 * ROWS + g.halo) * position * g.cblocks > bytes) most--;
    /* At least two, so that two threads have an image's halves and need not split all pixels both.
     */
    g.blocks = max64(ceil_div(pairs, most), hn_least(pairs, 2));
    /* A number that 2, 4 and 8 threads can share. */
    int64_t even = g.blocks > 4 ? 8 : g.blocks > 2 ? 4 : g.blocks;
    g.blocks = hn_least(pairs, ceil_div(g.blocks, even) * even);
    g.pairs = ceil_div(pairs, g.blocks);
    g.cap = g.pairs * 2 * ROWS + g.halo;
    int64_t rounds = ceil_div(g.cblocks, max64(1, bytes / (g.cap * position)));
    g.at_a_time = ceil_div(g.cblocks, rounds);
    return g;
}

typedef struct lane_parts {
    char *a;         /* split pixels */
    float *c;        /* [panel][pair][32][32] sums that wait; else of one pair */
    int64_t *offset; /* of the steps within a */
    uint8_t *marked; /* [phase][position]: not finite */
} lane_parts;

static bool waits(const geometry *g) { return g->at_a_time < g->cblocks; }

static size_t divide(const geometry *g, int64_t groups, char *base, lane_parts *l) {
    size_t a = round64(g->at_a_time * g->ny * g->nx * g->cap * POSITION);
    size_t c = PAIR * sizeof(float);
    if (waits(g)) c *= (size_t)(ceil_div(g->panels, groups) * g->pairs);
    size_t offset = round64(g->steps * (int64_t)sizeof(int64_t));
    size_t marked = round64(g->ny * g->nx * g->cap);
    if (base != NULL) {
        l->a = base;
        l->c = (float *)(base + a);
        l->offset = (int64_t *)(base + a + c);
        l->marked = (uint8_t *)(base + a + c + offset);
    }
    return a + c + offset + marked;
}

/* Groups of panels: enough that all lanes have work, few enough that splitting the pixels anew for
 * each is little beside multiplying them. */
static int64_t choose_groups(const geometry *g, int lanes) {
    int64_t base = g->lines * g->blocks, least = 1;
    if (waits(g))
        least = ceil_div(g->panels * g->pairs * PAIR * (int64_t)sizeof(float), WAITING_BYTES);
    /* Three tasks for each of several lanes, where groups stay large: a fast lane can then take
     * some of a slow one's. */
    if (lanes > 1) least = max64(least, hn_least(ceil_div(3 * lanes, base), g->panels / 4));
    least = hn_least(least, g->panels);
    int64_t best = least;
    double best_cost = 0;
    for (int64_t n = least; n <= g->panels && n <= least * 4 * lanes; n++) {
        /* In units of one pair of tiles times one step of a panel: 24 TDP, or 12. Splitting a
         * channel block of a pair is about as much work as one of them. */
        double task = (double)(ceil_div(g->panels, n) * g->steps + g->cblocks * g->ny * g->nx);
        double cost = (double)ceil_div(base * n, lanes) * task;
        if (n == least || cost < best_cost * 0.98) best = n, best_cost = cost;
    }
    return best;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_f32 *p = problem;
    geometry g = measure(p);
    int64_t groups = choose_groups(&g, lanes);
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.lines * g.blocks * groups},
                   .lane_scratch = divide(&g, groups, NULL, NULL)};
}

/* Where splitting stands. A unit is 32 channels of a pixel; units run over channel blocks, then
 * phases, then positions. */
typedef struct cutter {
    const hn_conv_f32 *p;
    const geometry *g;
    const float *x;
    char *dst;       /* of the first channel block, phase and position */
    uint8_t *marked; /* [phase][position] */
    bool any_marked;
    int64_t cb0, cb1;        /* channel blocks to split */
    int64_t at, end;         /* positions of the block: the one being split, their number */
    int64_t image, row, col; /* of position `at` */
    int64_t phase, cb;
    const float *from; /* of the pixel; NULL: padding */
} cutter;

static void locate(cutter *k) {
    const hn_conv_f32 *p = k->p;
    int64_t iy = k->row * p->sh + k->phase / k->g->nx - p->pt;
    int64_t ix = k->col * p->sw + k->phase % k->g->nx - p->pl;
    bool inside = iy >= 0 && iy < p->h && ix >= 0 && ix < p->w && k->image < p->batch;
    k->from = inside ? k->x + k->image * p->x_image + iy * p->x_row + ix * p->x_pixel : NULL;
    k->cb = k->cb0;
}

/* Positions [q0, q0 + count) of a line, channel blocks [cb0, cb1). */
static void begin_cutting(cutter *k, int64_t line, int64_t q0, int64_t count, int64_t cb0,
                          int64_t cb1) {
    k->cb0 = cb0, k->cb1 = cb1;
    k->at = 0, k->end = count, k->phase = 0;
    k->row = q0 / k->g->pw % k->g->wrap, k->col = q0 % k->g->pw;
    k->image = line + q0 / k->g->pw / k->g->wrap;
    locate(k);
}

/* Cuts 32 floats into a line of 32 bf16 per part; says in which lanes one is not finite. Cutting
 * off bits instead of rounding them cannot overflow, and what is cut off is exact. */
static inline __mmask16 split32(__m512 lo, __m512 hi, char *dst) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    for (int part = 0;; part++) {
        __m512i l = _mm512_castps_si512(lo), h = _mm512_castps_si512(hi);
        __m512i both = _mm512_ternarylogic_epi32(top, h, _mm512_srli_epi32(l, 16), 0xca);
        _mm512_store_si512(dst + part * PART, both);
        if (part == PARTS - 1) break;
        lo = _mm512_sub_ps(lo, _mm512_castsi512_ps(_mm512_and_si512(l, top)));
        hi = _mm512_sub_ps(hi, _mm512_castsi512_ps(_mm512_and_si512(h, top)));
    }
    return _mm512_cmp_ps_mask(lo, hi, _CMP_UNORD_Q);
}

static __attribute__((noinline)) void split_some(cutter *k, int64_t units) {
    const geometry *g = k->g;
    int64_t next = g->ny * g->nx * g->cap * POSITION; /* to the next channel block */
    while (units > 0 && k->at < k->end) {
        int64_t index = k->phase * g->cap + k->at;
        int64_t stop = hn_least(k->cb1, k->cb + units);
        char *d = k->dst + index * POSITION + (k->cb - k->cb0) * next;
        units -= stop - k->cb;
        if (k->from != NULL) {
            const float *from = k->from + k->cb * STEP;
            __mmask16 bad = 0;
            int64_t whole = hn_least(stop, k->p->c / STEP);
            for (; k->cb < whole; k->cb++, d += next, from += STEP)
                bad |= split32(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16), d);
            if (k->cb < stop) {
                int64_t left = k->p->c - k->cb * STEP;
                bad |=
                    split32(hn_v_load_n(from, hn_least(left, 16)),
                            left > 16 ? hn_v_load_n(from + 16, left - 16) : _mm512_setzero_ps(), d);
                k->cb++;
            }
            if (bad != 0) k->marked[index] = 1, k->any_marked = true;
        } else {
            for (; k->cb < stop; k->cb++, d += next)
                for (int part = 0; part < PARTS; part++)
                    _mm512_store_si512(d + part * PART, _mm512_setzero_si512());
        }
        if (k->cb < k->cb1) return;
        if (++k->phase == g->ny * g->nx) {
            k->phase = 0, k->at++;
            if (++k->col == g->pw) {
                k->col = 0;
                if (++k->row == g->wrap) k->row = 0, k->image++;
            }
        }
        locate(k);
    }
}

/* All positions before `position`, at least. */
static void split_up_to(cutter *k, int64_t position) {
    if (k->at < position)
        split_some(k, (position - k->at) * k->g->ny * k->g->nx * (k->cb1 - k->cb0));
}

/* What is done beside the products, at every step of half a panel. */
typedef struct beside {
    cutter *cut;
    int64_t pixels;  /* units to split */
    uintptr_t fetch; /* weights to fetch into L2, */
    int64_t lines;   /* this many cache lines */
} beside;

/* The products of one step and half a panel; tiles 0-1: C, 2: A, 3: W.
 *
 * Four of the eight tiles, although more of them would save loads. Beside another busy thread of
 * the core, a product with eight tiles in use was measured to take 4.5 times as long as on a core
 * to itself, with four of them 1.6 times: perhaps tile registers for renaming run out, and a load
 * waits until the products before it are done. On a core to itself the loads are free, from L1. */
HN_INLINE void products(const int rows, const char *a0, const char *a1, const char *w,
                        int64_t next_part) {
#if PARTS == 3
    /* w3, with x1 */
    HN_TILE_LOAD(3, w, PART);
    HN_TILE_LOAD(2, a0, POSITION);
    HN_TILE_DOT_BF16(0, 2, 3);
    if (rows == 2) {
        HN_TILE_LOAD(2, a1, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
    }
    /* w2, with x1 and x2 */
    HN_TILE_LOAD(3, w + next_part, PART);
    if (rows == 2) {
        HN_TILE_DOT_BF16(1, 2, 3);
        HN_TILE_LOAD(2, a1 + PART, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
        HN_TILE_LOAD(2, a0, POSITION);
    }
    HN_TILE_DOT_BF16(0, 2, 3);
    HN_TILE_LOAD(2, a0 + PART, POSITION);
    HN_TILE_DOT_BF16(0, 2, 3);
    /* w1, with x2, x1 and x3 */
    HN_TILE_LOAD(3, w + 2 * next_part, PART);
    HN_TILE_DOT_BF16(0, 2, 3);
    HN_TILE_LOAD(2, a0, POSITION);
    HN_TILE_DOT_BF16(0, 2, 3);
    HN_TILE_LOAD(2, a0 + 2 * PART, POSITION);
    HN_TILE_DOT_BF16(0, 2, 3);
    if (rows == 2) {
        HN_TILE_LOAD(2, a1 + PART, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
        HN_TILE_LOAD(2, a1, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
        HN_TILE_LOAD(2, a1 + 2 * PART, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
    }
#else
    /* w2, with x1 */
    HN_TILE_LOAD(3, w, PART);
    HN_TILE_LOAD(2, a0, POSITION);
    HN_TILE_DOT_BF16(0, 2, 3);
    if (rows == 2) {
        HN_TILE_LOAD(2, a1, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
    }
    /* w1, with x1 and x2 */
    HN_TILE_LOAD(3, w + next_part, PART);
    if (rows == 2) {
        HN_TILE_DOT_BF16(1, 2, 3);
        HN_TILE_LOAD(2, a1 + PART, POSITION);
        HN_TILE_DOT_BF16(1, 2, 3);
        HN_TILE_LOAD(2, a0, POSITION);
    }
    HN_TILE_DOT_BF16(0, 2, 3);
    HN_TILE_LOAD(2, a0 + PART, POSITION);
    HN_TILE_DOT_BF16(0, 2, 3);
#endif
}

/* C[rows*16][16] (+)= A * W over some steps; between two of them in W lie cols * HALF bytes. */
HN_INLINE void multiply_half(const int rows, const int cols, const char *a, const int64_t *offset,
                             const char *w, int64_t steps, float *c, bool first, beside *aside) {
    enum { PITCH = 32 * sizeof(float) };
    if (first) {
        HN_TILE_ZERO(0);
        if (rows == 2) HN_TILE_ZERO(1);
    } else {
        HN_TILE_LOAD(0, c, PITCH);
        if (rows == 2) HN_TILE_LOAD(1, c + 16 * 32, PITCH);
    }
    for (int64_t s = 0; s < steps; s++, w += cols * HALF) {
        const char *a0 = a + offset[s], *a1 = a0 + ROWS * POSITION;
        for (int64_t i = 0; i < aside->lines; i++, aside->fetch += PART)
            _mm_prefetch((const char *)aside->fetch, _MM_HINT_T1);
        if (aside->pixels > 0) split_some(aside->cut, aside->pixels);
        products(rows, a0, a1, w, cols * TILE);
    }
    HN_TILE_STORE(0, c, PITCH);
    if (rows == 2) HN_TILE_STORE(1, c + 16 * 32, PITCH);
}

/* C[rows*16][cols*16] (+)= A * W over some steps: half a panel at a time for a few of them, so that
 * the other half finds the pixels in L1. */
static __attribute__((noinline)) void multiply(int rows, int cols, const char *a,
                                               const int64_t *offset, const char *w, int64_t steps,
                                               float *c, bool first, beside *aside) {
    for (int64_t s = 0; s < steps; s += CHUNK, first = false) {
        int64_t n = hn_least(CHUNK, steps - s);
        for (int half = 0; half < cols; half++) {
            const char *wh = w + s * cols * HALF + half * TILE;
            if (rows == 2)
                multiply_half(2, cols, a, offset + s, wh, n, c + half * 16, first, aside);
            else
                multiply_half(1, cols, a, offset + s, wh, n, c + half * 16, first, aside);
        }
    }
}

/* Channel i of a step for 16 outputs: the sum of its parts, which of three is exact. The parts lie
 * `next` bytes apart. */
static inline __m512 whole_weight(const char *w, int64_t i, int64_t next) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    const int64_t pair = i % 16;
    __m512 s = _mm512_setzero_ps();
    for (int part = 0; part < PARTS; part++) {
        __m512i both = _mm512_load_si512(w + part * next + pair * PART);
        both = i < 16 ? _mm512_slli_epi32(both, 16) : _mm512_and_si512(both, top);
        s = _mm512_add_ps(s, _mm512_castsi512_ps(both));
    }
    return s;
}

/* The sums of one output pixel, position q of a line, for a panel. */
static void sum_plainly(const hn_conv_f32 *p, const geometry *g, const float *x, int64_t line,
                        int64_t q, const char *w, int halves, float *c) {
    int64_t row = q / g->pw, ox = q % g->pw;
    int64_t image = line + row / g->wrap, oy = row % g->wrap;
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int64_t s = 0; s < g->steps; s++) {
        int64_t cb = s / g->taps, tap = s % g->taps;
        int64_t iy = oy * p->sh + tap / p->kw * p->dh - p->pt;
        int64_t ix = ox * p->sw + tap % p->kw * p->dw - p->pl;
        if (iy < 0 || iy >= p->h || ix < 0 || ix >= p->w) continue;
        const float *px = x + image * p->x_image + iy * p->x_row + ix * p->x_pixel + cb * STEP;
        int64_t left = hn_least(STEP, p->c - cb * STEP);
        for (int half = 0; half < halves; half++) {
            const char *pw = w + s * halves * HALF + half * TILE;
            for (int64_t i = 0; i < left; i++)
                sum[half] = _mm512_fmadd_ps(_mm512_set1_ps(px[i]),
                                            whole_weight(pw, i, halves * TILE), sum[half]);
        }
    }
    _mm512_storeu_ps(c, sum[0]);
    _mm512_storeu_ps(c + 16, sum[1]);
}

typedef struct task {
    const hn_conv_f32 *p;
    const geometry *g;
    const float *x, *bias, *r;
    const char *w; /* packed, behind the header */
    float *y;
    int64_t line, q0; /* the first position of the block */
    int64_t pairs, tiles;
    bool all_marked;
    lane_parts l;
    cutter cut;
} task;

/* Sums of a pair of tiles become outputs. */
HN_INLINE void finish_as(const task *t, int64_t pair, int64_t panel, const float *c,
                         hn_act_kind kind) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    int64_t n0 = panel * 32, left = p->n - n0;
    __mmask16 m0 = hn_v_first_(hn_least(left, 16)),
              m1 = hn_v_first_(max64(0, hn_least(left - 16, 16)));
    __m512 b0 = _mm512_setzero_ps(), b1 = b0;
    __m512 act_a = _mm512_set1_ps(p->act.a), act_b = _mm512_set1_ps(p->act.b);
    if (t->bias != NULL) {
        b0 = _mm512_maskz_loadu_ps(m0, t->bias + n0);
        b1 = _mm512_maskz_loadu_ps(m1, t->bias + n0 + 16);
    }
    int64_t q = t->q0 + pair * 2 * ROWS;
    int64_t count = hn_least(2 * ROWS, g->valid - q);
    int64_t col = q % g->pw, row = q / g->pw % g->wrap;
    int64_t image = t->line + q / g->pw / g->wrap;
    while (count > 0) {
        int64_t pixels = row < p->oh ? hn_least(count, p->ow - col) : 0;
        int64_t positions = hn_least(count, g->pw - col);
        int64_t y_at = image * p->y_image + row * p->y_row + col * p->y_pixel + n0;
        int64_t r_at = image * p->r_image + row * p->r_row + col * p->r_pixel + n0;
        for (int64_t i = 0; i < pixels; i++) {
            __m512 v0 = _mm512_add_ps(_mm512_load_ps(c + i * 32), b0);
            __m512 v1 = _mm512_add_ps(_mm512_load_ps(c + i * 32 + 16), b1);
            float *y = t->y + y_at + i * p->y_pixel;
            if (t->r != NULL) {
                const float *r = t->r + r_at + i * p->r_pixel;
                v0 = _mm512_add_ps(v0, _mm512_maskz_loadu_ps(m0, r));
                v1 = _mm512_add_ps(v1, _mm512_maskz_loadu_ps(m1, r + 16));
            }
            _mm512_mask_storeu_ps(y, m0, hn_v_act(v0, kind, act_a, act_b));
            _mm512_mask_storeu_ps(y + 16, m1, hn_v_act(v1, kind, act_a, act_b));
        }
        c += positions * 32;
        count -= positions;
        col = 0;
        if (++row == g->wrap) row = 0, image++;
    }
}

static void finish(const task *t, int64_t pair, int64_t panel, const float *c) {
    switch (t->p->act.kind) {
#define HN_X(name, formula) \
    case HN_ACT_##name: finish_as(t, pair, panel, c, HN_ACT_##name); break;
        HN_ACT_LIST(HN_X)
#undef HN_X
        case HN_ACT_COUNT_: break;
    }
}

static bool window_marked(const task *t, int64_t i) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    for (int64_t ky = 0; ky < p->kh; ky++)
        for (int64_t kx = 0; kx < p->kw; kx++) {
            int64_t dy = ky * p->dh, dx = kx * p->dw;
            int64_t phase = dy % p->sh * g->nx + dx % p->sw;
            if (t->l.marked[phase * g->cap + i + dy / p->sh * g->pw + dx / p->sw]) return true;
        }
    return false;
}

static void repair(const task *t, int64_t pair, int64_t panel, float *c) {
    const geometry *g = t->g;
    int halves = t->p->n - panel * 32 > 16 ? 2 : 1;
    const char *w = t->w + panel * g->steps * 2 * HALF;
    for (int64_t i = 0; i < 2 * ROWS; i++) {
        int64_t at = pair * 2 * ROWS + i, q = t->q0 + at;
        if (q >= g->valid || q % g->pw >= t->p->ow || q / g->pw % g->wrap >= t->p->oh) continue;
        if (t->all_marked || window_marked(t, at))
            sum_plainly(t->p, g, t->x, t->line, q, w, halves, c + i * 32);
    }
}

/* A pair of tiles times a panel over steps [s0, s1). */
static void product(task *t, int64_t pair, int64_t panel, float *c, int64_t s0, int64_t s1,
                    beside *aside) {
    const geometry *g = t->g;
    const int rows = 2 * pair + 1 < t->tiles ? 2 : 1, cols = t->p->n - panel * 32 > 16 ? 2 : 1;
    const char *a = t->l.a + pair * 2 * ROWS * POSITION;
    const char *w = t->w + (panel * g->steps * 2 + s0 * cols) * HALF;
    multiply(rows, cols, a, t->l.offset + s0, w, s1 - s0, c, s0 == 0, aside);
    if (s1 < g->steps) return;
    if (t->all_marked || t->cut.any_marked) repair(t, pair, panel, c);
    finish(t, pair, panel, c);
}

/* Panels [n0, n1) of the block over the channel blocks that are being split. */
static void multiply_block(task *t, int64_t n0, int64_t n1) {
    const geometry *g = t->g;
    int64_t s0 = t->cut.cb0 * g->taps, s1 = t->cut.cb1 * g->taps;
    int64_t panel_bytes = (s1 - s0) * 2 * HALF;
    int64_t first = hn_least(n1 - n0, max64(2, FIRST_BYTES / panel_bytes));
    int64_t c_pair = waits(g) ? PAIR : 0, c_panel = g->pairs * c_pair;
    beside aside = {.cut = &t->cut, .pixels = ceil_div(ROWS * g->ny * g->nx, first * g->taps)};
    for (int64_t i = 0; i < t->pairs; i++) {
        split_up_to(&t->cut, hn_least(t->cut.end, (i + 1) * 2 * ROWS + g->halo));
        for (int64_t n = n0; n < n0 + first; n++)
            product(t, i, n, t->l.c + (n - n0) * c_panel + i * c_pair, s0, s1, &aside);
    }
    /* Each pair fetches its share of the next panel, in the end one of the next layer where weights
     * lie in the order they are used. */
    aside.pixels = 0;
    aside.lines = ceil_div(HALF / PART, t->pairs);
    for (int64_t n = n0 + first; n < n1; n++) {
        aside.fetch = (uintptr_t)(t->w + (n * g->steps + s0 + AHEAD) * 2 * HALF);
        for (int64_t i = 0; i < t->pairs; i++)
            product(t, i, n, t->l.c + (n - n0) * c_panel + i * c_pair, s0, s1, &aside);
    }
}

static void fill_offsets(const hn_conv_f32 *p, const geometry *g, int64_t *offset) {
    int64_t phase_bytes = g->cap * POSITION;
    for (int64_t cb = 0; cb < g->cblocks; cb++)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t kx = 0; kx < p->kw; kx++) {
                int64_t dy = ky * p->dh, dx = kx * p->dw;
                int64_t phase = dy % p->sh * g->nx + dx % p->sw;
                *offset++ = (cb % g->at_a_time * g->ny * g->nx + phase) * phase_bytes +
                            (dy / p->sh * g->pw + dx / p->sw) * POSITION;
            }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_conv_f32 *p = call->problem;
    geometry g = measure(p);
    int64_t groups = call->work->tasks[0] / (g.lines * g.blocks);
    const char *packed = call->ptr[HN_CONV_W];
    __m512i header = _mm512_load_si512(packed);
    task t = {.p = p,
              .g = &g,
              .x = call->ptr[HN_CONV_X],
              .bias = call->ptr[HN_CONV_BIAS],
              .r = call->ptr[HN_CONV_R],
              .w = packed + HEADER,
              .y = call->ptr[HN_CONV_Y],
              .all_marked = _mm512_test_epi8_mask(header, header) != 0};
    divide(&g, groups, lane, &t.l);
    t.cut = (cutter){.p = p, .g = &g, .x = t.x, .dst = t.l.a, .marked = t.l.marked};
    fill_offsets(p, &g, t.l.offset);
    hn_tiles_begin();
    int64_t in_scratch = -1; /* the block whose pixels are, all channels of them */
    int64_t all_pairs = ceil_div(g.tiles, 2);
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i % groups, block = i / groups;
        int64_t n0 = g.panels * group / groups, n1 = g.panels * (group + 1) / groups;
        int64_t pair0 = all_pairs * (block % g.blocks) / g.blocks;
        t.line = block / g.blocks;
        t.q0 = pair0 * 2 * ROWS;
        t.pairs = all_pairs * (block % g.blocks + 1) / g.blocks - pair0;
        t.tiles = hn_least(2 * t.pairs, g.tiles - 2 * pair0);
        if (block != in_scratch) {
            memset(t.l.marked, 0, (size_t)(g.ny * g.nx * g.cap));
            t.cut.any_marked = false;
        }
        for (int64_t cb0 = 0; cb0 < g.cblocks; cb0 += g.at_a_time) {
            if (block != in_scratch)
                begin_cutting(&t.cut, t.line, t.q0, t.tiles * ROWS + g.halo, cb0,
                              hn_least(g.cblocks, cb0 + g.at_a_time));
            multiply_block(&t, n0, n1);
        }
        in_scratch = waits(&g) ? -1 : block;
    }
    hn_tiles_end();
}

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return HEADER + (size_t)(ceil_div(p->c, STEP) * p->kh * p->kw * ceil_div(p->n, 16)) * HALF;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t of[] = {p->c, p->n, p->kh, p->kw, p->w_o, p->w_i, p->w_y, p->w_x};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* The nearest bf16, as the upper half of a float: of two that are as near the one away from zero,
 * and the one towards zero where the nearest is inf. */
static inline __m512i nearest(__m512i v) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000), inf = _mm512_set1_epi32(0x7f800000);
    __m512i up = _mm512_add_epi32(v, _mm512_set1_epi32(0x8000));
    __mmask16 over = _mm512_cmpeq_epi32_mask(_mm512_and_si512(up, inf), inf);
    return _mm512_and_si512(_mm512_mask_mov_epi32(up, over, v), top);
}

/* pack_row of numbers below 2^127, which neither are nor become infinite. */
static inline void pack_row_finite(__m512 even, __m512 odd, char *dst, int64_t next) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000), half = _mm512_set1_epi32(0x8000);
    for (int part = 0; part < PARTS; part++) {
        __m512i e = _mm512_add_epi32(_mm512_castps_si512(even), half);
        __m512i o = _mm512_add_epi32(_mm512_castps_si512(odd), half);
        e = _mm512_and_si512(e, top), o = _mm512_and_si512(o, top);
        _mm512_store_si512(dst + (PARTS - 1 - part) * next,
                           _mm512_or_si512(o, _mm512_srli_epi32(e, 16)));
        even = _mm512_sub_ps(even, _mm512_castsi512_ps(e));
        odd = _mm512_sub_ps(odd, _mm512_castsi512_ps(o));
    }
}

/* 16 outputs of two channels into a row of each part, the smallest first; says in which lanes one
 * is not finite. Inf and NaN are their own first part, and nothing is left of them for the others.
 */
static __mmask16 pack_row(__m512 even, __m512 odd, char *dst, int64_t next) {
    enum { NOT_FINITE = 0x99 };
    const __m512i quiet = _mm512_set1_epi32(0x400000);
    const __m512 large = _mm512_set1_ps(0x1p127f);
    __mmask16 small_e = _mm512_cmp_ps_mask(_mm512_abs_ps(even), large, _CMP_LT_OQ);
    if (_mm512_mask_cmp_ps_mask(small_e, _mm512_abs_ps(odd), large, _CMP_LT_OQ) == 0xffff) {
        pack_row_finite(even, odd, dst, next);
        return 0;
    }
    __mmask16 not_e = _mm512_fpclass_ps_mask(even, NOT_FINITE);
    __mmask16 not_o = _mm512_fpclass_ps_mask(odd, NOT_FINITE);
    for (int part = 0; part < PARTS; part++) {
        __mmask16 nan_e = _mm512_cmp_ps_mask(even, even, _CMP_UNORD_Q);
        __mmask16 nan_o = _mm512_cmp_ps_mask(odd, odd, _CMP_UNORD_Q);
        __m512i e = nearest(_mm512_castps_si512(even)), o = nearest(_mm512_castps_si512(odd));
        e = _mm512_mask_or_epi32(e, nan_e, e, quiet);
        o = _mm512_mask_or_epi32(o, nan_o, o, quiet);
        _mm512_store_si512(dst + (PARTS - 1 - part) * next,
                           _mm512_or_si512(o, _mm512_srli_epi32(e, 16)));
        even = _mm512_maskz_sub_ps(_knot_mask16(not_e), even, _mm512_castsi512_ps(e));
        odd = _mm512_maskz_sub_ps(_knot_mask16(not_o), odd, _mm512_castsi512_ps(o));
    }
    return not_e | not_o;
}

/* A step of 16 outputs; true: not all are finite. */
static bool pack_step(const hn_columns *k, int64_t channels, int64_t tap, char *to, int64_t next) {
    const __m512 zero = _mm512_setzero_ps();
    __mmask16 broken = 0;
    for (int64_t i = 0; i < 16; i++) {
        __m512 even = i < channels ? hn_column(k, i, tap) : zero;
        __m512 odd = i + 16 < channels ? hn_column(k, i + 16, tap) : zero;
        broken |= pack_row(even, odd, to + i * PART, next);
    }
    return broken != 0;
}

/* All taps of up to 32 channels and 32 outputs; true: not all are finite. */
static bool pack_block(const hn_conv_f32 *p, const void *w, int64_t panel, int64_t cb, char *dst) {
    int64_t taps = p->kh * p->kw, steps = ceil_div(p->c, STEP) * taps;
    int64_t halves = p->n - panel * 32 > 16 ? 2 : 1;
    char *to = dst + HEADER + panel * steps * 2 * HALF + cb * taps * halves * HALF;
    int64_t channels = hn_least(STEP, p->c - cb * STEP);
    hn_columns_room room;
    bool broken = false;
    for (int64_t half = 0; half < halves; half++) {
        int64_t n = panel * 32 + half * 16;
        hn_columns k = hn_columns_of(p, w, n, hn_least(16, p->n - n), cb * STEP, channels, room);
        for (int64_t tap = 0; tap < taps; tap++)
            broken |=
                pack_step(&k, channels, tap, to + tap * halves * HALF + half * TILE, halves * TILE);
    }
    return broken;
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_conv_f32 *p = problem;
    hn_amx_pack(p, plain->data, begin, end, ceil_div(p->c, STEP), pack_block, dst);
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (!hn_conv_stored_f32(p, why)) return false;
    if (p->groups != 1) return *why = "groups", false;
    if (p->x_channel != 1) return *why = "the input is planar", false;
    if (hn_conv_share_inside(p) < 0.5) return *why = "most taps miss the image", false;
    /* With few pixels the memory decides, and packed weights are half as large again as plain ones,
     * or as large. */
    const int64_t least = PARTS == 3 ? 64 : 48;
    if (p->batch * p->oh * p->ow < least) return *why = "too few pixels", false;
    /* Else what decides is time, estimated in ns: constants that fit what was measured on Sapphire
     * Rapids for 1x1 with 32 to 232 channels, 24 to 384 outputs and 100 to 2700 pixels, and for 3x3
     * with 16 to 128 of each. Positions, channels and outputs count as far as tiles go. FMA rows
     * reach 115 GFLOP/s of what they compute. They are to be preferred when it is close: AMX loses
     * more than they do when other guests of the machine are busy. */
    geometry g = measure(p);
    double positions = (double)(g.lines * g.tiles * ROWS), channels = (double)(g.cblocks * STEP);
    double outputs = (double)(ceil_div(p->n, 16) * 16);
    /* Where windows reach far, every block splits what it does not compute besides. */
    double far = (double)(g.lines * g.blocks * max64(0, g.halo - g.pairs * 2 * ROWS));
    const double product = PARTS == 3 ? 0.0077 : 0.0038;
    double split = 0.246 * channels * (double)(g.ny * g.nx);
    double multiply_and_store = outputs * (product * channels * (double)g.taps + 0.147);
    double fma = 2 * (double)(p->batch * p->oh * p->ow) * outputs * (double)(p->c * g.taps) / 115;
    if ((positions + far) * split + positions * multiply_and_store > 0.8 * fma)
        return *why = "FMA is as fast: half-empty tiles, or much to split for few products", false;
    return true;
}
#endif
