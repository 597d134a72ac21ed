/* matmul_nbits of codes of 4 bits by x rounded to 8 bits, for many rows: products of tiles of
 * bytes.
 *
 *   first, for each tile of x      16 rows: q, [step][row 16] lines, and units, [piece][row 16]
 *   then, for each two panels
 *       for each chunk of 512 of k
 *           codes less their zero points, [step][panel 2] tiles                 16 KB, in L1
 *           for each pair of tiles of x, for each piece
 *               C = q by codes
 *               sums += C * unit * scale
 *
 * A tile takes 64 of k, or 32 where blocks are that short. Of every 8 of k the even ones come
 * first: masks make that of a packed word. Sums are integers, so results are the bits that rows of
 * one digit give (matmul_nbits_digits_body.h), whatever the number of rows.
 *
 * Rows of x that are not rounded are left to the row for AVX-512.
 */
#include <float.h>
#include <string.h>

#include "base/cpu.h"
#include "simd/avx512.h"

#include "kernels/matmul_nbits/matmul_nbits_simd.h"
#include "simd/amx.h"

extern const hn_kernel hn_matmul_nbits_avx512;

enum {
    ROWS = 16, /* of a tile */
    LINE = 64, /* bytes of a row of codes, of sums */
    PIECE = HN_NBITS_PIECE,
    CHUNK = 512,
    AHEAD = CHUNK * HN_NBITS_PANEL / 2, /* bytes between codes in use and those being fetched */
    MOST_PIECES = 4,                    /* in PIECE of k */
    TWO = 2,                            /* panels */
    MOST_ROWS = 256,
    X_BYTES = 1 << 20, /* of the rows of a task: they stay in L2 */
    LEAST_ROWS = 9,    /* of fewer, a vector of columns takes all at a time */
};

/* How k is cut, and how a tile of x lies in scratch. */
typedef struct cut {
    int64_t piece, pieces; /* of k, that share a unit */
    int64_t step, k;       /* of a tile, of all of them */
    size_t units, plain, bytes;
} cut;

static cut cut_of(const hn_matmul_nbits *p) {
    cut c = {.piece = p->block < p->k ? hn_least(p->block, PIECE) : PIECE};
    c.pieces = (p->k + c.piece - 1) / c.piece;
    c.step = hn_least(c.piece, 64);
    c.k = c.pieces * c.piece;
    c.units = (size_t)(c.k * ROWS);
    c.plain = c.units + (size_t)c.pieces * ROWS * sizeof(float);
    c.bytes = c.plain + ROWS * sizeof(int32_t);
    return c;
}

static bool ok(const void *problem, const char **why) {
    const hn_matmul_nbits *p = problem;
    if (p->bits != 4) return *why = "codes of 8 bits", false;
    if (!p->x_rounded) return *why = "x is not rounded", false;
    if (p->m < LEAST_ROWS) return *why = "too few rows", false;
    if (p->zeros == HN_NBITS_F32) return *why = "zero points that are no codes", false;
    if (p->block < p->k && p->block != 32 && p->block != 64 && p->block % PIECE != 0)
        return *why = "blocks that do not go with steps of 32", false;
    return true;
}

/* Rows of x that a task has at most: whole pairs of tiles. */
static int64_t rows_of(const hn_matmul_nbits *p) {
    return hn_least(MOST_ROWS, max64(1, hn_of_l2(X_BYTES) / cut_of(p).k / (2 * ROWS)) * 2 * ROWS);
}

typedef struct lane_parts {
    _Alignas(64) char w[CHUNK * TWO * HN_NBITS_PANEL];
    _Alignas(64) float sums[MOST_ROWS / (2 * ROWS)][TWO][2 * ROWS][HN_NBITS_PANEL];
    square scales[TWO], zeros[TWO];
} lane_parts;

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_matmul_nbits *p = problem;
    int64_t tiles = (p->m + ROWS - 1) / ROWS, rows = rows_of(p);
    int64_t groups = (hn_nbits_panels(p) + HN_NBITS_TASK - 1) / HN_NBITS_TASK;
    *w = (hn_work){.n_phases = 2,
                   .tasks = {tiles, (p->m + rows - 1) / rows * groups},
                   .scratch = (size_t)tiles * cut_of(p).bytes,
                   .lane_scratch = sizeof(lane_parts)};
}

/* ---- x ---- */

/* n floats of a row of x, which fill up `piece` bytes; lines are `step` bytes. Or says that they
 * are not to be rounded. */
static bool round_piece(const cut *c, const float *x, int64_t n, float *unit, char *to) {
    const __m128i turn = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    __m512 most = _mm512_setzero_ps();
    __mmask16 odd = 0;
    for (int64_t i = 0; i < n; i += HN_VL) {
        __m512 a = hn_v_abs(hn_v_load_n(x + i, hn_least(HN_VL, n - i)));
        odd |= _mm512_cmp_ps_mask(a, _mm512_set1_ps(FLT_MAX), _CMP_NLE_UQ);
        most = hn_v_max(most, a);
    }
    float m = hn_v_hmax(most);
    if (odd != 0 || (m > 0 && m < HN_NBITS_TINY)) return false;
    *unit = m > 0 ? m / 127 : 0;
    __m512 over = _mm512_set1_ps(m > 0 ? 127 / m : 0);
    for (int64_t k = 0; k < c->piece; k += c->step, to += ROWS * c->step)
        for (int64_t i = 0; i < c->step; i += HN_VL) {
            int64_t left = max64(0, hn_least(HN_VL, n - k - i));
            __m512 part = hn_v_load_n(x + (left > 0 ? k + i : 0), left);
            __m128i q = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(part, over)));
            _mm_store_si128((__m128i *)(to + i), _mm_shuffle_epi8(q, turn));
        }
    return true;
}

/* Rows that fill up the tile are 0. */
static void round_tile(const hn_call *call, int64_t tile) {
    const hn_matmul_nbits *p = call->problem;
    const cut c = cut_of(p);
    char *to = (char *)call->scratch + (size_t)tile * c.bytes;
    float *units = (float *)(to + c.units);
    int32_t *plain = (int32_t *)(to + c.plain);
    int64_t rows = hn_least(ROWS, p->m - tile * ROWS);
    if (rows < ROWS) memset(to, 0, c.bytes);
    for (int64_t r = 0; r < rows; r++) {
        const float *x = (const float *)call->ptr[HN_NBITS_X] + (tile * ROWS + r) * p->x_m;
        plain[r] = 0;
        for (int64_t i = 0; i < c.pieces && plain[r] == 0; i++) {
            int64_t k = i * c.piece;
            char *line = to + k * ROWS + r * c.step;
            if (!round_piece(&c, x + k, hn_least(c.piece, p->k - k), &units[i * ROWS + r], line))
                plain[r] = 1;
        }
    }
}

/* ---- products ---- */

typedef struct task {
    ending end;
    const hn_call *call;
    cut cut;
    int64_t row, rows, panel, panels; /* panels: one or two */
    lane_parts *l;
} task;

/* n of k of a panel, a multiple of 8, to lines from `to` on. */
HN_INLINE void unpack_piece(const char *from, int64_t n, __m512i z, char *to, int64_t apart,
                            int64_t step) {
    const __m512i low = _mm512_set1_epi8(15);
    for (int64_t k = 0; k < n; k += step, to += apart)
        for (int64_t i = 0; i < hn_least(step, n - k); i += 8, from += LINE) {
            __m512i w = _mm512_loadu_si512(from);
            __builtin_prefetch((const void *)((uintptr_t)from + AHEAD), 0, 2);
            __m512i even = _mm512_and_si512(w, low);
            __m512i odd = _mm512_and_si512(_mm512_srli_epi32(w, 4), low);
            _mm512_store_si512(to + i / 8 * 2 * LINE, _mm512_sub_epi8(even, z));
            _mm512_store_si512(to + i / 8 * 2 * LINE + LINE, _mm512_sub_epi8(odd, z));
        }
}

/* The codes of a chunk from k0 on. Behind the last of k anything may stand: q is 0 there. */
static void unpack(const task *t, int64_t k0) {
    const hn_matmul_nbits *p = t->end.p;
    /* The lowest byte of each word, four times. */
    const __m512i all = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    int64_t step = t->cut.step, piece = t->cut.piece;
    for (int64_t q = 0; q < t->panels; q++) {
        int64_t n0 = (t->panel + q) * HN_NBITS_PANEL, bytes = hn_nbits_panel_bytes(p);
        const char *from = (const char *)t->call->ptr[HN_NBITS_W] + (t->panel + q) * bytes;
        for (int64_t k = k0; k < hn_least(k0 + CHUNK, t->cut.k); k += piece) {
            int64_t g = k / p->block, left = (hn_least(piece, p->k - k) + 7) / 8 * 8;
            char *to = t->l->w + ((k - k0) * TWO + q * step) * HN_NBITS_PANEL;
            if (k == g * p->block && g % TURN == 0) {
                load_square(p, t->call->ptr[HN_NBITS_S], false, g, n0, t->l->scales[q]);
                load_zeros(p, t->call->ptr[HN_NBITS_Z], g, n0, t->l->zeros[q]);
            }
            __m512i z = _mm512_cvtps_epi32(hn_v_load(t->l->zeros[q][g % TURN]));
            z = _mm512_shuffle_epi8(z, all);
            unpack_piece(from + k / 8 * LINE, left, z, to, TWO * step * HN_NBITS_PANEL, step);
        }
    }
}

/* Pieces [first, first + n) of k, which make up PIECE or what is left, of one panel by a pair of
 * tiles of x, or by one; what C they give. */
typedef struct group {
    int64_t first, n, q, tile, halves;
    _Alignas(64) int32_t c[MOST_PIECES][2][ROWS][HN_NBITS_PANEL];
} group;

/* tiles 0-1: C, 2: x, 3: codes; why four of the eight, conv_q8_amx.c says. */
static void multiply(const task *t, int64_t k0, group *o) {
    const cut *u = &t->cut;
    int64_t step = u->step;
    const char *x = (const char *)t->call->scratch + (size_t)o->tile * u->bytes;
    for (int64_t i = 0; i < o->n; i++) {
        int64_t k = (o->first + i) * u->piece, end = k + u->piece;
        HN_TILE_ZERO(0);
        HN_TILE_ZERO(1);
        for (; k < end; k += step) {
            const char *a = x + k * ROWS;
            HN_TILE_LOAD(3, t->l->w + ((k - k0) * TWO + o->q * step) * HN_NBITS_PANEL, LINE);
            HN_TILE_LOAD(2, a, step);
            HN_TILE_DOT_S8(0, 2, 3);
            if (o->halves == 1) continue;
            HN_TILE_LOAD(2, a + u->bytes, step);
            HN_TILE_DOT_S8(1, 2, 3);
        }
        HN_TILE_STORE(0, o->c[i][0], LINE);
        if (o->halves == 2) HN_TILE_STORE(1, o->c[i][1], LINE);
    }
}

/* Adds it to the sums. */
HN_INLINE void add_as(const int pieces, const task *t, const group *o) {
    const cut *u = &t->cut;
    int64_t g = o->first * u->piece / t->end.p->block;
    const char *x = (const char *)t->call->scratch + (size_t)o->tile * u->bytes + u->units;
    float(*sums)[HN_NBITS_PANEL] = t->l->sums[(o->tile * ROWS - t->row) / (2 * ROWS)][o->q];
    __m512 scale[MOST_PIECES];
#pragma GCC unroll 4
    for (int i = 0; i < pieces; i++) scale[i] = hn_v_load(t->l->scales[o->q][(g + i) % TURN]);
    for (int64_t h = 0; h < o->halves; h++, x += u->bytes, sums += ROWS) {
        const float *units = (const float *)x + o->first * ROWS;
        for (int r = 0; r < ROWS; r++) {
            __m512 sum = o->first == 0 ? _mm512_setzero_ps() : _mm512_load_ps(sums[r]);
#pragma GCC unroll 4
            for (int i = 0; i < pieces; i++) {
                __m512 part = _mm512_cvtepi32_ps(_mm512_load_si512(o->c[i][h][r]));
                part = _mm512_mul_ps(part, _mm512_set1_ps(units[i * ROWS + r]));
                sum = _mm512_fmadd_ps(scale[i], part, sum);
            }
            _mm512_store_ps(sums[r], sum);
        }
    }
}

static void add(const task *t, const group *o) {
    switch (o->n) {
        case 1: add_as(1, t, o); break;
        case 2: add_as(2, t, o); break;
        case 3: add_as(3, t, o); break;
        default: add_as(4, t, o); break;
    }
}

/* A chunk. A group is added while the next one is multiplied: what tiles hold is in memory late. */
static void run_chunk(const task *t, int64_t k0) {
    const cut *u = &t->cut;
    int64_t tiles = (t->rows + ROWS - 1) / ROWS, each = PIECE / u->piece;
    int64_t begin = k0 / u->piece, end = hn_least(u->pieces, begin + CHUNK / u->piece);
    group groups[2];
    int at = 0;
    bool any = false;
    for (int64_t tile = 0; tile < tiles; tile += 2)
        for (int64_t i = begin; i < end; i += each)
            for (int64_t q = 0; q < t->panels; q++) {
                group *o = &groups[at];
                o->first = i, o->n = hn_least(each, end - i), o->q = q;
                o->tile = t->row / ROWS + tile, o->halves = hn_least(2, tiles - tile);
                multiply(t, k0, o);
                at = !at;
                if (any) add(t, &groups[at]);
                any = true;
            }
    add(t, &groups[!at]);
}

static bool is_plain(const task *t, int64_t row) {
    const char *tile = (const char *)t->call->scratch + (size_t)(row / ROWS) * t->cut.bytes;
    return ((const int32_t *)(tile + t->cut.plain))[row % ROWS] != 0;
}

static void run_panels(const task *t) {
    for (int64_t k0 = 0; k0 < t->cut.k; k0 += CHUNK) {
        unpack(t, k0);
        run_chunk(t, k0);
    }
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t q = 0; q < t->panels && !is_plain(t, t->row + r); q++) {
            hn_vf sum = hn_v_load(t->l->sums[r / (2 * ROWS)][q][r % (2 * ROWS)]);
            finish(&t->end, t->row + r, (t->panel + q) * HN_NBITS_PANEL, &sum);
        }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_matmul_nbits *p = call->problem;
    if (phase == 0) {
        for (int64_t i = begin; i < end; i++) round_tile(call, i);
        return;
    }
    int64_t groups = (hn_nbits_panels(p) + HN_NBITS_TASK - 1) / HN_NBITS_TASK;
    task t = {.end = {p, call->ptr[HN_NBITS_BIAS], call->ptr[HN_NBITS_R], call->ptr[HN_NBITS_Y]},
              .call = call,
              .cut = cut_of(p),
              .l = lane};
    hn_tiles tiles = hn_tiles_whole();
    tiles.bytes[2] = (uint16_t)t.cut.step;
    tiles.rows[3] = (uint8_t)(t.cut.step / 4);
    hn_tiles_begin_as(&tiles);
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % groups * HN_NBITS_TASK;
        int64_t to = hn_least(hn_nbits_panels(p), from + HN_NBITS_TASK);
        t.row = i / groups * rows_of(p);
        t.rows = hn_least(rows_of(p), p->m - t.row);
        for (t.panel = from; t.panel < to; t.panel += TWO) {
            t.panels = hn_least(TWO, to - t.panel);
            run_panels(&t);
        }
        for (int64_t r = t.row; r < t.row + t.rows; r++)
            if (is_plain(&t, r)) run_plainly(&hn_matmul_nbits_avx512, call, r, from, to - from);
    }
    hn_tiles_end();
}

const hn_kernel hn_matmul_nbits_digits_amx = {
    .name = "amx8",
    .isa = HN_ISA_AMX,
    .order = "blocks, of digits",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = hn_nbits_packed_bytes,
    .pack_key = hn_nbits_pack_key,
    .pack_tasks = hn_nbits_pack_tasks,
    .pack = hn_nbits_pack,
};
