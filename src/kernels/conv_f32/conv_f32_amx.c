/* conv_f32 by AMX: six products of bf16 that together are one of f32.
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
 * A task is a block of tiles times a group of panels of 32 outputs. It first splits the pixels of
 * its block into lane scratch [channel block][phase][position][part 3][channel 32], a line of cache
 * per part, and then multiplies panel by panel, K in chunks whose weights stay in L1:
 *
 *     for the channel blocks that fit, for panels, for chunks of K, for pairs of tiles:
 *         C[32][32] += A[32][chunk] * W[chunk][32]      C waits in lane scratch between chunks
 *
 * Weights are split when packed: 64 bytes of header, then [panel][step][half 2][part 3][16][16][2],
 * a step being 32 channels of one tap, channels outermost. Channels i and i+16 of a step make a
 * pair (any order serves if both operands agree), since that is how 32 floats are cut with two
 * instructions per part. The last panel has one half if 16 outputs or fewer are left.
 *
 * The sum of an output runs through the steps in order, in f32, each step its six products in the
 * order below: blocks, groups and chunks change nothing in it.
 *
 * Inf and NaN cannot be split (inf - inf). Splitting marks the positions that hold one, and an
 * output whose window has a marked position is summed again from x and from w1 + w2 + w3 = w by
 * FMA. If the weights are not all finite the header says so and every output is. AMX takes numbers
 * below 2^-126 for zero; an output is off by no more than K * 2^-126 * (max|x| + max|w|) for that.
 */
#include <immintrin.h>
#include <string.h>

#include "kernels/conv_f32/conv_f32.h"

enum {
    ROWS = 16,            /* positions in a tile */
    STEP = 32,            /* channels in a step */
    PART = 64,            /* bytes of one part of a position, of a row of any tile */
    POSITION = 3 * PART,  /* bytes of a position in one channel block */
    TILE = 1024,          /* bytes of a tile of weights */
    HALF = 3 * TILE,      /* bytes of a step of weights for 16 outputs */
    HEADER = 64,          /* of the packed weights; its first byte: not all are finite */
    PAIR = 32 * 32,       /* floats of C for two tiles and a panel */
    BLOCK_TILES = 32,     /* tiles of a block, at most */
    BLOCK_BYTES = 768000, /* of split pixels, where possible: they and a panel stay in a 2 MB L2 */
    CHUNK = 4,            /* steps: 24 KB of weights stay in a 48 KB L1 */
    GROUP_PANELS = 64,    /* where C of a whole group waits in scratch: 256 KB per pair of tiles */
};

typedef struct geometry {
    int64_t lines, wrap;  /* lines of positions; rows after which the next image begins */
    int64_t pw, halo;     /* positions in a row; how far behind a position its taps reach */
    int64_t ny, nx;       /* phases */
    int64_t valid, tiles; /* positions of a line up to its last output; tiles that cover them */
    int64_t blocks, pairs;
    int64_t cap;                /* positions a block holds, per phase and channel block */
    int64_t cblocks, at_a_time; /* channel blocks; those that fit into scratch */
    int64_t taps, steps, panels;
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static size_t round64(int64_t bytes) { return ((size_t)bytes + 63) & ~(size_t)63; }

/* 1 + the last phase that taps 0 .. k-1 of dilation d touch at stride s. */
static int64_t phases(int64_t k, int64_t d, int64_t s) {
    int64_t last = 0;
    for (int64_t i = 0; i < k && i < s; i++)
        if (i * d % s > last) last = i * d % s;
    return last + 1;
}

static geometry measure(const hn_conv_f32 *p) {
    geometry g = {0};
    bool flat = p->kh == 1; /* no row needs another: the line runs through the batch */
    int64_t rows = flat ? p->batch * p->oh : p->oh;
    int64_t down = (p->kh - 1) * p->dh / p->sh, right = (p->kw - 1) * p->dw / p->sw;
    g.lines = flat ? 1 : p->batch;
    g.wrap = flat ? p->oh : INT64_MAX;
    g.pw = p->ow + right;
    g.halo = down * g.pw + right;
    g.ny = phases(p->kh, p->dh, p->sh);
    g.nx = phases(p->kw, p->dw, p->sw);
    g.valid = (rows - 1) * g.pw + p->ow;
    g.tiles = ceil_div(g.valid, ROWS);
    g.cblocks = ceil_div(p->c, STEP);
    g.taps = p->kh * p->kw;
    g.steps = g.cblocks * g.taps;
    g.panels = ceil_div(p->n, 32);

    int64_t pairs = ceil_div(g.tiles, 2), most = BLOCK_TILES / 2;
    int64_t position = g.ny * g.nx * POSITION;
    while (most > 8 && (most * 2 * ROWS + g.halo) * position * g.cblocks > BLOCK_BYTES) most--;
    g.blocks = ceil_div(pairs, most);
    /* A number that 2, 4 and 8 threads can share. */
    int64_t even = g.blocks > 4 ? 8 : g.blocks > 2 ? 4 : g.blocks;
    g.blocks = min64(pairs, ceil_div(g.blocks, even) * even);
    g.pairs = ceil_div(pairs, g.blocks);
    g.cap = g.pairs * 2 * ROWS + g.halo;
    g.at_a_time = BLOCK_BYTES / (g.cap * position);
    g.at_a_time = g.at_a_time < 1 ? 1 : min64(g.cblocks, g.at_a_time);
    return g;
}

/* ---- lane scratch ------------------------------------------------------------------------------
 */

typedef struct lane_parts {
    char *a;          /* split pixels */
    float *c;         /* sums of the pairs of a block, for every panel of a group if they wait */
    int64_t *offset;  /* of the steps within a */
    uint8_t *marked;  /* [phase][position]: not finite */
    int64_t c_panels; /* panels for which c has room */
} lane_parts;

static size_t divide(const geometry *g, int64_t groups, char *base, lane_parts *l) {
    bool waits = g->at_a_time < g->cblocks;
    size_t a = round64(g->at_a_time * g->ny * g->nx * g->cap * POSITION);
    l->c_panels = waits ? ceil_div(g->panels, groups) : 1;
    size_t c = (size_t)(l->c_panels * g->pairs * PAIR) * sizeof(float);
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
    int64_t base = g->lines * g->blocks;
    int64_t least = g->at_a_time < g->cblocks ? ceil_div(g->panels, GROUP_PANELS) : 1;
    int64_t best = least;
    double best_cost = 0;
    for (int64_t n = least; n <= g->panels && n <= least * 4 * lanes; n++) {
        /* In units of one pair of tiles times one step of a panel: 24 TDP. Splitting a channel
         * block of a pair is about as much work as one of them. */
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
    lane_parts l;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {g.lines * g.blocks * groups},
                   .lane_scratch = divide(&g, groups, NULL, &l)};
}

/* ---- splitting pixels --------------------------------------------------------------------------
 */

/* Cuts 32 floats into three lines of 32 bf16; says in which lanes one is not finite. Cutting off
 * bits instead of rounding them cannot overflow, and what is cut off is exact. */
static inline __mmask16 split32(__m512 lo, __m512 hi, char *dst) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    for (int part = 0;; part++) {
        __m512i l = _mm512_castps_si512(lo), h = _mm512_castps_si512(hi);
        __m512i both = _mm512_ternarylogic_epi32(top, h, _mm512_srli_epi32(l, 16), 0xca);
        _mm512_store_si512(dst + part * PART, both);
        if (part == 2) break;
        lo = _mm512_sub_ps(lo, _mm512_castsi512_ps(_mm512_and_si512(l, top)));
        hi = _mm512_sub_ps(hi, _mm512_castsi512_ps(_mm512_and_si512(h, top)));
    }
    return _mm512_cmp_ps_mask(lo, hi, _CMP_UNORD_Q);
}

/* Positions [q0, q0 + count) of a line, channel blocks [cb0, cb1). `marked` is added to. */
static void split_pixels(const hn_conv_f32 *p, const geometry *g, const float *x, int64_t line,
                         int64_t q0, int64_t count, int64_t cb0, int64_t cb1, char *dst,
                         uint8_t *marked) {
    int64_t next = g->ny * g->nx * g->cap * POSITION; /* to the next channel block */
    int64_t whole = min64(cb1, p->c / STEP);
    int64_t left = min64(STEP, p->c - whole * STEP); /* channels of a block that is not whole */
    __mmask16 m0 = (__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1);
    __mmask16 m1 = (__mmask16)(left > 16 ? (1 << (left - 16)) - 1 : 0);
    for (int64_t phase = 0; phase < g->ny * g->nx; phase++) {
        int64_t row = q0 / g->pw, col = q0 % g->pw;
        int64_t image = line + row / g->wrap;
        row %= g->wrap;
        for (int64_t i = 0; i < count; i++) {
            int64_t iy = row * p->sh + phase / g->nx - p->pt;
            int64_t ix = col * p->sw + phase % g->nx - p->pl;
            char *d = dst + (phase * g->cap + i) * POSITION;
            if (iy >= 0 && iy < p->h && ix >= 0 && ix < p->w && image < p->batch) {
                const float *s = x + image * p->x_image + iy * p->x_row + ix * p->x_pixel;
                __mmask16 m = 0;
                int64_t cb = cb0;
                for (; cb < whole; cb++, d += next)
                    m |= split32(_mm512_loadu_ps(s + cb * STEP),
                                 _mm512_loadu_ps(s + cb * STEP + 16), d);
                if (cb < cb1)
                    m |= split32(_mm512_maskz_loadu_ps(m0, s + cb * STEP),
                                 m1 != 0 ? _mm512_maskz_loadu_ps(m1, s + cb * STEP + 16)
                                         : _mm512_setzero_ps(),
                                 d);
                if (m != 0) marked[phase * g->cap + i] = 1;
            } else {
                for (int64_t cb = cb0; cb < cb1; cb++, d += next)
                    for (int part = 0; part < 3; part++)
                        _mm512_store_si512(d + part * PART, _mm512_setzero_si512());
            }
            if (++col == g->pw) {
                col = 0;
                if (++row == g->wrap) row = 0, image++;
            }
        }
    }
}

/* ---- multiplying -------------------------------------------------------------------------------
 */

/* The compiler's own intrinsics do not say that they read memory (GCC 12), hence these. */
#define LOAD(tile, from, stride)                                                            \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(stride)) \
                     : "memory")
#define STREAM(tile, from, stride)                                                            \
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((int64_t)(stride)) \
                     : "memory")
#define STORE(tile, to, stride)                                                               \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) \
                     : "memory")
#define ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile ::)
#define MULTIPLY(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

static void configure_tiles(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.bytes[i] = 64, config.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
}

static void release_tiles(void) { __asm__ volatile("tilerelease" ::); }

/* C[rows*16][cols*16] (+)= A * W over a chunk of steps; tiles 0-3: C, 4-5: A, 6-7: W. */
static inline __attribute__((always_inline)) void multiply(const int rows, const int cols,
                                                           const char *a, const int64_t *offset,
                                                           const char *w, int64_t steps, float *c,
                                                           bool first) {
    enum { PITCH = 32 * sizeof(float) };
    if (first) {
        ZERO(0);
        if (cols == 2) ZERO(1);
        if (rows == 2) ZERO(2);
        if (rows == 2 && cols == 2) ZERO(3);
    } else {
        LOAD(0, c, PITCH);
        if (cols == 2) LOAD(1, c + 16, PITCH);
        if (rows == 2) LOAD(2, c + 16 * 32, PITCH);
        if (rows == 2 && cols == 2) LOAD(3, c + 16 * 32 + 16, PITCH);
    }
    for (int64_t s = 0; s < steps; s++, w += cols * HALF) {
        const char *a0 = a + offset[s], *a1 = a0 + ROWS * POSITION;
        const char *w0 = w, *w1 = w + HALF;
        /* x1*w3 */
        STREAM(4, a0, POSITION);
        LOAD(6, w0 + 2 * TILE, PART);
        MULTIPLY(0, 4, 6);
        if (cols == 2) LOAD(7, w1 + 2 * TILE, PART);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2) STREAM(5, a1, POSITION);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
        /* x1*w2 */
        LOAD(6, w0 + TILE, PART);
        MULTIPLY(0, 4, 6);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (cols == 2) LOAD(7, w1 + TILE, PART);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
        /* x2*w2 */
        STREAM(4, a0 + PART, POSITION);
        MULTIPLY(0, 4, 6);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2) STREAM(5, a1 + PART, POSITION);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
        /* x2*w1 */
        LOAD(6, w0, PART);
        MULTIPLY(0, 4, 6);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (cols == 2) LOAD(7, w1, PART);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
        /* x1*w1 */
        STREAM(4, a0, POSITION);
        MULTIPLY(0, 4, 6);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2) STREAM(5, a1, POSITION);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
        /* x3*w1 */
        STREAM(4, a0 + 2 * PART, POSITION);
        MULTIPLY(0, 4, 6);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2) STREAM(5, a1 + 2 * PART, POSITION);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
    }
    STORE(0, c, PITCH);
    if (cols == 2) STORE(1, c + 16, PITCH);
    if (rows == 2) STORE(2, c + 16 * 32, PITCH);
    if (rows == 2 && cols == 2) STORE(3, c + 16 * 32 + 16, PITCH);
}

static __attribute__((noinline)) void multiply22(const char *a, const int64_t *offset,
                                                 const char *w, int64_t steps, float *c,
                                                 bool first) {
    multiply(2, 2, a, offset, w, steps, c, first);
}

static __attribute__((noinline)) void multiply_small(int rows, int cols, const char *a,
                                                     const int64_t *offset, const char *w,
                                                     int64_t steps, float *c, bool first) {
    if (rows == 2)
        multiply(2, 1, a, offset, w, steps, c, first);
    else if (cols == 2)
        multiply(1, 2, a, offset, w, steps, c, first);
    else
        multiply(1, 1, a, offset, w, steps, c, first);
}

/* ---- what AMX cannot compute -------------------------------------------------------------------
 */

/* Two rows of pairs from three parts: w1 + w2 + w3, exactly. */
static inline __m512 even_of(const char *w) {
    __m512 s = _mm512_setzero_ps();
    for (int part = 2; part >= 0; part--)
        s = _mm512_add_ps(
            s, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_load_si512(w + part * TILE), 16)));
    return s;
}

static inline __m512 odd_of(const char *w) {
    __m512 s = _mm512_setzero_ps();
    for (int part = 2; part >= 0; part--)
        s = _mm512_add_ps(
            s, _mm512_castsi512_ps(_mm512_and_si512(_mm512_load_si512(w + part * TILE),
                                                    _mm512_set1_epi32((int)0xffff0000))));
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
        int64_t left = min64(STEP, p->c - cb * STEP);
        for (int half = 0; half < halves; half++) {
            const char *pw = w + (s * halves + half) * HALF;
            for (int64_t i = 0; i < left; i++) {
                __m512 v = i < 16 ? even_of(pw + i * PART) : odd_of(pw + (i - 16) * PART);
                sum[half] = _mm512_fmadd_ps(_mm512_set1_ps(px[i]), v, sum[half]);
            }
        }
    }
    _mm512_storeu_ps(c, sum[0]);
    _mm512_storeu_ps(c + 16, sum[1]);
}

/* ---- a task ------------------------------------------------------------------------------------
 */

typedef struct task {
    const hn_conv_f32 *p;
    const geometry *g;
    const float *x, *bias, *r;
    const char *w; /* packed, behind the header */
    float *y;
    int64_t line, q0; /* the first position of the block */
    int64_t pairs, tiles;
    bool marked; /* some position of the block is */
    bool all_marked;
    lane_parts l;
} task;

static inline __m512 activate(const hn_act *act, __m512 v) {
    const __m512 a = _mm512_set1_ps(act->a), b = _mm512_set1_ps(act->b);
    if (act->kind == HN_ACT_CLIP) return _mm512_min_ps(b, _mm512_max_ps(a, v));
    if (act->kind == HN_ACT_LEAKY)
        return _mm512_mask_mul_ps(v, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ), v, a);
    return v;
}

/* Sums of a pair of tiles become outputs. */
static void finish(const task *t, int64_t pair, int64_t panel, const float *c) {
    const hn_conv_f32 *p = t->p;
    const geometry *g = t->g;
    int64_t n0 = panel * 32, left = p->n - n0;
    __mmask16 m0 = (__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1);
    __mmask16 m1 = (__mmask16)(left >= 32 ? 0xffff : left > 16 ? (1 << (left - 16)) - 1 : 0);
    __m512 b0 = _mm512_setzero_ps(), b1 = b0;
    if (t->bias != NULL) {
        b0 = _mm512_maskz_loadu_ps(m0, t->bias + n0);
        if (m1 != 0) b1 = _mm512_maskz_loadu_ps(m1, t->bias + n0 + 16);
    }
    int64_t q = t->q0 + pair * 2 * ROWS;
    int64_t count = min64(2 * ROWS, g->valid - q);
    int64_t col = q % g->pw, row = q / g->pw;
    int64_t image = t->line + row / g->wrap;
    row %= g->wrap;
    for (int64_t i = 0; i < count; i++, c += 32) {
        if (col < p->ow) {
            float *y = t->y + image * p->y_image + row * p->y_row + col * p->y_pixel + n0;
            __m512 v0 = _mm512_add_ps(_mm512_load_ps(c), b0);
            __m512 v1 = _mm512_add_ps(_mm512_load_ps(c + 16), b1);
            if (t->r != NULL) {
                const float *r = t->r + image * p->r_image + row * p->r_row + col * p->r_pixel + n0;
                v0 = _mm512_add_ps(v0, _mm512_maskz_loadu_ps(m0, r));
                if (m1 != 0) v1 = _mm512_add_ps(v1, _mm512_maskz_loadu_ps(m1, r + 16));
            }
            _mm512_mask_storeu_ps(y, m0, activate(&p->act, v0));
            if (m1 != 0) _mm512_mask_storeu_ps(y + 16, m1, activate(&p->act, v1));
        }
        if (++col == g->pw) {
            col = 0;
            if (++row == g->wrap) row = 0, image++;
        }
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
    int64_t n0 = panel * 32;
    int halves = t->p->n - n0 > 16 ? 2 : 1;
    const char *w = t->w + panel * g->steps * 2 * HALF;
    for (int64_t i = 0; i < 2 * ROWS; i++) {
        int64_t at = pair * 2 * ROWS + i, q = t->q0 + at;
        if (q >= g->valid || q % g->pw >= t->p->ow) continue;
        if (t->all_marked || window_marked(t, at))
            sum_plainly(t->p, g, t->x, t->line, q, w, halves, c + i * 32);
    }
}

/* Panels [n0, n1) of the block over the steps of channel blocks [cb0, cb1). */
static void multiply_block(const task *t, int64_t n0, int64_t n1, int64_t cb0, int64_t cb1) {
    const geometry *g = t->g;
    int64_t s0 = cb0 * g->taps, s1 = cb1 * g->taps;
    int64_t chunks = ceil_div(s1 - s0, CHUNK);
    bool waits = s0 > 0 || s1 < g->steps;
    for (int64_t n = n0; n < n1; n++) {
        const int cols = t->p->n - n * 32 > 16 ? 2 : 1;
        const char *w = t->w + n * g->steps * 2 * HALF;
        float *c0 = t->l.c + (waits ? (n - n0) * g->pairs * PAIR : 0);
        for (int64_t k = 0; k < chunks; k++) {
            int64_t begin = s0 + (s1 - s0) * k / chunks, end = s0 + (s1 - s0) * (k + 1) / chunks;
            for (int64_t i = 0; i < t->pairs; i++) {
                const char *a = t->l.a + i * 2 * ROWS * POSITION;
                float *c = c0 + (chunks > 1 || waits ? i * PAIR : 0);
                int rows = 2 * i + 1 < t->tiles ? 2 : 1;
                if (rows + cols == 4)
                    multiply22(a, t->l.offset + begin, w + begin * 2 * HALF, end - begin, c,
                               begin == 0);
                else
                    multiply_small(rows, cols, a, t->l.offset + begin, w + begin * cols * HALF,
                                   end - begin, c, begin == 0);
                if (end < g->steps) continue;
                if (t->marked) repair(t, i, n, c);
                finish(t, i, n, c);
            }
        }
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
    task t = {.p = p,
              .g = &g,
              .x = call->ptr[HN_CONV_X],
              .bias = call->ptr[HN_CONV_BIAS],
              .r = call->ptr[HN_CONV_R],
              .w = packed + HEADER,
              .y = call->ptr[HN_CONV_Y],
              .all_marked = packed[0] != 0};
    divide(&g, groups, lane, &t.l);
    fill_offsets(p, &g, t.l.offset);
    configure_tiles();
    int64_t split = -1; /* the block whose pixels are in scratch, all channels of it */
    int64_t all_pairs = ceil_div(g.tiles, 2), marks = g.ny * g.nx * g.cap;
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i % groups, block = i / groups;
        int64_t n0 = g.panels * group / groups, n1 = g.panels * (group + 1) / groups;
        int64_t pair0 = all_pairs * (block % g.blocks) / g.blocks;
        t.line = block / g.blocks;
        t.q0 = pair0 * 2 * ROWS;
        t.pairs = all_pairs * (block % g.blocks + 1) / g.blocks - pair0;
        t.tiles = min64(2 * t.pairs, g.tiles - 2 * pair0);
        int64_t positions = t.tiles * ROWS + g.halo;
        for (int64_t cb0 = 0; cb0 < g.cblocks; cb0 += g.at_a_time) {
            int64_t cb1 = min64(g.cblocks, cb0 + g.at_a_time);
            if (split != block) {
                if (cb0 == 0) memset(t.l.marked, 0, (size_t)marks);
                split_pixels(p, &g, t.x, t.line, t.q0, positions, cb0, cb1, t.l.a, t.l.marked);
                if (cb1 == g.cblocks)
                    t.marked = t.all_marked || memchr(t.l.marked, 1, (size_t)marks) != NULL;
                if (g.at_a_time == g.cblocks) split = block;
            }
            multiply_block(&t, n0, n1, cb0, cb1);
        }
    }
    release_tiles();
}

/* ---- packing -----------------------------------------------------------------------------------
 */

static size_t packed_bytes(const void *problem) {
    const hn_conv_f32 *p = problem;
    return HEADER + (size_t)(ceil_div(p->c, STEP) * p->kh * p->kw * ceil_div(p->n, 16)) * HALF;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_f32 *p = problem;
    const int64_t of[] = {p->c, p->n, p->kh, p->kw, p->w_o, p->w_i, p->w_y, p->w_x};
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) h = (h ^ (uint64_t)of[i]) * 0x100000001b3u;
    return h;
}

/* The nearest bf16, as the upper half of a float; the one towards zero where the nearest is inf. */
static inline __m512i nearest(__m512i v) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000), inf = _mm512_set1_epi32(0x7f800000);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(v, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(v, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __mmask16 over = _mm512_cmpeq_epi32_mask(_mm512_and_si512(up, inf), inf);
    return _mm512_and_si512(_mm512_mask_mov_epi32(up, over, v), top);
}

/* 16 outputs of two channels into a row of each part; says in which lanes one is not finite. Inf
 * and NaN are their own first part, and nothing is left of them for the others. */
static __mmask16 pack_row(__m512 even, __m512 odd, char *dst) {
    enum { NOT_FINITE = 0x99 };
    const __m512i quiet = _mm512_set1_epi32(0x400000);
    __mmask16 not_e = _mm512_fpclass_ps_mask(even, NOT_FINITE);
    __mmask16 not_o = _mm512_fpclass_ps_mask(odd, NOT_FINITE);
    for (int part = 0; part < 3; part++) {
        __mmask16 nan_e = _mm512_cmp_ps_mask(even, even, _CMP_UNORD_Q);
        __mmask16 nan_o = _mm512_cmp_ps_mask(odd, odd, _CMP_UNORD_Q);
        __m512i e = nearest(_mm512_castps_si512(even)), o = nearest(_mm512_castps_si512(odd));
        e = _mm512_mask_or_epi32(e, nan_e, e, quiet);
        o = _mm512_mask_or_epi32(o, nan_o, o, quiet);
        _mm512_store_si512(dst + part * TILE, _mm512_or_si512(o, _mm512_srli_epi32(e, 16)));
        even = _mm512_maskz_sub_ps(_knot_mask16(not_e), even, _mm512_castsi512_ps(e));
        odd = _mm512_maskz_sub_ps(_knot_mask16(not_o), odd, _mm512_castsi512_ps(o));
    }
    return not_e | not_o;
}

static __m512 load_weights(const float *w, int64_t stride, __mmask16 m) {
    if (stride == 1) return _mm512_maskz_loadu_ps(m, w);
    const __m512i eight = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    __m512i at = _mm512_mullo_epi64(eight, _mm512_set1_epi64(stride));
    __m256 zero = _mm256_setzero_ps();
    __m256 lo = _mm512_mask_i64gather_ps(zero, (__mmask8)m, at, w, 4);
    __m256 hi = zero;
    if (m >> 8) hi = _mm512_mask_i64gather_ps(zero, (__mmask8)(m >> 8), at, w + 8 * stride, 4);
    return _mm512_insertf32x8(_mm512_castps256_ps512(lo), hi, 1);
}

static void pack(const void *problem, const void *plain, void *dst) {
    const hn_conv_f32 *p = problem;
    const float *w = plain;
    char *to = (char *)dst + HEADER;
    __mmask16 broken = 0;
    for (int64_t panel = 0; panel < p->n; panel += 32)
        for (int64_t cb = 0; cb < p->c; cb += STEP)
            for (int64_t tap = 0; tap < p->kh * p->kw; tap++)
                for (int64_t n = panel; n < p->n && n < panel + 32; n += 16, to += HALF) {
                    __mmask16 m = (__mmask16)(p->n - n >= 16 ? 0xffff : (1 << (p->n - n)) - 1);
                    const float *from =
                        w + n * p->w_o + tap / p->kw * p->w_y + tap % p->kw * p->w_x;
                    for (int64_t i = 0; i < 16; i++) {
                        int64_t c0 = cb + i, c1 = cb + i + 16;
                        __m512 zero = _mm512_setzero_ps();
                        __m512 even =
                            c0 < p->c ? load_weights(from + c0 * p->w_i, p->w_o, m) : zero;
                        __m512 odd = c1 < p->c ? load_weights(from + c1 * p->w_i, p->w_o, m) : zero;
                        broken |= pack_row(even, odd, to + i * PART);
                    }
                }
    memset(dst, 0, HEADER);
    *(char *)dst = broken != 0;
}

static bool ok(const void *problem, const char **why) {
    const hn_conv_f32 *p = problem;
    if (p->groups != 1) return *why = "groups", false;
    if (p->x_channel != 1) return *why = "the input is planar", false;
    if (p->act.kind > HN_ACT_LEAKY) return *why = "the activation", false;
    /* Tiles are full or they do not pay. */
    geometry g = measure(p);
    double useful = (double)(p->batch * p->oh * p->ow) * (double)(p->n * p->c);
    double computed = (double)(g.lines * g.tiles * ROWS) * (double)(ceil_div(p->n, 16) * 16) *
                      (double)(g.cblocks * STEP);
    if (useful < 0.55 * computed) return *why = "too small for tiles", false;
    if (p->n < 24 || p->c < 24) return *why = "splitting would take longer than multiplying", false;
    return true;
}

const hn_kernel hn_conv_f32_amx = {
    .name = "amx6",
    .isa = HN_ISA_AMX,
    .order = "channel blocks of 32, taps; six products",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = packed_bytes,
    .pack_key = pack_key,
    .pack = pack,
};
