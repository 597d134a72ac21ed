/* attention_f32 by the tiles of tile_f32 and the vector vocabulary. Include a vocabulary first and
 * define TILES, the tiles of that instruction set; without them this is portable code.
 *
 * A task is a part of the queries of one batch. Its keys and values are taken a chunk at a time:
 * copied into panels in lane scratch, the keys transposed, and then for one tile of queries after
 * the other
 *
 *   s [rows][chunk] = q * panels of k      the tile's scores, which stay in L1,
 *   s = exp(s + mask - largest so far)     with its sum,
 *   y = y * shrink + s * panels of v
 *
 * where `shrink` is what the earlier chunks lose when a larger score turns up. After the last chunk
 * y is divided by the sum. Chunks are cut by the number of keys alone, and a query's arithmetic
 * does not depend on the rows it shares a tile with, so the parts may follow the number of lanes.
 */
#include <math.h>
#include <string.h>

#include "base/least.h"
#include "kernels/attention_f32/attention_f32.h"
#include "kernels/tile_f32/tile_f32.h"
#include "simd/math.h"
#include "simd/part.h"

#ifndef TILES
#define TILES hn_tiles_f32_portable
#endif

enum {
    CHUNK = 512,    /* the most keys at a time: their panels stay in L2. The same on
                     every machine: sums are scaled anew after each, which changes bits */
    PART = 256,     /* the most queries of a task, */
    LEAST = 64,     /* and how few make the copying worthwhile */
    PAD = 16,       /* floats between rows, which must not fall into one set of L1 */
    MAX_ROWS = 16,  /* of a tile */
    VECTOR = 64 / 4 /* floats that parts of scratch are aligned to */
};

/* What is known of a query: its largest score so far, and the sum of exponentials less that. */
typedef struct query {
    float top, sum;
} query;

typedef struct geometry {
    int64_t chunks, chunk;            /* their number, the most keys of one */
    int64_t ld;                       /* floats between rows of scores */
    int64_t k, v, s, q, known, total; /* places in lane scratch, in floats */
} geometry;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t aligned(int64_t floats) { return ceil_div(floats, VECTOR) * VECTOR; }

/* Columns of all panels together. */
static int64_t columns(int64_t n) {
    hn_panels_f32 p = hn_panels_f32_of(&TILES, n);
    return hn_panels_f32_column(&p, p.count);
}

static geometry measure(const hn_attention_f32 *p) {
    geometry g = {.chunks = ceil_div(p->keys, CHUNK)};
    g.chunk = ceil_div(p->keys, g.chunks);
    g.ld = aligned(g.chunk) + PAD;
    int64_t rows = hn_tile_f32_ld(TILES.rows);
    /* A chunk of fewer keys may have narrow panels, and never more columns than full ones. */
    int64_t k_columns = ceil_div(g.chunk, TILES.width) * TILES.width;
    g.v = g.k + aligned(k_columns * p->size);
    g.s = g.v + aligned(columns(p->v_size) * g.chunk);
    g.q = g.s + rows * g.ld;
    g.known = g.q;
    if (TILES.interleaved || p->q_col != 1)
        g.known += aligned(rows * most(p->size + PAD, TILES.interleaved ? g.chunk : 0));
    g.total = g.known + (int64_t)(sizeof(query) / sizeof(float)) * hn_least(p->queries, PART);
    return g;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_attention_f32 *p = problem;
    int64_t batches = hn_attention_batches(p);
    int64_t parts = hn_least(ceil_div(p->queries, LEAST), ceil_div(4 * lanes, batches));
    parts = most(parts, ceil_div(p->queries, PART));
    *w = (hn_work){.n_phases = 1,
                   .tasks = {batches * parts},
                   .lane_scratch = (size_t)measure(p).total * sizeof(float)};
}

/* ---- panels ---- */

/* Squares of HN_VL keys by HN_VL elements are transposed in registers. */
static void pack_keys(const hn_attention_f32 *p, const float *k, int64_t n, float *dst) {
    const hn_panels_f32 panels = hn_panels_f32_of(&TILES, n);
    const hn_vf scale = hn_v_set1(p->scale);
    for (int64_t i = 0; i < panels.count; i++) {
        int64_t width = hn_panels_f32_width(&panels, i), used = hn_panels_f32_used(&panels, i);
        const float *from = k + hn_panels_f32_column(&panels, i) * p->k_row;
        int64_t keys = 0, size = 0; /* done in squares */
        if (used < width) memset(dst, 0, (size_t)(p->size * width) * sizeof *dst);
        if (p->k_col == 1) keys = used / HN_VL * HN_VL, size = p->size / HN_VL * HN_VL;
        for (int64_t j = 0; j < keys; j += HN_VL)
            for (int64_t d = 0; d < size; d += HN_VL) {
                hn_vf r[HN_VL];
                for (int l = 0; l < HN_VL; l++)
                    r[l] = hn_v_mul(hn_v_load(from + (j + l) * p->k_row + d), scale);
                hn_v_transpose(r);
                for (int l = 0; l < HN_VL; l++) hn_v_store(dst + (d + l) * width + j, r[l]);
            }
        hn_tile_f32_copy(from + keys * p->k_row, p->k_col, p->k_row, size, used - keys, p->scale,
                         dst + keys, width);
        hn_tile_f32_copy(from + size * p->k_col, p->k_col, p->k_row, p->size - size, used, p->scale,
                         dst + size * width, width);
        dst += p->size * width;
    }
}

static void pack_values(const hn_attention_f32 *p, const float *v, int64_t n, float *dst) {
    const hn_panels_f32 panels = hn_panels_f32_of(&TILES, p->v_size);
    for (int64_t i = 0; i < panels.count; i++) {
        int64_t width = hn_panels_f32_width(&panels, i), used = hn_panels_f32_used(&panels, i);
        const float *from = v + hn_panels_f32_column(&panels, i) * p->v_col;
        if (used == width && p->v_col == 1) {
            for (int64_t j = 0; j < n; j++)
                for (int64_t d = 0; d < width; d += HN_VL)
                    hn_v_store(dst + j * width + d, hn_v_load(from + j * p->v_row + d));
        } else {
            if (used < width) memset(dst, 0, (size_t)(n * width) * sizeof *dst);
            hn_tile_f32_copy(from, p->v_row, p->v_col, n, used, 1, dst, width);
        }
        dst += n * width;
    }
}

/* ---- rows of scores ---- */

HN_INLINE hn_vf masked(float *s, const float *mask, int64_t n, bool has_mask) {
    hn_vf v = hn_v_load_part(s, n);
    if (!has_mask) return v;
    v = hn_v_add(v, hn_v_load_part(mask, n));
    hn_v_store_part(s, v, n);
    return v;
}

/* Adds the mask; the largest score. */
HN_INLINE float largest(float *s, const float *mask, int64_t n, bool has_mask) {
    hn_vf low = hn_v_set1(-INFINITY), m0 = low, m1 = low;
    int64_t i = 0;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL) {
        m0 = hn_v_max(m0, masked(s + i, mask + i, HN_VL, has_mask));
        m1 = hn_v_max(m1, masked(s + i + HN_VL, mask + i + HN_VL, HN_VL, has_mask));
    }
    if (i + HN_VL <= n) m0 = hn_v_max(m0, masked(s + i, mask + i, HN_VL, has_mask)), i += HN_VL;
    if (i < n)
        m1 = hn_v_max(m1, hn_v_keep_part(masked(s + i, mask + i, n - i, has_mask), low, n - i));
    return hn_v_hmax(hn_v_max(m0, m1));
}

HN_INLINE hn_vf exponential(float *s, int64_t n, hn_vf top) {
    hn_vf e = hn_v_exp_neg(hn_v_sub(hn_v_load_part(s, n), top));
    hn_v_store_part(s, e, n);
    return hn_v_keep_part(e, hn_v_set1(0.0f), n);
}

static float exponentials(float *s, int64_t n, float less) {
    hn_vf s0 = hn_v_set1(0.0f), s1 = s0, top = hn_v_set1(less);
    int64_t i = 0;
    for (; i + 2 * HN_VL <= n; i += 2 * HN_VL) {
        s0 = hn_v_add(s0, exponential(s + i, HN_VL, top));
        s1 = hn_v_add(s1, exponential(s + i + HN_VL, HN_VL, top));
    }
    if (i + HN_VL <= n) s0 = hn_v_add(s0, exponential(s + i, HN_VL, top)), i += HN_VL;
    if (i < n) s1 = hn_v_add(s1, exponential(s + i, n - i, top));
    return hn_v_sum(hn_v_add(s0, s1));
}

static void multiply(float *y, int64_t n, float by) {
    hn_vf f = hn_v_set1(by);
    int64_t i = 0;
    for (; i + HN_VL <= n; i += HN_VL) hn_v_store(y + i, hn_v_mul(hn_v_load(y + i), f));
    if (i < n) hn_v_store_n(y + i, hn_v_mul(hn_v_load_n(y + i, n - i), f), n - i);
}

/* Scores of the query's next n keys, of which `now` is the largest, become weights, but for the
 * division; what the earlier weights must be multiplied by. */
static float weigh(const hn_attention_f32 *p, query *of, float *s, int64_t n, float now,
                   bool starts) {
    if (!starts && now < of->top) now = of->top;
    float less = now == -INFINITY ? 0 : now; /* nothing seen so far: weights of 0 */
    float shrink = 0, sum = exponentials(s, n, less);
    if (!starts) shrink = now == of->top ? 1 : hn_v_hmax(hn_v_exp_neg(hn_v_set1(of->top - less)));
    if (isnan(sum) && p->blind == HN_BLIND_ANY) {
        memset(s, 0, (size_t)n * sizeof *s);
        *of = (query){starts ? -INFINITY : of->top, sum};
        return 0;
    }
    *of = (query){now, starts ? sum : of->sum * shrink + sum};
    return shrink;
}

/* What the weighted sums are multiplied by in the end. */
static float share(const hn_attention_f32 *p, float sum) {
    if (isnan(sum) && p->blind == HN_BLIND_ANY) return 0;
    if (sum == 0 && p->blind != HN_BLIND_NAN) return 0;
    return 1 / sum;
}

/* ---- tasks ---- */

typedef struct task {
    const hn_attention_f32 *p;
    const float *q;
    const void *mask;
    int64_t mask_at; /* where the batch's begins */
    float *y;
    float *lane;
    geometry g;
} task;

/* y[rows] = (r +) a * b over k, panels at b. */
static void product(const float *const *a, int rows, const float *b, int64_t k, int64_t n,
                    bool adds, float *const *y) {
    const hn_panels_f32 panels = hn_panels_f32_of(&TILES, n);
    hn_tile_f32 args = {.a = a,
                        .runs = 1,
                        .len = k,
                        .b = b,
                        .r = adds ? (const float *const *)y : NULL,
                        .y = y,
                        .lo = -INFINITY,
                        .hi = INFINITY,
                        .ahead = b};
    for (int64_t i = 0; i < panels.count; i++) {
        int64_t width = hn_panels_f32_width(&panels, i);
        args.column = hn_panels_f32_column(&panels, i);
        args.n = hn_panels_f32_used(&panels, i);
        TILES.fn[width == TILES.narrow][rows - 1](&args);
        args.b += k * width;
    }
}

/* Rows of queries from `row` on, of which the part's first is `first`, and keys [j0, j0 + n). */
static void run_tile(const task *t, int64_t first, int64_t row, int rows, int64_t j0, int64_t n) {
    const hn_attention_f32 *p = t->p;
    const geometry *g = &t->g;
    const float *q[MAX_ROWS];
    float *s[MAX_ROWS], *y[MAX_ROWS], top[MAX_ROWS], *copy = t->lane + g->q;
    query *of = (query *)(t->lane + g->known) + row - first;
    bool starts = j0 == 0, ends = j0 + n == p->keys;
    if (TILES.interleaved)
        hn_tile_f32_copy(t->q + row * p->q_row, p->q_col, p->q_row, p->size, rows, 1, copy,
                         hn_tile_f32_ld(rows));
    else if (p->q_col != 1)
        hn_tile_f32_copy(t->q + row * p->q_row, p->q_row, p->q_col, rows, p->size, 1, copy,
                         p->size + PAD);
    for (int i = 0; i < rows; i++) {
        q[i] = t->q + (row + i) * p->q_row;
        if (TILES.interleaved || p->q_col != 1) q[i] = copy + i * (p->size + PAD);
        s[i] = t->lane + g->s + i * g->ld;
        y[i] = t->y + (row + i) * p->y_row;
    }
    product(q, rows, t->lane + g->k, p->size, n, false, s);
    /* All the largest first: then no row waits for the last steps of its own. */
    for (int i = 0; i < rows; i++) {
        int64_t at = t->mask_at + (row + i) * p->mask_row + j0;
        if (t->mask != NULL && p->chooses)
            hn_attention_hide(p, (const uint8_t *)t->mask + at, n, s[i]);
        if (p->causal)
            for (int64_t j = most(0, row + i + p->offset + 1 - j0); j < n; j++) s[i][j] = -INFINITY;
        top[i] = t->mask != NULL && !p->chooses
                     ? largest(s[i], (const float *)t->mask + at, n, true)
                     : largest(s[i], s[i], n, false);
    }
    for (int i = 0; i < rows; i++) {
        float shrink = weigh(p, &of[i], s[i], n, top[i], starts);
        if (!starts && shrink != 1) multiply(y[i], p->v_size, shrink);
    }
    if (TILES.interleaved) {
        hn_tile_f32_interleave((const float *const *)s, rows, 1, n, copy);
        q[0] = copy;
    } else {
        for (int i = 0; i < rows; i++) q[i] = s[i];
    }
    product(q, rows, t->lane + g->v, n, p->v_size, !starts, y);
    for (int i = 0; i < rows && ends; i++) multiply(y[i], p->v_size, share(p, of[i].sum));
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_attention_f32 *p = call->problem;
    int64_t parts = call->work->tasks[0] / hn_attention_batches(p);
    int64_t packed = -1; /* the batch whose panels are in scratch, all chunks of them */
    task t = {.p = p, .lane = lane, .g = measure(p)};
    for (int64_t i = begin; i < end; i++) {
        int64_t b = i / parts, first = p->queries * (i % parts) / parts;
        int64_t rows = p->queries * (i % parts + 1) / parts - first;
        int64_t tiles = ceil_div(rows, TILES.rows);
        const float *k = (const float *)call->ptr[HN_ATTENTION_K];
        const float *v = (const float *)call->ptr[HN_ATTENTION_V];
        k += hn_attention_at(p, p->k_batch, b);
        v += hn_attention_at(p, p->v_batch, b);
        t.q = (const float *)call->ptr[HN_ATTENTION_Q] + hn_attention_at(p, p->q_batch, b);
        t.y = (float *)call->ptr[HN_ATTENTION_Y] + hn_attention_at(p, p->y_batch, b);
        t.mask = call->ptr[HN_ATTENTION_MASK];
        t.mask_at = hn_attention_at(p, p->mask_batch, b);
        for (int64_t c = 0; c < t.g.chunks; c++) {
            int64_t j0 = p->keys * c / t.g.chunks, n = p->keys * (c + 1) / t.g.chunks - j0;
            if (packed != b || t.g.chunks > 1) {
                pack_keys(p, k + j0 * p->k_row, n, t.lane + t.g.k);
                pack_values(p, v + j0 * p->v_row, n, t.lane + t.g.v);
                packed = b;
            }
            for (int64_t q = 0; q < tiles; q++) {
                int64_t row = first + rows * q / tiles;
                run_tile(&t, first, row, (int)(first + rows * (q + 1) / tiles - row), j0, n);
            }
        }
    }
}

const hn_kernel HN_V_ROW(attention_f32) = {
    .name = HN_V_NAME, .isa = HN_V_ISA, .order = HN_V_NAME, .work = work, .run = run};
