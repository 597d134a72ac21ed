/* conv_q8 by AMX: tiles of 16 pixels by 64 bytes times tiles of 64 bytes by 16 outputs.
 *
 * A block of 32 pixels by 32 outputs is four tiles of sums, and a step of 64 products deep takes
 * four tile loads and four multiplications. Sums begin with the start of their output (see
 * conv_q8_parts.h), one line that a tile load of stride 0 repeats. Where rows of a left tile come
 * from:
 *
 *   direct  1x1 over pixels that follow each other at one distance, whole steps of channels: from x
 *           itself.
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
 *   windows anything else, a first layer of three channels above all: the window of every position
 *           is copied into scratch, one after the other.
 *
 * Weights are packed as sums of w' [n rounded up to 32], then [panel of 32][step][half][16][16][4].
 * The last panel has one half if 16 outputs or fewer are left.
 *
 * A panel of weights meets all positions of a block, from L2 to L1 by a load that leaves L1 to the
 * weights (tileloaddt1). Meanwhile the sums of the block before become outputs, some after every
 * step: rounding and multiplying run in units of the core that tiles leave idle. And weights that
 * come two panels later are fetched into L2.
 */
#include <string.h>

#include "simd/avx512.h"

#include "kernels/conv_q8/conv_q8_parts.h"

enum {
    ROWS = 16,               /* positions in a tile */
    PAIR = 2 * ROWS,         /* positions in a block of sums */
    STEP = 64,               /* products in a step: bytes of a row of any left tile */
    TILE = 1024,             /* bytes */
    PANEL = 32,              /* outputs */
    UNITS = PAIR / 2,        /* pairs of rows of a block of sums, finished together */
    SMALL_IMAGE = 4 * ROWS,  /* positions */
    BLOCK_BYTES = 600 << 10, /* of copied pixels: they stay in a 2 MB L2 */
    AHEAD = 24,              /* steps between the weights in use and those being fetched */
    MANY_PAIRS = 16,         /* so that weights need not stay for all of them */
    LEAST_PIXELS = 9,        /* for fewer, rows without tiles are as fast */
};

typedef enum source { DIRECT, LINES, WINDOWS } source;

typedef struct geometry {
    source source;
    int64_t lines, wrap;  /* lines of positions; rows of an image on its line, halo and all */
    int64_t pw, halo;     /* positions in a row; how far behind a position its taps reach */
    int64_t phases;       /* of rows */
    int64_t valid, pairs; /* positions of a line up to its last output; pairs of tiles for them */
    int64_t blocks, cap;  /* of a line; positions a block holds, its halo included */
    int64_t stride;       /* bytes between rows of a left tile */
    int64_t plane;        /* lines: bytes between phases */
    int64_t steps, panels;
    int64_t scratch; /* bytes of copied pixels */
} geometry;

/* Whether output pixels, in order, read input pixels at one distance. */
static bool is_dense(const hn_conv_q8 *p) {
    bool one_row = p->oh == 1, one_image = p->batch == 1;
    return p->kh == 1 && p->kw == 1 && p->pt == 0 && p->pl == 0 && p->sw == 1 && p->ow <= p->w &&
           (p->oh - 1) * p->sh < p->h &&
           (one_row || (p->sh == 1 && p->x_row == p->ow * p->x_pixel)) &&
           (one_image || p->x_image == p->oh * p->ow * p->x_pixel);
}

static source source_of(const hn_conv_q8 *p) {
    int64_t taps = p->kh * p->kw;
    if (p->c % STEP == 0 && is_dense(p)) return DIRECT;
    int64_t by_lines = hn_q8_ceil(p->c, STEP) * taps, whole = hn_q8_ceil(p->c * taps, STEP);
    return taps > 1 && by_lines * 3 <= whole * 4 ? LINES : WINDOWS;
}

/* 1 + the last phase that taps 0 .. k-1 of dilation d touch at stride s. */
static int64_t phases_of(int64_t k, int64_t d, int64_t s) {
    int64_t last = 0;
    for (int64_t i = 0; i < k && i < s; i++) last = hn_q8_max(last, i * d % s);
    return last + 1;
}

static geometry measure(const hn_conv_q8 *p) {
    geometry g = {.source = source_of(p), .lines = 1, .pw = p->ow, .wrap = p->oh, .phases = 1};
    int64_t taps = p->kh * p->kw, rows = p->batch * p->oh, position;
    g.panels = hn_q8_ceil(p->n, PANEL);
    g.steps = hn_q8_ceil(p->c * taps, STEP);
    g.stride = g.source == DIRECT ? p->x_pixel : g.steps * STEP;
    position = g.source == DIRECT ? 0 : g.stride;
    if (g.source == LINES) {
        int64_t down = (p->kh - 1) * p->dh / p->sh, right = (p->kw - 1) * p->dw;
        g.pw = p->ow + hn_q8_max(0, hn_q8_ceil(right + 1 - p->sw, p->sw));
        /* One line through the batch where images are small: else each would read all weights. */
        bool one = p->oh * g.pw <= SMALL_IMAGE;
        g.lines = one ? 1 : p->batch;
        g.wrap = p->oh + down;
        rows = (one ? p->batch - 1 : 0) * g.wrap + p->oh;
        g.halo = down * g.pw + hn_q8_ceil(right, p->sw);
        g.phases = phases_of(p->kh, p->dh, p->sh);
        g.steps = hn_q8_ceil(p->c, STEP) * taps;
        g.stride = p->sw * STEP;
        position = hn_q8_ceil(p->c, STEP) * g.phases * g.stride;
    }
    g.valid = (rows - 1) * g.pw + p->ow;
    g.pairs = hn_q8_ceil(g.valid, PAIR);
    int64_t most = position == 0 ? g.pairs : BLOCK_BYTES / (position * PAIR);
    g.blocks = hn_q8_ceil(g.pairs, hn_q8_max(2, most - hn_q8_ceil(g.halo, PAIR)));
    if (g.pairs >= MANY_PAIRS) {
        /* A number that 2, 4 and 8 threads can share. */
        int64_t even = g.blocks > 4 ? 8 : g.blocks > 2 ? 4 : 2;
        g.blocks = hn_q8_ceil(g.blocks, even) * even;
    }
    g.cap = hn_q8_ceil(g.pairs, g.blocks) * PAIR + g.halo;
    g.plane = g.cap * g.stride;
    /* A direct pair that is not full is copied. Windows end in a store that may be too long. */
    g.scratch = g.source == DIRECT ? g.steps * STEP * PAIR : g.cap * position + STEP;
    return g;
}

typedef struct place {
    int64_t y, r; /* elements; y < 0: no output, and r is 0 */
    int32_t window_sum;
} place;

typedef struct lane_parts {
    int32_t *c;      /* [32][32] sums */
    place *places;   /* of the positions of the block */
    int64_t *offset; /* of the steps, from the first tap of a position */
    uint8_t *a;      /* copied pixels */
} lane_parts;

static size_t divide(const geometry *g, char *base, lane_parts *l) {
    size_t c = PAIR * PANEL * sizeof(int32_t);
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

/* Groups of panels: enough that all lanes have work, few enough that copying the pixels anew for
 * each is little beside multiplying them. */
static int64_t choose_groups(const hn_conv_q8 *p, const geometry *g, int lanes) {
    /* In cycles of a pair of tiles: 64 for a step, some 3 to copy 64 bytes of a position. */
    double copy = g->source == DIRECT  ? 0
                  : g->source == LINES ? 3.0 * PAIR * (double)(g->steps / (p->kh * p->kw))
                                       : 3.0 * PAIR * (double)g->steps;
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

/* Positions [q0, q0 + count) of a line into l->a. */
static void copy_lines(const hn_q8_args *a, const geometry *g, uint8_t *to, int64_t line,
                       int64_t q0, int64_t count) {
    const hn_conv_q8 *p = a->p;
    const __m512i padding = _mm512_set1_epi8((char)a->xz);
    int64_t blocks = hn_q8_ceil(p->c, STEP), next = g->phases * g->plane, width = g->pw * p->sw;
    __mmask64 last = first64(p->c - (blocks - 1) * STEP);
    for (int64_t phase = 0; phase < g->phases; phase++, to += g->plane) {
        int64_t col = q0 % g->pw * p->sw, row = q0 / g->pw % g->wrap;
        int64_t image = line + q0 / g->pw / g->wrap;
        uint8_t *dst = to;
        for (int64_t left = count * p->sw; left > 0;) {
            int64_t iy = row * p->sh + phase - p->pt, run = hn_q8_min(left, width - col);
            bool inside = iy >= 0 && iy < p->h && image < p->batch;
            const uint8_t *from = a->x + image * p->x_image + iy * p->x_row;
            for (int64_t i = 0; i < run; i++, dst += STEP) {
                int64_t ix = col + i - p->pl;
                uint8_t *d = dst;
                if (inside && ix >= 0 && ix < p->w) {
                    const uint8_t *x = from + ix * p->x_pixel;
                    for (int64_t b = 0; b + 1 < blocks; b++, d += next, x += STEP)
                        _mm512_store_si512(d, _mm512_loadu_si512(x));
                    _mm512_store_si512(d, _mm512_maskz_loadu_epi8(last, x));
                } else {
                    for (int64_t b = 0; b < blocks; b++, d += next) _mm512_store_si512(d, padding);
                }
            }
            left -= run, col = 0;
            if (++row == g->wrap) row = 0, image++;
        }
    }
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

static void copy_windows(const hn_q8_args *a, uint8_t *to, int64_t pitch, int64_t q0,
                         int64_t count) {
    const hn_conv_q8 *p = a->p;
    int64_t ox = q0 % p->ow, oy = q0 / p->ow % p->oh, image = q0 / p->ow / p->oh;
    bool adjacent = p->dw == 1 && p->x_pixel == p->c;
    for (int64_t q = 0; q < count; q++, to += pitch) {
        uint8_t *d = to;
        int64_t x0 = ox * p->sw - p->pl, y0 = oy * p->sh - p->pt;
        bool whole = adjacent && x0 >= 0 && x0 + p->kw <= p->w;
        const uint8_t *from = a->x + image * p->x_image + y0 * p->x_row + x0 * p->x_pixel;
        for (int64_t ky = 0; ky < p->kh; ky++, from += p->dh * p->x_row) {
            int64_t iy = y0 + ky * p->dh;
            bool inside = iy >= 0 && iy < p->h;
            if (inside && whole) {
                d = copy_some(d, from, p->kw * p->c);
                continue;
            }
            for (int64_t kx = 0; kx < p->kw; kx++) {
                int64_t ix = x0 + kx * p->dw;
                if (inside && ix >= 0 && ix < p->w) {
                    d = copy_some(d, from + kx * p->dw * p->x_pixel, p->c);
                } else {
                    memset(d, a->xz, (size_t)p->c);
                    d += p->c;
                }
            }
        }
        if (++ox == p->ow) {
            ox = 0;
            if (++oy == p->oh) oy = 0, image++;
        }
    }
}

static void fill_offsets(const hn_conv_q8 *p, const geometry *g, int64_t *offset) {
    if (g->source != LINES) {
        for (int64_t s = 0; s < g->steps; s++) offset[s] = s * STEP;
        return;
    }
    for (int64_t cb = 0; cb * STEP < p->c; cb++)
        for (int64_t ky = 0; ky < p->kh; ky++)
            for (int64_t kx = 0; kx < p->kw; kx++) {
                int64_t dy = ky * p->dh;
                *offset++ = (cb * g->phases + dy % p->sh) * g->plane +
                            dy / p->sh * g->pw * g->stride + kx * p->dw * STEP;
            }
}

/* ---- sums become outputs ---- */

/* What the outputs of a panel need. */
typedef struct panel {
    _Alignas(64) int32_t start[PANEL];
    _Alignas(64) float scale[PANEL];
    _Alignas(64) float fbias[PANEL];
    int64_t n0, n;
    bool fast; /* whole vectors may do it: no zero points of weights, nothing leaves s32 */
} panel;

/* A block of sums that waits. */
typedef struct waiting {
    const hn_q8_args *a;
    const int32_t *c;
    const panel *panel;
    const place *at;
    int next; /* the unit to finish; UNITS: none */
} waiting;

static void begin_panel(panel *f, const hn_q8_args *a, const int32_t *w_sums, int64_t n0) {
    const hn_conv_q8 *p = a->p;
    memset(f, 0, sizeof *f);
    f->n0 = n0, f->n = hn_q8_min(PANEL, p->n - n0);
    hn_q8_begin(a, w_sums + n0, 0, n0, f->n, f->start, f->scale);
    if (a->fbias != NULL) memcpy(f->fbias, a->fbias + n0, (size_t)f->n * sizeof *f->fbias);
    f->fast = !p->w_zero_points && p->y != HN_Q8_S32;
    if (p->y == HN_Q8_U8 || p->y == HN_Q8_S8) {
        f->fast = f->fast && p->mr * 512 < 0x1p29F && p->mr * 512 > -0x1p29F;
        for (int i = 0; i < PANEL; i++)
            f->fast = f->fast && f->scale[i] <= 0.5F && f->scale[i] >= -0.5F;
    }
}

/* What is the same for all rows of bytes. */
typedef struct bytes_of {
    __m512 scale[2], mr;
    __m512i rz, yz, lo, hi;
    __mmask16 mask[2];
    const uint8_t *r;
    uint8_t *y;
    bool r_signed;
} bytes_of;

HN_INLINE __m512i requantize(const bytes_of *of, const int32_t *c, const place *at, int half,
                             bool residual) {
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(c + half * 16)), of->scale[half]);
    if (residual) {
        __m128i bytes = _mm_maskz_loadu_epi8(of->mask[half], of->r + at->r + half * 16);
        __m512i r = of->r_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        r = _mm512_sub_epi32(r, of->rz);
        v = _mm512_add_ps(v, _mm512_mul_ps(_mm512_cvtepi32_ps(r), of->mr));
    }
    return _mm512_cvtps_epi32(v);
}

HN_INLINE void store_row(const bytes_of *of, const place *at, int64_t n, __m256i v) {
    if (at->y < 0) return;
    if (n == PANEL)
        _mm256_storeu_si256((__m256i *)(of->y + at->y), v);
    else
        _mm256_mask_storeu_epi8(of->y + at->y, (__mmask32)first64(n), v);
}

/* Units up to `end` of bytes, two rows each: 16 bits saturate where 8 bits with their zero point do
 * anyway. */
HN_INLINE void finish_bytes(waiting *f, int end, bool is_signed, bool residual) {
    const hn_conv_q8 *p = f->a->p;
    const panel *own = f->panel;
    const int64_t n = own->n;
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const bytes_of of = {.scale = {_mm512_load_ps(own->scale), _mm512_load_ps(own->scale + 16)},
                         .mr = _mm512_set1_ps(p->mr),
                         .rz = _mm512_set1_epi32(p->rz),
                         .yz = _mm512_set1_epi16((short)p->yz),
                         .lo = _mm512_set1_epi8((char)p->lo),
                         .hi = _mm512_set1_epi8((char)p->hi),
                         .mask = {(__mmask16)first64(n), (__mmask16)(first64(n) >> 16)},
                         .r = residual ? (const uint8_t *)f->a->r + own->n0 : NULL,
                         .y = (uint8_t *)f->a->y + own->n0,
                         .r_signed = p->r_type == HN_Q8_S8};
    const int32_t *c = f->c + f->next * 2 * PANEL;
    const place *at = f->at + f->next * 2;
    for (int unit = f->next; unit < end; unit++, c += 2 * PANEL, at += 2) {
        __m512i top = _mm512_packs_epi32(requantize(&of, c, at, 0, residual),
                                         requantize(&of, c, at, 1, residual));
        __m512i bottom = _mm512_packs_epi32(requantize(&of, c + PANEL, at + 1, 0, residual),
                                            requantize(&of, c + PANEL, at + 1, 1, residual));
        top = _mm512_adds_epi16(top, of.yz), bottom = _mm512_adds_epi16(bottom, of.yz);
        __m512i both =
            is_signed ? _mm512_packs_epi16(top, bottom) : _mm512_packus_epi16(top, bottom);
        both = is_signed ? _mm512_min_epi8(_mm512_max_epi8(both, of.lo), of.hi)
                         : _mm512_min_epu8(_mm512_max_epu8(both, of.lo), of.hi);
        both = _mm512_permutexvar_epi32(order, both);
        store_row(&of, at, n, _mm512_castsi512_si256(both));
        store_row(&of, at + 1, n, _mm512_extracti64x4_epi64(both, 1));
    }
    f->next = end;
}

HN_INLINE void finish_floats(const waiting *f, int row, hn_act_kind kind) {
    if (f->at[row].y < 0) return;
    const hn_act *act = &f->a->p->act;
    const panel *of = f->panel;
    __m512 act_a = _mm512_set1_ps(act->a), act_b = _mm512_set1_ps(act->b);
    float *y = (float *)f->a->y + f->at[row].y + of->n0;
    for (int i = 0; i < of->n; i += 16) {
        __mmask16 m = hn_v_first_(hn_q8_min(16, of->n - i));
        __m512i acc = _mm512_load_si512(f->c + row * PANEL + i);
        __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), _mm512_load_ps(of->scale + i));
        if (f->a->fbias != NULL) v = _mm512_add_ps(v, _mm512_load_ps(of->fbias + i));
        if (f->a->r != NULL) {
            const float *r = (const float *)f->a->r + f->at[row].r + of->n0;
            v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(m, r + i));
        }
        _mm512_mask_storeu_ps(y + i, m, hn_v_act(v, kind, act_a, act_b));
    }
}

static void finish_slowly(const waiting *f, int row) {
    const panel *of = f->panel;
    const place *at = &f->at[row];
    if (at->y >= 0)
        hn_q8_finish(f->a, f->c + row * PANEL, of->scale, of->n0, of->n, at->window_sum,
                     at->y + of->n0, at->r + of->n0);
}

/* Some units more of what waits. */
static __attribute__((noinline)) void finish_some(waiting *f, int units) {
    const hn_conv_q8 *p = f->a->p;
    int end = f->next + units < UNITS ? f->next + units : UNITS;
    bool residual = f->a->r != NULL;
    if (f->panel->fast && p->y == HN_Q8_U8 && !residual)
        finish_bytes(f, end, false, false);
    else if (f->panel->fast && p->y == HN_Q8_U8)
        finish_bytes(f, end, false, true);
    else if (f->panel->fast && p->y == HN_Q8_S8 && !residual)
        finish_bytes(f, end, true, false);
    else if (f->panel->fast && p->y == HN_Q8_S8)
        finish_bytes(f, end, true, true);
    for (; f->next < end; f->next++) {
        int row = 2 * f->next;
        if (!f->panel->fast)
            finish_slowly(f, row), finish_slowly(f, row + 1);
        else
            switch (p->act.kind) {
#define HN_X(name, formula)                       \
    case HN_ACT_##name:                           \
        finish_floats(f, row, HN_ACT_##name);     \
        finish_floats(f, row + 1, HN_ACT_##name); \
        break;
                HN_ACT_LIST(HN_X)
#undef HN_X
                case HN_ACT_COUNT_: break;
            }
    }
}

/* ---- tiles ---- */

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
#define MULTIPLY(c, a, b)                                                      \
    do {                                                                       \
        if (is_signed)                                                         \
            __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::); \
        else                                                                   \
            __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::); \
    } while (0)

static void configure_tiles(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) config.bytes[i] = 64, config.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
}

/* What is done beside the products, at every step. */
typedef struct beside {
    waiting *before;
    int units;       /* of it to finish */
    uintptr_t fetch; /* weights to fetch into L2, */
    int64_t lines;   /* this many cache lines */
} beside;

typedef struct product {
    const uint8_t *a;
    int64_t stride;
    const int64_t *offset;
    const uint8_t *w;
    int64_t steps;
    const int32_t *start;
    int32_t *c;
} product;

/* C[rows*16][cols*16] = start + A * W; tiles 0-3: C, 4-5: A, 6-7: W. */
HN_INLINE void multiply(const int rows, const int cols, const bool is_signed, const product *t,
                        beside *aside) {
    enum { PITCH = PANEL * sizeof(int32_t) };
    const uint8_t *w = t->w;
    const int64_t stride = t->stride, below = ROWS * stride;
    LOAD(0, t->start, 0);
    if (cols == 2) LOAD(1, t->start + 16, 0);
    if (rows == 2) LOAD(2, t->start, 0);
    if (rows == 2 && cols == 2) LOAD(3, t->start + 16, 0);
    for (int64_t s = 0; s < t->steps; s++, w += cols * TILE) {
        const uint8_t *a = t->a + t->offset[s];
        STREAM(4, a, stride);
        LOAD(6, w, 64);
        MULTIPLY(0, 4, 6);
        if (cols == 2) LOAD(7, w + TILE, 64);
        if (cols == 2) MULTIPLY(1, 4, 7);
        if (rows == 2) STREAM(5, a + below, stride);
        if (rows == 2) MULTIPLY(2, 5, 6);
        if (rows == 2 && cols == 2) MULTIPLY(3, 5, 7);
        for (int64_t i = 0; i < aside->lines; i++, aside->fetch += 64)
            _mm_prefetch((const char *)aside->fetch, _MM_HINT_T1);
        if (aside->before->next < UNITS) finish_some(aside->before, aside->units);
    }
    if (aside->before->next < UNITS) finish_some(aside->before, UNITS);
    STORE(0, t->c, PITCH);
    if (cols == 2) STORE(1, t->c + 16, PITCH);
    if (rows == 2) STORE(2, t->c + ROWS * PANEL, PITCH);
    if (rows == 2 && cols == 2) STORE(3, t->c + ROWS * PANEL + 16, PITCH);
}

static __attribute__((noinline)) void multiply_unsigned(const product *t, beside *aside) {
    multiply(2, 2, false, t, aside);
}
static __attribute__((noinline)) void multiply_signed(const product *t, beside *aside) {
    multiply(2, 2, true, t, aside);
}
HN_INLINE void multiply_part(int rows, int cols, bool is_signed, const product *t, beside *aside) {
    if (rows == 2)
        multiply(2, 1, is_signed, t, aside);
    else if (cols == 2)
        multiply(1, 2, is_signed, t, aside);
    else
        multiply(1, 1, is_signed, t, aside);
}
static __attribute__((noinline)) void multiply_small(int rows, int cols, bool is_signed,
                                                     const product *t, beside *aside) {
    if (is_signed)
        multiply_part(rows, cols, true, t, aside);
    else
        multiply_part(rows, cols, false, t, aside);
}

/* ---- blocks ---- */

typedef struct task {
    const hn_q8_args *a;
    const geometry *g;
    lane_parts l;
    const uint8_t *w; /* packed tiles */
    const int32_t *w_sums;
    int64_t line, q0, pairs; /* the block */
    panel panels[2];         /* that of the sums that wait, that of the sums being made */
    waiting before;
} task;

/* Where the positions of a block are in y and r. */
static void find_places(const task *t) {
    const geometry *g = t->g;
    const hn_conv_q8 *p = t->a->p;
    int64_t q = t->q0, ox = q % g->pw, oy = q / g->pw % g->wrap;
    int64_t image = t->line + q / g->pw / g->wrap;
    for (place *at = t->l.places; at < t->l.places + t->pairs * PAIR; at++, q++) {
        *at = (place){.y = -1};
        if (q < g->valid && ox < p->ow && oy < p->oh) {
            at->y = image * p->y_image + oy * p->y_row + ox * p->y_pixel;
            at->r = image * p->r_image + oy * p->r_row + ox * p->r_pixel;
            if (p->w_zero_points) at->window_sum = hn_q8_window_sum(t->a, 0, image, oy, ox);
        }
        if (++ox == g->pw) {
            ox = 0;
            if (++oy == g->wrap) oy = 0, image++;
        }
    }
}

/* Copies what cannot be read in place. */
static void copy_block(const task *t) {
    const geometry *g = t->g;
    int64_t count = t->pairs * PAIR, full = g->valid / PAIR * PAIR;
    if (g->source == LINES)
        copy_lines(t->a, g, t->l.a, t->line, t->q0, count + g->halo);
    else if (g->source == WINDOWS)
        copy_windows(t->a, t->l.a, g->stride, t->q0, hn_q8_min(count, g->valid - t->q0));
    else if (t->q0 + count > g->valid)
        copy_windows(t->a, t->l.a, g->steps * STEP, full, g->valid - full);
}

/* A panel times the block. */
static void multiply_panel(task *t, int64_t number) {
    const geometry *g = t->g;
    const hn_conv_q8 *p = t->a->p;
    bool is_signed = p->x == HN_Q8_S8;
    int cols = p->n - number * PANEL > 16 ? 2 : 1;
    panel *now = t->before.panel == t->panels ? &t->panels[1] : &t->panels[0];
    begin_panel(now, t->a, t->w_sums, number * PANEL);
    product m = {.offset = t->l.offset,
                 .w = t->w + number * g->steps * 2 * TILE,
                 .steps = g->steps,
                 .start = now->start,
                 .c = t->l.c};
    beside aside = {.before = &t->before,
                    .units = (int)hn_q8_ceil(UNITS, hn_q8_max(1, g->steps)),
                    .fetch = (uintptr_t)m.w + AHEAD * 2 * TILE,
                    .lines = t->pairs > 32 ? 0 : hn_q8_ceil(32, t->pairs)};
    for (int64_t i = 0; i < t->pairs; i++) {
        int64_t q = t->q0 + i * PAIR, left = g->valid - q;
        bool in_place = g->source == DIRECT && left >= PAIR;
        m.stride = g->source == DIRECT && !in_place ? g->steps * STEP : g->stride;
        m.a = in_place              ? t->a->x + q * g->stride
              : g->source == DIRECT ? t->l.a
                                    : t->l.a + i * PAIR * g->stride;
        int rows = left > ROWS ? 2 : 1;
        if (rows + cols < 4)
            multiply_small(rows, cols, is_signed, &m, &aside);
        else if (is_signed)
            multiply_signed(&m, &aside);
        else
            multiply_unsigned(&m, &aside);
        t->before.panel = now, t->before.at = t->l.places + i * PAIR, t->before.next = 0;
    }
}

static size_t header_bytes(const hn_conv_q8 *p) {
    return (size_t)(hn_q8_ceil(p->n, PANEL) * PANEL) * sizeof(int32_t);
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    *w = hn_q8_work(p, g.lines * g.blocks * choose_groups(p, &g, lanes), divide(&g, NULL, NULL));
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    if (hn_q8_sum_pixels(call, phase, begin, end)) return;
    const hn_conv_q8 *p = call->problem;
    hn_q8_args a = hn_q8_args_of(call);
    geometry g = measure(p);
    int64_t groups = hn_work_tasks(call->work, phase) / (g.lines * g.blocks);
    const uint8_t *packed = call->ptr[HN_CONV_Q8_W];
    task t = {.a = &a, .g = &g, .w = packed + header_bytes(p), .w_sums = (const void *)packed};
    divide(&g, lane, &t.l);
    fill_offsets(p, &g, t.l.offset);
    t.before = (waiting){.a = &a, .c = t.l.c, .next = UNITS};
    configure_tiles();
    int64_t in_scratch = -1;
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i % groups, block = i / groups;
        int64_t pair0 = g.pairs * (block % g.blocks) / g.blocks;
        if (block != in_scratch) {
            /* What waits still needs the places of its block. */
            if (t.before.next < UNITS) finish_some(&t.before, UNITS);
            t.line = block / g.blocks;
            t.q0 = pair0 * PAIR;
            t.pairs = g.pairs * (block % g.blocks + 1) / g.blocks - pair0;
            find_places(&t);
            copy_block(&t);
            in_scratch = block;
        }
        int64_t last = g.panels * (group + 1) / groups;
        for (int64_t n = g.panels * group / groups; n < last; n++) multiply_panel(&t, n);
    }
    if (t.before.next < UNITS) finish_some(&t.before, UNITS);
    __asm__ volatile("tilerelease" ::);
}

/* ---- packing ---- */

static size_t packed_bytes(const void *problem) {
    const hn_conv_q8 *p = problem;
    return header_bytes(p) + (size_t)(measure(p).steps * hn_q8_ceil(p->n, 16)) * TILE;
}

static uint64_t pack_key(const void *problem) {
    const hn_conv_q8 *p = problem;
    const int64_t of[] = {p->c,   p->n,   p->kh,  p->kw,     p->w_o,
                          p->w_i, p->w_y, p->w_x, p->w_type, source_of(p) == LINES};
    return hn_pack_hash(of, sizeof of / sizeof *of);
}

/* The place of product k of step s in the plain weights of an output; -1: none. */
static int64_t weight_at(const hn_conv_q8 *p, bool lines, int64_t s, int64_t k) {
    int64_t taps = p->kh * p->kw, tap, i;
    if (lines)
        tap = s % taps, i = s / taps * STEP + k;
    else
        tap = (s * STEP + k) / p->c, i = (s * STEP + k) % p->c;
    if (tap >= taps || i >= p->c) return -1;
    return tap / p->kw * p->w_y + tap % p->kw * p->w_x + i * p->w_i;
}

static void pack(const void *problem, const void *plain, void *dst) {
    const hn_conv_q8 *p = problem;
    geometry g = measure(p);
    int32_t *sums = dst;
    int8_t *to = (int8_t *)dst + header_bytes(p);
    memset(dst, 0, packed_bytes(p));
    for (int64_t panel0 = 0; panel0 < p->n; panel0 += PANEL) {
        int64_t halves = p->n - panel0 > 16 ? 2 : 1;
        for (int64_t s = 0; s < g.steps; s++, to += halves * TILE)
            for (int64_t k = 0; k < STEP; k++) {
                int64_t at = weight_at(p, g.source == LINES, s, k);
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
