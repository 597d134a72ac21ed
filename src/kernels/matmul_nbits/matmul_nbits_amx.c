/* matmul_nbits by AMX: codes less their zero points are integers that bf16 holds exactly, so a
 * product by one takes x in three parts of bf16 for all the bits of f32, x = x1 + x2 + x3 (as
 * conv_f32_amx_body.h has it), and three products where floats by floats take six. With one part x
 * is rounded to bf16.
 *
 * A task is up to 128 rows by up to 32 panels, and goes through k by chunks of 128:
 *
 *   split the rows of x                 [pair of tiles][step of 32][part][tile 2]   96 KB
 *   unpack the codes of every panel     [panel][step], a tile of 16 pairs of k      128 KB, in L2
 *   for each pair, for each panel       the pair's 24 KB stay in L1
 *       C = sum over the steps of a block, part by part
 *       sums += C * scale               after each block; the sums of the task are in scratch too
 *
 * A block is 32, 64 or 128 of k, or whole chunks. Unpacking takes a tenth of the time of 128 rows.
 *
 * Four of the eight tiles are used: see conv_f32_amx_body.h. Rows of x with inf or NaN, which
 * cannot be split, are left to the row for AVX-512.
 */
#include <string.h>

#include "simd/avx512.h"

#include "kernels/matmul_nbits/matmul_nbits_simd.h"
#include "simd/amx.h"

extern const hn_kernel hn_matmul_nbits_avx512;

enum {
    ROWS = 16, /* of a tile */
    LINE = 64, /* bytes of a row of any tile */
    TILE = 1024,
    CHUNK = 128,
    STEPS = CHUNK / HN_NBITS_STEP,
    MOST_ROWS = 128,
    MOST_PANELS = 32,
    LEAST_ROWS = 8,
};

typedef struct lane_parts {
    float (*sums)[MOST_ROWS][HN_NBITS_PANEL]; /* by panel */
    square *scales, *zeros;                   /* by panel */
    char *x, *w;
} lane_parts;

static size_t divide(char *base, int parts, lane_parts *l) {
    size_t sums = MOST_PANELS * sizeof *l->sums, tables = MOST_PANELS * sizeof *l->scales;
    size_t w = MOST_PANELS * STEPS * TILE, x = (size_t)(MOST_ROWS / ROWS * STEPS * parts * TILE);
    if (base != NULL) {
        l->sums = (void *)base;
        l->scales = (void *)(base + sums);
        l->zeros = (void *)(base + sums + tables);
        l->w = base + sums + 2 * tables;
        l->x = l->w + w;
    }
    return sums + 2 * tables + w + x;
}

static bool ok(const void *problem, const char **why) {
    const hn_matmul_nbits *p = problem;
    if (p->m < LEAST_ROWS) return *why = "too few rows", false;
    if (p->x_rounded) return *why = "x is rounded", false;
    if (p->zeros == HN_NBITS_F32) return *why = "zero points that are no codes", false;
    bool divides = p->block % HN_NBITS_STEP == 0 && CHUNK % p->block == 0;
    if (p->block < p->k && !divides && p->block % CHUNK != 0)
        return *why = "blocks that do not go with steps of 32", false;
    return true;
}

/* As many panels to a task as scratch holds, or fewer for each lane to have several tasks; whole
 * tasks of the row for AVX-512. */
static void work(int parts, const hn_matmul_nbits *p, int lanes, hn_work *w) {
    int64_t blocks = (p->m + MOST_ROWS - 1) / MOST_ROWS, panels = hn_nbits_panels(p);
    int64_t each = lanes > 1 ? panels * blocks / (4 * lanes) : MOST_PANELS;
    each = hn_least(MOST_PANELS, max64(2, each / HN_NBITS_TASK) * HN_NBITS_TASK);
    lane_parts l;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {blocks * ((panels + each - 1) / each)},
                   .lane_scratch = divide(NULL, parts, &l)};
}

/* ---- operands ---- */

/* Cuts 32 floats into a line of bf16 per part, or rounds them to one; says in which lanes one
 * cannot be cut. */
HN_INLINE __mmask16 split32(const int parts, __m512 lo, __m512 hi, __m512i upper, char *to) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    if (parts == 1) {
        _mm512_store_si512(to, (__m512i)_mm512_cvtne2ps_pbh(hi, lo));
        return 0;
    }
    for (int part = 0;; part++) {
        __m512i l = _mm512_castps_si512(lo), h = _mm512_castps_si512(hi);
        _mm512_store_si512(to + part * 2 * TILE, _mm512_permutex2var_epi16(l, upper, h));
        if (part == parts - 1) break;
        lo = _mm512_sub_ps(lo, _mm512_castsi512_ps(_mm512_and_si512(l, top)));
        hi = _mm512_sub_ps(hi, _mm512_castsi512_ps(_mm512_and_si512(h, top)));
    }
    return _mm512_cmp_ps_mask(lo, hi, _CMP_UNORD_Q);
}

/* `rows` rows of x, k0 on; rows that fill up a pair of tiles are 0. */
HN_INLINE void split_rows(const int parts, const hn_matmul_nbits *p, const float *x, int64_t rows,
                          int64_t k0, char *to, bool *marked) {
    uint16_t odd[32];
    for (int i = 0; i < 32; i++) odd[i] = (uint16_t)(2 * i + 1);
    const __m512i upper = _mm512_loadu_si512(odd);
    for (int64_t r = 0; r < (rows + 2 * ROWS - 1) / (2 * ROWS) * 2 * ROWS; r++) {
        const float *from = x + r * p->x_m + k0;
        char *row =
            to + r / (2 * ROWS) * STEPS * parts * 2 * TILE + r / ROWS % 2 * TILE + r % ROWS * 64;
        for (int s = 0; s < STEPS; s++) {
            int64_t k = s * HN_NBITS_STEP;
            int64_t left = r < rows ? max64(0, hn_least(HN_NBITS_STEP, p->k - k0 - k)) : 0;
            __m512 lo = _mm512_setzero_ps(), hi = lo;
            if (left > 0) lo = hn_v_load_n(from + k, hn_least(left, 16));
            if (left > 16) hi = hn_v_load_n(from + k + 16, left - 16);
            if (split32(parts, lo, hi, upper, row + s * parts * 2 * TILE) != 0) marked[r] = true;
        }
    }
}

/* bf16 of -16 to 15. */
static __m512i small_numbers(void) {
    uint16_t table[32];
    for (int i = 0; i < 32; i++) {
        float f = (float)(i - 16);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        table[i] = (uint16_t)(bits >> 16);
    }
    return _mm512_loadu_si512(table);
}

/* A step of a panel as a tile: row i has k = 2i and 2i + 1 of each column. */
static void unpack4(const int32_t *w, const float *zeros, __m512i table, char *to) {
    const __m512i low = _mm512_set1_epi32(0x000f000f), first = _mm512_set1_epi32(15);
    __m512i z = _mm512_sub_epi32(_mm512_set1_epi32(16), _mm512_cvtps_epi32(hn_v_load(zeros)));
    __m512i both = _mm512_or_si512(z, _mm512_slli_epi32(z, 16));
    for (int i = 0; i < 4; i++) {
        __m512i words = hn_vi_load(w + i * HN_NBITS_PANEL);
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            __m512i pair = _mm512_srli_epi32(words, (unsigned)(8 * j));
            /* first ? a : b */
            pair = _mm512_ternarylogic_epi32(first, pair, _mm512_slli_epi32(pair, 12), 0xca);
            pair = _mm512_add_epi16(_mm512_and_si512(pair, low), both);
            pair = _mm512_permutexvar_epi16(pair, table);
            _mm512_store_si512(to + (4 * i + j) * 64, pair);
        }
    }
}

static void unpack8(const int32_t *w, const float *zeros, char *to) {
    const __m512i top = _mm512_set1_epi32((int)0xffff0000);
    __m512i z = _mm512_cvtps_epi32(hn_v_load(zeros));
    for (int i = 0; i < 8; i++) {
        __m512i words = hn_vi_load(w + i * HN_NBITS_PANEL);
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            __m512i even = _mm512_srai_epi32(_mm512_slli_epi32(words, (unsigned)(24 - 16 * j)), 24);
            __m512i odd = _mm512_srai_epi32(_mm512_slli_epi32(words, (unsigned)(16 - 16 * j)), 24);
            even = _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_sub_epi32(even, z)));
            odd = _mm512_castps_si512(_mm512_cvtepi32_ps(_mm512_sub_epi32(odd, z)));
            /* top ? a : b */
            __m512i pair = _mm512_ternarylogic_epi32(top, odd, _mm512_srli_epi32(even, 16), 0xca);
            _mm512_store_si512(to + (2 * i + j) * 64, pair);
        }
    }
}

/* ---- products ---- */

/* The chunk that is split and unpacked. */
typedef struct chunk {
    int64_t steps, first; /* of k; its first block */
    int blocks, each;     /* blocks of it, steps of each */
} chunk;

/* A pair of tiles by a panel, added to its sums. tiles 0-1: C, 2: x, 3: w. */
HN_INLINE void multiply(const int parts, const chunk *c, const int halves, const char *x,
                        const char *w, square scales, float (*sums)[HN_NBITS_PANEL], bool starts) {
    _Alignas(64) float part[STEPS][2 * ROWS][HN_NBITS_PANEL];
    for (int b = 0; b < c->blocks; b++) {
        int64_t end = hn_least(c->steps, (b + 1) * c->each);
        HN_TILE_ZERO(0);
        HN_TILE_ZERO(1);
        for (int64_t s = b * c->each; s < end; s++) {
            HN_TILE_LOAD(3, w + s * TILE, LINE);
#pragma GCC unroll 3
            for (int q = parts - 1; q >= 0; q--) {
                const char *from = x + (s * parts + q) * 2 * TILE;
                HN_TILE_LOAD(2, from, LINE);
                HN_TILE_DOT_BF16(0, 2, 3);
                if (halves == 1) continue;
                HN_TILE_LOAD(2, from + TILE, LINE);
                HN_TILE_DOT_BF16(1, 2, 3);
            }
        }
        HN_TILE_STORE(0, part[b], LINE);
        if (halves == 2) HN_TILE_STORE(1, part[b] + ROWS, LINE);
    }
    __m512 scale[STEPS];
    for (int b = 0; b < c->blocks; b++) scale[b] = hn_v_load(scales[(c->first + b) % TURN]);
    for (int r = 0; r < halves * ROWS; r++) {
        __m512 sum = starts ? _mm512_setzero_ps() : _mm512_load_ps(sums[r]);
        for (int b = 0; b < c->blocks; b++)
            sum = _mm512_fmadd_ps(_mm512_load_ps(part[b][r]), scale[b], sum);
        _mm512_store_ps(sums[r], sum);
    }
}

typedef struct task {
    ending end;
    const hn_call *call;
    int64_t row, rows, panel, panels;
    lane_parts l;
} task;

static void unpack_chunk(const task *t, const chunk *c, int64_t k0, __m512i table) {
    const hn_matmul_nbits *p = t->end.p;
    int64_t panel_bytes = hn_nbits_panel_bytes(p),
            step_bytes = panel_bytes / ((p->k + HN_NBITS_STEP - 1) / HN_NBITS_STEP);
    for (int64_t q = 0; q < t->panels; q++) {
        int64_t n0 = (t->panel + q) * HN_NBITS_PANEL, g = c->first;
        if (k0 == 0 || (g % TURN == 0 && k0 % p->block == 0)) {
            load_square(p, t->call->ptr[HN_NBITS_S], false, g, n0, t->l.scales[q]);
            load_zeros(p, t->call->ptr[HN_NBITS_Z], g, n0, t->l.zeros[q]);
        }
        const char *from = (const char *)t->call->ptr[HN_NBITS_W] + (t->panel + q) * panel_bytes +
                           k0 / HN_NBITS_STEP * step_bytes;
        for (int64_t s = 0; s < c->steps; s++, from += step_bytes) {
            const float *zeros = t->l.zeros[q][(g + s / c->each) % TURN];
            char *to = t->l.w + (q * STEPS + s) * TILE;
            if (p->bits == 4)
                unpack4((const int32_t *)from, zeros, table, to);
            else
                unpack8((const int32_t *)from, zeros, to);
        }
    }
}

HN_INLINE void run_task(const int parts, const task *t, __m512i table) {
    const hn_matmul_nbits *p = t->end.p;
    const float *x = (const float *)t->call->ptr[HN_NBITS_X] + t->row * p->x_m;
    bool marked[MOST_ROWS] = {false};
    for (int64_t k0 = 0; k0 < p->k; k0 += CHUNK) {
        chunk c = {.steps = hn_least(STEPS, (p->k - k0 + HN_NBITS_STEP - 1) / HN_NBITS_STEP),
                   .first = k0 / p->block};
        c.each = p->block < CHUNK && p->block < p->k ? (int)(p->block / HN_NBITS_STEP) : STEPS;
        c.blocks = (int)((c.steps + c.each - 1) / c.each);
        split_rows(parts, p, x, t->rows, k0, t->l.x, marked);
        unpack_chunk(t, &c, k0, table);
        for (int64_t r = 0; r < t->rows; r += 2 * ROWS)
            for (int64_t q = 0; q < t->panels; q++)
                multiply(parts, &c, t->rows - r > ROWS ? 2 : 1,
                         t->l.x + r / (2 * ROWS) * STEPS * parts * 2 * TILE,
                         t->l.w + q * STEPS * TILE, t->l.scales[q], &t->l.sums[q][r], k0 == 0);
    }
    for (int64_t r = 0; r < t->rows; r++) {
        if (marked[r]) {
            run_plainly(&hn_matmul_nbits_avx512, t->call, t->row + r, t->panel, t->panels);
            continue;
        }
        for (int64_t q = 0; q < t->panels; q++) {
            hn_vf sum = hn_v_load(t->l.sums[q][r]);
            finish(&t->end, t->row + r, (t->panel + q) * HN_NBITS_PANEL, &sum);
        }
    }
}

HN_INLINE void run(const int parts, const hn_call *call, int64_t begin, int64_t end, void *lane) {
    const hn_matmul_nbits *p = call->problem;
    int64_t blocks = (p->m + MOST_ROWS - 1) / MOST_ROWS, groups = call->work->tasks[0] / blocks;
    int64_t whole = (hn_nbits_panels(p) + HN_NBITS_TASK - 1) / HN_NBITS_TASK;
    const __m512i table = small_numbers();
    task t = {.end = {p, call->ptr[HN_NBITS_BIAS], call->ptr[HN_NBITS_R], call->ptr[HN_NBITS_Y]},
              .call = call};
    divide(lane, parts, &t.l);
    hn_tiles_begin();
    for (int64_t i = begin; i < end; i++) {
        int64_t group = i / blocks;
        t.row = i % blocks * MOST_ROWS;
        t.rows = hn_least(MOST_ROWS, p->m - t.row);
        t.panel = whole * group / groups * HN_NBITS_TASK;
        t.panels =
            hn_least(hn_nbits_panels(p), whole * (group + 1) / groups * HN_NBITS_TASK) - t.panel;
        run_task(parts, &t, table);
    }
    hn_tiles_end();
}

#define ROW(symbol, row_name, parts, how, products)                                     \
    static void work_##parts(const void *problem, int lanes, hn_work *w) {              \
        work(parts, problem, lanes, w);                                                 \
    }                                                                                   \
    static void run_##parts(const hn_call *call, int phase, int64_t begin, int64_t end, \
                            void *lane) {                                               \
        (void)phase;                                                                    \
        run(parts, call, begin, end, lane);                                             \
    }                                                                                   \
    const hn_kernel symbol = {.name = row_name,                                         \
                              .isa = HN_ISA_AMX,                                        \
                              .order = "blocks in chunks of 128; " products,            \
                              .precision = how,                                         \
                              .ok = ok,                                                 \
                              .work = work_##parts,                                     \
                              .run = run_##parts,                                       \
                              .packed_bytes = hn_nbits_packed_bytes,                    \
                              .pack_key = hn_nbits_pack_key,                            \
                              .pack_tasks = hn_nbits_pack_tasks,                        \
                              .pack = hn_nbits_pack};
ROW(hn_matmul_nbits_three_amx, "amx3", 3, HN_PRECISION_F32, "three products")
ROW(hn_matmul_nbits_one_amx, "amx1", 1, HN_PRECISION_BF16, "one product")
