/* attention_f32 by AMX: PARTS says into how many bf16 a float is split, 3, or 1 for bf16. With two,
 * for f32-relaxed, it would be a fifth faster than with three: too little for one more row.
 *
 * A float of 24 bits is the sum of three bf16 of 8 bits, each the nearest to what is left, exactly:
 * x = x1 + x2 + x3, |x2| <= 2^-8 |x|, |x3| <= 2^-17 |x|. Of the nine products of two such sums the
 * six largest leave an error of 2^-24 |x*y|:
 *
 *     x1*y1 + (x1*y2 + x2*y1) + (x1*y3 + x2*y2 + x3*y1)
 *
 * Scores need all six, for their error is relative to products that may be large and cancel.
 * Weights are exponentials in [0, 1], rounded themselves, and two parts of them are enough: without
 * p3*v1 five products are left, and an error of 2^-17 = 7.6e-6 of the sum of weights times abs(v)
 * at most, a quarter of that in the mean. With one part of a float there is one product, and an
 * error of 2^-7.
 *
 * A task is a part of the queries of one batch. Keys and values are taken a chunk at a time and
 * split into tiles in lane scratch, [16 columns][step of 32][part][16][16][2], columns being keys
 * in the one, elements of a value in the other. Then 32 queries after the other
 *
 *   q [32][step][part][32]                 are split, scaled,
 *   s [32][chunk] = q * tiles of k         become scores, which stay in L1,
 *   s = exp(s + mask - largest so far)     weights with their sum, split in place: 32 floats give
 *                                          way to their parts,
 *   y = y * shrink + s * tiles of v        and outputs,
 *
 * where `shrink` is what the earlier chunks lose when a larger score turns up. After the last chunk
 * y is divided by the sum. Elements i and i+16 of a step make a pair of the tiles (any order serves
 * if both operands agree), since that is how 32 floats are cut with few instructions.
 *
 * Chunks are cut by the number of keys alone, and a query's arithmetic does not depend on the rows
 * it shares a tile with, so the parts may follow the number of lanes. Tiles of keys that no query
 * of the 32 may see are left out: they would add 0.
 *
 * Inf and NaN cannot be split (inf - inf), and products may overflow one by one where their sum
 * does not. So a batch whose q, k or v holds anything large is left to the row for AVX-512, whose
 * tasks are the same. AMX takes numbers below 2^-126 for zero, which with nothing large about is no
 * loss.
 */
#ifdef PARTS
#include "base/least.h"
#include "simd/avx512.h"

#include <math.h>
#include <string.h>

#include "kernels/attention_f32/attention_f32.h"
#include "kernels/tile_f32/tile_f32.h"
#include "simd/amx.h"
#include "simd/part.h"

enum {
    ROWS = 16,   /* of a tile */
    BLOCK = 32,  /* queries at a time: two tiles */
    STEP = 32,   /* products in a step */
    LINE = 64,   /* bytes of a row of any tile */
    TILE = 1024, /* bytes */
    CHUNK = 512, /* the most keys at a time: their tiles stay in L2. The same on
                     every machine: sums are scaled anew after each, which changes bits */
    PART = 256,  /* the most queries of a task, as in the row for AVX-512 */
    PAD = 16,    /* floats between rows of scores, which must not fall into one set of L1 */
    S_PARTS = PARTS == 3 ? 2 : 1, /* of a weight */
};

typedef struct geometry {
    int64_t chunks, chunk;               /* their number, the most keys of one */
    int64_t steps;                       /* of q times k */
    int64_t ld;                          /* floats between rows of scores */
    int64_t k, v, q, s, c, known, total; /* places in lane scratch, in bytes */
} geometry;

/* What is known of 16 queries: their largest scores so far, the sums of exponentials less those. */
typedef struct known {
    float top[ROWS], sum[ROWS];
} known;

extern const hn_kernel hn_attention_f32_avx512;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static geometry measure(const hn_attention_f32 *p) {
    geometry g = {.chunks = ceil_div(p->keys, CHUNK), .steps = ceil_div(p->size, STEP)};
    g.chunk = ceil_div(p->keys, g.chunks);
    g.ld = ceil_div(g.chunk, STEP) * STEP + PAD;
    g.v = g.k + ceil_div(g.chunk, ROWS) * g.steps * PARTS * TILE;
    g.q = g.v + ceil_div(p->v_size, ROWS) * ceil_div(g.chunk, STEP) * PARTS * TILE;
    g.s = g.q + BLOCK * g.steps * PARTS * LINE;
    g.c = g.s + BLOCK * g.ld * (int64_t)sizeof(float);
    g.known = g.c + BLOCK * STEP * (int64_t)sizeof(float);
    g.total = g.known + (int64_t)sizeof(known) * ceil_div(hn_least(p->queries, PART), ROWS);
    return g;
}

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_attention_f32 *p = problem;
    hn_work plain;
    hn_attention_f32_avx512.work(problem, lanes, &plain);
    int64_t bytes = most((int64_t)plain.lane_scratch, measure(p).total);
    *w = (hn_work){.n_phases = 1, .tasks = {plain.tasks[0]}, .lane_scratch = (size_t)bytes};
}

/* ---- splitting ---- */

/* Cuts 32 floats into a line of pairs per part. */
HN_INLINE void split32(__m512 lo, __m512 hi, const int parts, char *dst, int64_t next) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000), half = _mm512_set1_epi32(0x8000);
#pragma GCC unroll 3
    for (int part = 0; part < parts; part++) {
        __m512i l = _mm512_add_epi32(_mm512_castps_si512(lo), half);
        __m512i h = _mm512_add_epi32(_mm512_castps_si512(hi), half);
        __m512i both = _mm512_ternarylogic_epi32(top, h, _mm512_srli_epi32(l, 16), 0xca);
        _mm512_store_si512(dst + part * next, both);
        lo = _mm512_sub_ps(lo, _mm512_castsi512_ps(_mm512_and_si512(l, top)));
        hi = _mm512_sub_ps(hi, _mm512_castsi512_ps(_mm512_and_si512(h, top)));
    }
}

/* The first n lanes, none if n <= 0. */
HN_INLINE __m512 load_first(const float *x, int64_t n) {
    return hn_v_load_n(x, most(0, hn_least(n, HN_VL)));
}

/* A tile of every part from b[k * k_stride + n], k and n up to 32 and 16 of which there are `ks`
 * and `ns`. */
static void pack_tile(const float *b, int64_t k_stride, int64_t ks, int64_t ns, char *dst) {
    for (int64_t i = 0; i < ROWS; i++) {
        __m512 lo = load_first(b + i * k_stride, i < ks ? ns : 0);
        __m512 hi = load_first(b + (i + ROWS) * k_stride, i + ROWS < ks ? ns : 0);
        split32(lo, hi, PARTS, dst + i * LINE, TILE);
    }
}

/* The same from b[n * n_stride + k]: pairs are transposed. */
static void pack_tile_across(const float *b, int64_t n_stride, int64_t ks, int64_t ns, char *dst) {
    for (int64_t j = 0; j < ROWS; j++) {
        __m512 lo = load_first(b + j * n_stride, j < ns ? ks : 0);
        __m512 hi = load_first(b + j * n_stride + ROWS, j < ns ? ks - ROWS : 0);
        split32(lo, hi, PARTS, dst + j * LINE, TILE);
    }
    for (int part = 0; part < PARTS; part++) {
        float *tile = (float *)(dst + part * TILE);
        hn_vf r[HN_VL];
        for (int j = 0; j < ROWS; j++) r[j] = hn_v_load(tile + j * HN_VL);
        hn_v_transpose(r);
        for (int j = 0; j < ROWS; j++) hn_v_store(tile + j * HN_VL, r[j]);
    }
}

/* Tiles of b[k * k_stride + j * n_stride], ks by ns. `copy` has room for 32 by 16. */
static void pack(const float *b, int64_t k_stride, int64_t n_stride, int64_t ks, int64_t ns,
                 float *copy, char *dst) {
    for (int64_t n = 0; n < ns; n += ROWS)
        for (int64_t k = 0; k < ks; k += STEP, dst += PARTS * TILE) {
            const float *from = b + k * k_stride + n * n_stride;
            int64_t k_left = hn_least(STEP, ks - k), n_left = hn_least(ROWS, ns - n);
            if (n_stride == 1) {
                pack_tile(from, k_stride, k_left, n_left, dst);
            } else if (k_stride == 1) {
                pack_tile_across(from, n_stride, k_left, n_left, dst);
            } else {
                hn_tile_f32_copy(from, k_stride, n_stride, k_left, n_left, 1, copy, ROWS);
                pack_tile(copy, ROWS, k_left, n_left, dst);
            }
        }
}

/* `copy` has room for 32 by 32. */
static void split_queries(const hn_attention_f32 *p, const float *q, int64_t rows, float *copy,
                          int64_t steps, char *dst) {
    const __m512 scale = _mm512_set1_ps(p->scale);
    for (int64_t s = 0; s < steps; s++) {
        int64_t left = hn_least(STEP, p->size - s * STEP), row = p->q_row;
        const float *from = q + s * STEP * p->q_col;
        if (p->q_col != 1) {
            hn_tile_f32_copy(from, p->q_row, p->q_col, rows, left, 1, copy, STEP);
            from = copy, row = STEP;
        }
        for (int64_t i = 0; i < BLOCK; i++) {
            __m512 lo = load_first(from + i * row, i < rows ? left : 0);
            __m512 hi = load_first(from + i * row + ROWS, i < rows ? left - ROWS : 0);
            split32(_mm512_mul_ps(lo, scale), _mm512_mul_ps(hi, scale), PARTS,
                    dst + (i * steps + s) * PARTS * LINE, LINE);
        }
    }
}

HN_INLINE __m512i larger(__m512i m, __m512 x) {
    return _mm512_max_epi32(
        m, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
}

/* The largest absolute value, or not a number. */
static float largest_of(const float *x, int64_t row, int64_t col, int64_t rows, int64_t cols) {
    __m512i m0 = _mm512_setzero_si512(), m1 = m0;
    if (row == 1 && col != 1) {
        int64_t swap = rows;
        rows = cols, cols = swap, row = col, col = 1;
    }
    for (int64_t i = 0; i < rows; i++, x += row) {
        int64_t j = 0;
        if (col == 1) {
            for (; j + 2 * HN_VL <= cols; j += 2 * HN_VL) {
                m0 = larger(m0, _mm512_loadu_ps(x + j));
                m1 = larger(m1, _mm512_loadu_ps(x + j + HN_VL));
            }
        }
        for (; j < cols; j++) m0 = larger(m0, _mm512_set1_ps(x[j * col]));
    }
    __m512i m = _mm512_set1_epi32(_mm512_reduce_max_epi32(_mm512_max_epi32(m0, m1)));
    return _mm512_cvtss_f32(_mm512_castsi512_ps(m));
}

/* ---- scores to weights ---- */

/* e^x for x <= 0, error 1.5e-7 near 0 and 6e-8 * abs(x) below; of one part 8e-5. Numbers that are
 * too small become 0, and without delay since `run` has underflows flushed. */
HN_INLINE __m512 exponential(__m512 x) {
    x = _mm512_mul_ps(x, _mm512_set1_ps(0x1.715476p0f));
    __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#if PARTS == 1
    __m512 e = _mm512_set1_ps(0.07802452f);
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.22606717f));
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.6958335f));
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.9999252f));
#else
    __m512 e = _mm512_set1_ps(0.0018775767f);
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.008989341f));
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.055826318f));
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.24015361f));
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.6931531f));
    e = _mm512_fmadd_ps(e, f, _mm512_set1_ps(0.99999994f));
#endif
    return _mm512_scalef_ps(e, x); /* by 2^floor(x) */
}

typedef struct task {
    const hn_attention_f32 *p;
    const float *q;
    const void *mask;
    int64_t mask_at; /* where the batch's begins */
    float *y;
    char *lane;
    geometry g;
    /* The next batch's q, k and v, NULL if there is none. Where heads are columns of something
     * wider nothing but this fetches them in time. */
    const float *next[HN_ATTENTION_V + 1];
    int64_t fetch, fetched; /* rows to fetch beside a tile of keys; those that are */
    int64_t first;          /* query of the part */
    int64_t j0, n;          /* the chunk's first key, how many there are */
} task;

/* Queries that go through the same steps together. */
typedef struct block {
    int64_t row, rows;
    int64_t sees;                          /* of the chunk's keys, by the last of them */
    float *s;                              /* [32][ld] */
    _Alignas(64) float lanes[ROWS][HN_VL]; /* of 16 rows, to be reduced */
    float top[BLOCK], less[BLOCK];     /* the largest score so far, what scores are taken less */
    float shrink[BLOCK], share[BLOCK]; /* of sums before, and in the end */
} block;

HN_INLINE __m512 masked(float *s, const float *mask, int64_t n, const bool has_mask) {
    __m512 v = hn_v_load_part(s, n);
    if (!has_mask) return v;
    v = _mm512_add_ps(v, hn_v_load_part(mask, n));
    hn_v_store_part(s, v, n);
    return v;
}

/* Adds the mask; the largest score, over all lanes. */
HN_INLINE __m512 largest(float *s, const float *mask, int64_t n, const bool has_mask) {
    const __m512 low = _mm512_set1_ps(-INFINITY);
    __m512 m = low;
    int64_t i = 0;
    for (; i + HN_VL <= n; i += HN_VL)
        m = _mm512_max_ps(m, masked(s + i, mask + i, HN_VL, has_mask));
    if (i < n)
        m = _mm512_max_ps(m, hn_v_keep_n(masked(s + i, mask + i, n - i, has_mask), low, n - i));
    return m;
}

/* The largest score of query i of a block, over all lanes, after any mask. */
HN_INLINE __m512 largest_of_row(const task *t, const block *b, int64_t i) {
    const hn_attention_f32 *p = t->p;
    float *s = b->s + i * t->g.ld;
    int64_t row = b->row + i, at = t->mask_at + row * p->mask_row + t->j0;
    if (t->mask != NULL && p->chooses)
        hn_attention_hide(p, (const uint8_t *)t->mask + at, b->sees, s);
    if (p->causal)
        for (int64_t j = most(0, row + p->offset + 1 - t->j0); j < b->sees; j++) s[j] = -INFINITY;
    return t->mask != NULL && !p->chooses ? largest(s, (const float *)t->mask + at, b->sees, true)
                                          : largest(s, s, b->sees, false);
}

HN_INLINE __m512 exponentials32(float *s, int64_t n, __m512 less) {
    __m512 lo = exponential(_mm512_sub_ps(_mm512_loadu_ps(s), less));
    __m512 hi = exponential(_mm512_sub_ps(_mm512_loadu_ps(s + HN_VL), less));
    if (n < STEP) {
        lo = hn_v_keep_n(lo, _mm512_setzero_ps(), hn_least(n, HN_VL));
        hi = hn_v_keep_n(hi, _mm512_setzero_ps(), most(0, n - HN_VL));
    }
    split32(lo, hi, S_PARTS, (char *)s, LINE);
    return _mm512_add_ps(lo, hi);
}

/* Turns n scores into the parts of exponentials, less a number; their sum, over all lanes. */
HN_INLINE __m512 exponentials(float *s, int64_t n, __m512 less) {
    __m512 sum = _mm512_setzero_ps();
    int64_t i = 0;
    for (; i + STEP <= n; i += STEP) sum = _mm512_add_ps(sum, exponentials32(s + i, STEP, less));
    if (i < n) sum = _mm512_add_ps(sum, exponentials32(s + i, n - i, less));
    return sum;
}

/* What the lanes of each of 16 rows come to. */
HN_INLINE __m512 reduced(const block *b, const bool adds) {
    hn_vf r[HN_VL];
#pragma GCC unroll 16
    for (int i = 0; i < HN_VL; i++) r[i] = _mm512_load_ps(b->lanes[i]);
    hn_v_transpose(r);
#pragma GCC unroll 4
    for (int n = HN_VL / 2; n > 0; n /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
            r[i] = adds ? _mm512_add_ps(r[i], r[i + n]) : _mm512_max_ps(r[i], r[i + n]);
    return r[0];
}

/* Rows [i, i + 16) have been looked at. */
static void take_largest(const task *t, block *b, int64_t i, const known *of) {
    __m512 now = reduced(b, false);
    if (t->j0 > 0) now = _mm512_max_ps(_mm512_loadu_ps(of->top), now);
    /* Nothing seen so far: weights of 0. */
    __mmask16 none = _mm512_cmp_ps_mask(now, _mm512_set1_ps(-INFINITY), _CMP_EQ_OQ);
    _mm512_storeu_ps(b->top + i, now);
    _mm512_storeu_ps(b->less + i, _mm512_mask_mov_ps(now, none, _mm512_setzero_ps()));
}

/* And now they have been summed. */
static void take_sums(const task *t, block *b, int64_t i, known *of) {
    const hn_attention_f32 *p = t->p;
    __m512 sum = reduced(b, true), top = _mm512_loadu_ps(b->top + i), one = _mm512_set1_ps(1);
    __m512 before = _mm512_set1_ps(-INFINITY), shrink = _mm512_setzero_ps();
    __mmask16 blind = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
    if (p->blind != HN_BLIND_ANY) blind = 0;
    for (int64_t j = 0; blind != 0 && j < hn_least(ROWS, b->rows - i); j++)
        if (blind >> j & 1)
            memset(b->s + (i + j) * t->g.ld, 0, (size_t)(t->g.ld - PAD) * sizeof *b->s);
    if (t->j0 > 0) {
        before = _mm512_loadu_ps(of->top);
        shrink = exponential(_mm512_sub_ps(before, _mm512_loadu_ps(b->less + i)));
        shrink = _mm512_mask_mov_ps(shrink, _mm512_cmp_ps_mask(before, top, _CMP_EQ_OQ), one);
        sum = _mm512_fmadd_ps(_mm512_loadu_ps(of->sum), shrink, sum);
        shrink = _mm512_mask_mov_ps(shrink, blind, _mm512_setzero_ps());
    }
    _mm512_storeu_ps(of->top, _mm512_mask_mov_ps(top, blind, before));
    _mm512_storeu_ps(of->sum, sum);
    _mm512_storeu_ps(b->shrink + i, shrink);
    __mmask16 sees = 0xffff;
    if (p->blind != HN_BLIND_NAN) sees = _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    if (p->blind == HN_BLIND_ANY) sees &= _mm512_cmp_ps_mask(sum, sum, _CMP_ORD_Q);
    _mm512_storeu_ps(b->share + i, _mm512_maskz_div_ps(sees, one, sum));
}

/* Scores of a block become weights. */
static void weigh(const task *t, block *b) {
    for (int64_t group = 0; group < b->rows; group += ROWS) {
        const int64_t end = hn_least(group + ROWS, b->rows);
        known *of = (known *)(t->lane + t->g.known) + (b->row + group - t->first) / ROWS;
        for (int64_t i = group; i < end; i++)
            _mm512_store_ps(b->lanes[i - group], largest_of_row(t, b, i));
        take_largest(t, b, group, of);
        for (int64_t i = group; i < end; i++) {
            const __m512 less = _mm512_set1_ps(b->less[i]);
            _mm512_store_ps(b->lanes[i - group], exponentials(b->s + i * t->g.ld, b->sees, less));
        }
        take_sums(t, b, group, of);
    }
}

/* ---- products ---- */

/* One step: C [rows * 16][16] += A * B; tiles 0-1: C, 2: A, 3: B. Four of the eight tiles, for the
 * reason in conv_f32_amx_body.h. Rows of A lie `stride` bytes apart. The parts of A come in the
 * same order whatever the row of tiles; those rows take turns at beginning, so that each part of B
 * first meets the tile of A that is there: a0 | a0 a1 | a1 a0 a2. */
HN_INLINE void multiply(const int rows, const int a_parts, const char *a, int64_t stride,
                        const char *b) {
#pragma GCC unroll 3
    for (int turn = 0; turn < PARTS; turn++) {
        const int parts = turn < a_parts ? turn + 1 : a_parts;
        HN_TILE_LOAD(3, b + (PARTS - 1 - turn) * TILE, LINE);
#pragma GCC unroll 6
        for (int i = 0; i < rows * parts; i++) {
            const int row = rows == 1 ? 0 : (i / parts + turn) % 2, nth = i % parts;
            const int part = turn == 2 && nth < 2 ? 1 - nth : nth;
            if (i > 0 || turn == 0) HN_TILE_LOAD(2, a + row * ROWS * stride + part * LINE, stride);
            if (row == 0)
                HN_TILE_DOT_BF16(0, 2, 3);
            else
                HN_TILE_DOT_BF16(1, 2, 3);
        }
    }
}

/* c [rows * 16][16] = A * B over some steps; c's rows are `ld` floats apart, steps of A `next`
 * bytes. */
HN_INLINE void product(const int rows, const int a_parts, const char *a, int64_t stride,
                       int64_t next, const char *b, int64_t steps, float *c, int64_t ld) {
    HN_TILE_ZERO(0);
    if (rows == 2) HN_TILE_ZERO(1);
    for (int64_t i = 0; i < steps; i++)
        multiply(rows, a_parts, a + i * next, stride, b + i * PARTS * TILE);
    HN_TILE_STORE(0, c, ld * (int64_t)sizeof(float));
    if (rows == 2) HN_TILE_STORE(1, c + ROWS * ld, ld * (int64_t)sizeof(float));
}

static void fetch_row(const float *x, int64_t size) {
    for (int64_t i = 0; i < size; i += LINE / (int64_t)sizeof *x)
        _mm_prefetch((const char *)(x + i), _MM_HINT_T1);
}

/* Fetches some rows of the next batch into L2. */
static void fetch_some(task *t) {
    const hn_attention_f32 *p = t->p;
    for (int64_t n = 0; n < t->fetch; n++, t->fetched++) {
        int64_t i = t->fetched;
        if (i < p->queries) fetch_row(t->next[HN_ATTENTION_Q] + i * p->q_row, p->size);
        if (i < p->keys) fetch_row(t->next[HN_ATTENTION_K] + i * p->k_row, p->size);
        if (i < p->keys) fetch_row(t->next[HN_ATTENTION_V] + i * p->v_row, p->v_size);
    }
}

static void score(task *t, const block *b) {
    const hn_attention_f32 *p = t->p;
    const geometry *g = &t->g;
    char *q = t->lane + g->q;
    const int64_t stride = g->steps * PARTS * LINE, next = PARTS * LINE;
    split_queries(p, t->q + b->row * p->q_row, b->rows, (float *)(t->lane + g->c), g->steps, q);
    for (int64_t j = 0; j < b->sees; j += ROWS) {
        const char *k = t->lane + g->k + j / ROWS * g->steps * PARTS * TILE;
        float *s = b->s + j;
        fetch_some(t);
        if (b->rows > ROWS)
            product(2, PARTS, q, stride, next, k, g->steps, s, g->ld);
        else
            product(1, PARTS, q, stride, next, k, g->steps, s, g->ld);
    }
}

/* Sums of weighted values become outputs, from element d on. */
static void finish(const task *t, const block *b, int64_t d, const float *c) {
    const hn_attention_f32 *p = t->p;
    const bool starts = t->j0 == 0, ends = t->j0 + t->n == p->keys;
    const __mmask16 m = hn_v_first_(hn_least(ROWS, p->v_size - d));
    for (int64_t i = 0; i < b->rows; i++) {
        float *y = t->y + (b->row + i) * p->y_row + d;
        __m512 sum = _mm512_load_ps(c + i * ROWS), shrink = _mm512_set1_ps(b->shrink[i]);
        if (!starts) sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m, y), shrink, sum);
        if (ends) sum = _mm512_mul_ps(sum, _mm512_set1_ps(b->share[i]));
        _mm512_mask_storeu_ps(y, m, sum);
    }
}

/* Outputs of a block whose scores are weights. Those of a tile follow when the next is multiplied,
 * since a tile's sums take a while to arrive in memory. */
static void sum_values(const task *t, const block *b) {
    const geometry *g = &t->g;
    const int64_t stride = g->ld * (int64_t)sizeof(float), steps = ceil_div(b->sees, STEP);
    const char *s = (const char *)b->s, *v = t->lane + g->v;
    float *c = (float *)(t->lane + g->c), *other = c + BLOCK * ROWS;
    for (int64_t d = 0; d < t->p->v_size; d += ROWS, v += ceil_div(t->n, STEP) * PARTS * TILE) {
        if (b->rows > ROWS)
            product(2, S_PARTS, s, stride, 2 * LINE, v, steps, c, ROWS);
        else
            product(1, S_PARTS, s, stride, 2 * LINE, v, steps, c, ROWS);
        if (d > 0) finish(t, b, d - ROWS, other);
        float *swap = c;
        c = other, other = swap;
    }
    finish(t, b, (ceil_div(t->p->v_size, ROWS) - 1) * ROWS, other);
}

/* ---- tasks ---- */

/* Queries up to `last` and the keys of a chunk, whose tiles are there. */
static void run_chunk(task *t, int64_t last) {
    const hn_attention_f32 *p = t->p;
    block b = {.s = (float *)(t->lane + t->g.s)};
    for (b.row = t->first; b.row < last; b.row += BLOCK) {
        b.rows = hn_least(BLOCK, last - b.row);
        b.sees = p->causal ? most(0, hn_least(t->n, b.row + b.rows + p->offset - t->j0)) : t->n;
        score(t, &b);
        weigh(t, &b);
        sum_values(t, &b);
    }
}

/* Whether nothing of a batch is too large to be split and summed. */
static bool in_range(const hn_attention_f32 *p, const float *q, const float *k, const float *v) {
    const float q_most = largest_of(q, p->q_row, p->q_col, p->queries, p->size) * fabsf(p->scale);
    const float k_most = largest_of(k, p->k_row, p->k_col, p->keys, p->size);
    const float v_most = largest_of(v, p->v_row, p->v_col, p->keys, p->v_size);
    /* Also no denormal of one times the largest of the other is anything. */
    const float limit = 0x1p96f;
    return q_most < limit && k_most < limit && v_most < limit &&
           q_most * k_most * (float)p->size < limit && v_most * (float)p->keys < limit;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_attention_f32 *p = call->problem;
    int64_t parts = call->work->tasks[0] / hn_attention_batches(p);
    const float *q0 = call->ptr[HN_ATTENTION_Q], *k0 = call->ptr[HN_ATTENTION_K];
    const float *v0 = call->ptr[HN_ATTENTION_V];
    int64_t packed = -1; /* the batch whose tiles are in scratch, all chunks of them */
    int64_t looked_at = -1;
    bool splits = false;
    task t = {.p = p, .lane = lane, .g = measure(p)};
    const geometry *g = &t.g;
    enum { FLUSH = 0x8040 }; /* denormals and underflows are 0 */
    const unsigned control = _mm_getcsr();
    hn_tiles_begin();
    _mm_setcsr(control | FLUSH);
    for (int64_t i = begin; i < end; i++) {
        int64_t b = i / parts, first = p->queries * (i % parts) / parts;
        int64_t last = p->queries * (i % parts + 1) / parts;
        const float *k = k0 + hn_attention_at(p, p->k_batch, b);
        const float *v = v0 + hn_attention_at(p, p->v_batch, b);
        t.q = q0 + hn_attention_at(p, p->q_batch, b);
        t.y = (float *)call->ptr[HN_ATTENTION_Y] + hn_attention_at(p, p->y_batch, b);
        t.mask = call->ptr[HN_ATTENTION_MASK];
        t.mask_at = hn_attention_at(p, p->mask_batch, b);
        t.fetch = t.fetched = 0;
        if (g->chunks == 1 && i + 1 < end && (i + 1) / parts != b &&
            (p->q_col | p->k_col | p->v_col) == 1) {
            t.next[HN_ATTENTION_Q] = q0 + hn_attention_at(p, p->q_batch, b + 1);
            t.next[HN_ATTENTION_K] = k0 + hn_attention_at(p, p->k_batch, b + 1);
            t.next[HN_ATTENTION_V] = v0 + hn_attention_at(p, p->v_batch, b + 1);
            t.fetch = ceil_div(most(p->queries, p->keys),
                               ceil_div(last - first, BLOCK) * ceil_div(p->keys, ROWS));
        }
        if (looked_at != b) splits = in_range(p, t.q, k, v), looked_at = b;
        if (!splits) {
            _mm_setcsr(control);
            hn_attention_f32_avx512.run(call, phase, i, i + 1, lane);
            _mm_setcsr(control | FLUSH);
            packed = -1;
            continue;
        }
        for (int64_t c = 0; c < g->chunks; c++) {
            int64_t j0 = p->keys * c / g->chunks, n = p->keys * (c + 1) / g->chunks - j0;
            if (packed != b || g->chunks > 1) {
                float *copy = (float *)(t.lane + g->c);
                pack(k + j0 * p->k_row, p->k_col, p->k_row, p->size, n, copy, t.lane + g->k);
                pack(v + j0 * p->v_row, p->v_row, p->v_col, n, p->v_size, copy, t.lane + g->v);
                packed = b;
            }
            t.first = first, t.j0 = j0, t.n = n;
            run_chunk(&t, last);
        }
    }
    _mm_setcsr(control);
    hn_tiles_end();
}

static bool ok(const void *problem, const char **why) {
    const hn_attention_f32 *p = problem;
    /* Splitting keys and values must pay: measured on Sapphire Rapids, six products of 64 queries
     * and keys take as long as FMA, and 128 of them two thirds. */
    const int64_t fewest = PARTS == 1 ? 32 : 65;
    const double waste = PARTS == 1 ? 2 : 1.25;
    if (p->queries < fewest || p->keys < fewest) return *why = "too few queries or keys", false;
    double full = (double)(ceil_div(p->keys, ROWS) * ROWS * ceil_div(p->size, STEP) * STEP) +
                  (double)(ceil_div(p->keys, STEP) * STEP * ceil_div(p->v_size, ROWS) * ROWS);
    if (full > waste * (double)(p->keys * (p->size + p->v_size)))
        return *why = "half-empty tiles", false;
    return true;
}
#endif
