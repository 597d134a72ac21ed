/* matmul_nbits by dot products of bytes: x becomes integers, for each block of k a unit and digits of
 * 8 bits,
 *
 *   x[k] = unit * q[k],   q[k] = 2^16 d2 + 2^8 d1 + d0         -128 <= d <= 127
 *
 * so that sums of a digit by codes are integers, and exact. What is lost is lost in q: half a unit,
 * at most 2^-23 of the largest |x| of the block. Of x rounded to 8 bits there is one digit.
 *
 *   first, for each row of x       digits, [k / 8][digit] pairs of 4 bytes, and for each block its
 *                                  unit and the sum of q
 *   then, for each block           one row, one vector of columns
 *       d = 0
 *       for each word w of the block
 *           d += w & 0x0f0f0f0f . digits of k, k + 2 ...       one instruction for each digit
 *           d += w >> 4 & 0x0f0f0f0f . digits of k + 1, k + 3 ...
 *       sum += (2^16 d2 + 2^8 d1 + d0 - z * sum of q) * unit * s
 *
 * A word of 8-bit codes holds four k that follow each other, and so do its digits. Where DOT takes
 * unsigned codes, these are 128 more than they count, and sums begin at -128 times that of the digits.
 *
 * That is a third of the instructions of a multiplication for each code. Blocks are cut at PIECE,
 * for no sum to need more bits than a float has. Rows of x that have no such digits are left to the
 * row over the vector vocabulary: those that hold an infinity or NaN, or are tiny.
 *
 * The file that includes this brings
 *
 *   DOT(sum, codes, digits)   of four unsigned bytes by four signed ones in each lane
 *   DOT_STEPS                 instructions that takes; with more than one, codes have 4 bits
 *   HIGH_CODES(w)             the upper codes of bytes, where that takes less than a shift and a mask
 *   SIGNED_CODES              defined where codes are signed bytes, too
 *   PLAIN                     the row over the vector vocabulary
 *   ROW, NAME, ISA            of the hn_kernel
 */
#ifdef DOT
#include <string.h>

#include "kernels/matmul_nbits/matmul_nbits_simd.h"

extern const hn_kernel PLAIN;

enum {
    PIECE = HN_NBITS_PIECE,
    WIDE = HN_VL / 4,           /* panels for one row: 4 vectors */
    BOTH = HN_VL == 16 ? 2 : 1, /* panels for several rows: */
    FEW = HN_VL == 16 ? 4 : 2,  /* of three digits, what registers hold */
    MANY = 2 * FEW,             /* of one */
    MOST = 4,                   /* vectors */
    AHEAD = 2048                /* bytes of a panel between words in use and those being fetched */
};

typedef struct piece {
    float unit, sum;
    int32_t start[3]; /* of the sums of 8-bit codes, for each digit */
} piece;

#ifdef SIGNED_CODES
enum { MORE = 0 };
#else
enum { MORE = 128 }; /* that 8-bit codes have when they are multiplied */
#endif

/* A row of x. */
typedef struct split {
    int32_t *digits;
    piece *pieces;
    int32_t *plain; /* there are none */
} split;

static int digits_of(const hn_matmul_nbits *p) { return p->x_rounded ? 1 : 3; }

static size_t digits_bytes(const hn_matmul_nbits *p) {
    int64_t words = hn_nbits_blocks(p) * ((p->block + 7) / 8);
    return (size_t)(words * digits_of(p)) * 2 * sizeof(int32_t);
}

static size_t pieces_bytes(const hn_matmul_nbits *p) {
    return (size_t)(hn_nbits_blocks(p) * ((p->block + PIECE - 1) / PIECE)) * sizeof(piece);
}

static size_t split_bytes(const hn_matmul_nbits *p) {
    return (digits_bytes(p) + pieces_bytes(p) + sizeof(int32_t) + 63) / 64 * 64;
}

/* Where that row of x is split. */
static split split_at(const hn_call *call, int64_t row) {
    const hn_matmul_nbits *p = call->problem;
    char *at = (char *)call->scratch + (size_t)row * split_bytes(p);
    char *pieces = at + digits_bytes(p);
    return (split){(int32_t *)at, (piece *)pieces, (int32_t *)(pieces + pieces_bytes(p))};
}

/* ---- digits ---- */

/* n <= PIECE floats. These CPUs convert floats of any size. */
HN_INLINE void split_piece(const int bits, const int digits, const float *x, int64_t n, float over,
                           piece *into, int32_t *to) {
    float q[PIECE];
    int64_t total = 0;
    int32_t sums[3] = {0};
    for (int64_t i = 0; i < (n + 7) / 8 * 8; i += HN_VL) {
        hn_vf part = hn_v_load_n(x + (i < n ? i : 0), max64(0, hn_least(HN_VL, n - i)));
        hn_v_store(q + i, hn_v_from_bits(hn_v_to_int(hn_v_mul(part, hn_v_set1(over)))));
    }
    for (int64_t i = 0; i < n; i += 8) {
        uint32_t bytes[8];
        memcpy(bytes, q + i, sizeof bytes);
        for (int j = 0; j < 8; j++) {
            total += (int32_t)bytes[j];
            bytes[j] = (bytes[j] + 0x808080) ^ 0x808080;
        }
        for (int d = 0; d < digits; d++)
            for (int odd = 0; odd < 2; odd++) {
                uint32_t four = 0;
                for (int j = 0; j < 4; j++) {
                    int k = bits == 8 ? 4 * odd + j : 2 * j + odd;
                    uint32_t digit = bytes[k] >> 8 * (digits - 1 - d) & 255;
                    four |= digit << 8 * j;
                    if (bits == 8) sums[d] += (int8_t)digit;
                }
                *to++ = (int32_t)four;
            }
    }
    into->sum = (float)total;
    for (int d = 0; d < 3; d++) into->start[d] = -MORE * sums[d];
}

HN_INLINE void split_row(const int bits, const int digits, const hn_matmul_nbits *p, const float *x,
                         split *s) {
    int32_t *to = s->digits;
    piece *at = s->pieces;
    for (int64_t g = 0; g < p->k; g += p->block) {
        int64_t end = hn_least(p->k, g + p->block);
        for (int64_t k = g; k < end; k += PIECE, at++) {
            int64_t n = hn_least(PIECE, end - k);
            float over;
            if (!find_unit(digits, x + k, n, &at->unit, &over)) {
                *s->plain = 1;
                return;
            }
            split_piece(bits, digits, x + k, n, over, at, to);
            to += (n + 7) / 8 * digits * 2;
        }
    }
    *s->plain = 0;
}

/* ---- products ---- */

typedef struct job {
    ending end;
    const hn_call *call;
    hn_vf (*sums)[MOST]; /* in the scratch of the lane: registers hold those of the digits */
    int64_t row, rows, panel, panels; /* to be computed; no more than there are at a time */
} job;

/* Codes of 8 k of the vector at w: of even k and of odd k, or the first four and the others. */
HN_INLINE void load_codes(const int bits, const int32_t *w, hn_vi *codes) {
    hn_vi first = hn_vi_load(w);
    if (bits == 4) {
        const hn_vi low = hn_vi_set1(0x0f0f0f0f);
        codes[0] = hn_vi_and(first, low);
#ifdef HIGH_CODES
        codes[1] = HIGH_CODES(first);
#else
        codes[1] = hn_vi_and(hn_vi_shr(first, 4), low);
#endif
        return;
    }
    const hn_vf more = hn_v_from_bits(hn_vi_set1((int32_t)(MORE * 0x01010101U)));
    hn_vi second = hn_vi_load(w + HN_NBITS_PANEL);
    codes[0] = hn_v_bits(hn_v_xor(hn_v_from_bits(first), more));
    codes[1] = hn_v_bits(hn_v_xor(hn_v_from_bits(second), more));
}

/* `rows` rows by `panels` panels. */
HN_INLINE void multiply_as(const int bits, const int digits, const int rows, const int panels,
                           const job *t) {
    const int vectors = panels * VECTORS, words = bits / 4; /* that hold 8 k */
    const hn_matmul_nbits *p = t->end.p;
    const int32_t *w[WIDE];
    const int32_t *x[MANY];
    const piece *pieces[MANY];
    int64_t word = 0, at = 0; /* of the digits, of the pieces */
    square scales[WIDE], zeros[WIDE];
    for (int r = 0; r < rows; r++) {
        split s = split_at(t->call, t->row + hn_least(r, t->rows - 1));
        x[r] = s.digits;
        pieces[r] = s.pieces;
        for (int v = 0; v < vectors; v++) t->sums[r][v] = hn_v_set1(0.0f);
    }
    for (int q = 0; q < panels; q++)
        w[q] = (const int32_t *)((const char *)t->call->ptr[HN_NBITS_W] +
                                 (t->panel + hn_least(q, t->panels - 1)) * hn_nbits_panel_bytes(p));
    int64_t blocks = hn_nbits_blocks(p);
    for (int64_t g = 0; g < blocks; g++) {
        for (int q = 0; q < panels && g % TURN == 0; q++) {
            int64_t n0 = (t->panel + hn_least(q, t->panels - 1)) * HN_NBITS_PANEL;
            load_square(p, t->call->ptr[HN_NBITS_S], false, g, n0, scales[q]);
            if (g == 0 || p->zeros != HN_NBITS_ONE)
                load_zeros(p, t->call->ptr[HN_NBITS_Z], g, n0, zeros[q]);
        }
        int64_t left = hn_least(p->block, p->k - g * p->block);
        for (; left > 0; left -= PIECE, at++) {
            hn_vi sum[MANY][MOST][3];
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++)
#pragma GCC unroll 3
                    for (int d = 0; d < digits; d++)
                        sum[r][v][d] = hn_vi_set1(bits == 8 ? pieces[r][at].start[d] : 0);
            for (int64_t i = (hn_least(left, PIECE) + 7) / 8; i > 0; i--, word += 2 * digits) {
                hn_vi codes[MOST][2];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++)
                    load_codes(bits, w[v / VECTORS] + v % VECTORS * HN_VL, codes[v]);
                for (int q = 0; q < panels; q++)
#pragma GCC unroll 2
                    for (int half = 0; half < words; half++, w[q] += HN_NBITS_PANEL)
                        __builtin_prefetch((const void *)((uintptr_t)w[q] + AHEAD), 0, 2);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
                    for (int odd = 0; odd < 2; odd++)
#pragma GCC unroll 3
                        for (int d = 0; d < digits; d++) {
                            hn_vi four = hn_vi_set1(x[r][word + 2 * d + odd]);
#pragma GCC unroll 4
                            for (int v = 0; v < vectors; v++)
                                sum[r][v][d] = DOT(sum[r][v][d], codes[v][odd], four);
                        }
            }
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                int q = v / VECTORS, column = v % VECTORS * HN_VL;
                hn_vf scale = hn_v_load(&scales[q][g % TURN][column]);
                hn_vf z = hn_v_load(&zeros[q][g % TURN][column]);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++) {
                    hn_vf part = value_of(digits, sum[r][v]);
                    part = hn_v_fnma(z, hn_v_set1(pieces[r][at].sum), part);
                    part = hn_v_mul(part, hn_v_set1(pieces[r][at].unit));
                    t->sums[r][v] = hn_v_fma(scale, part, t->sums[r][v]);
                }
            }
        }
    }
    for (int r = 0; r < t->rows; r++)
        for (int q = 0; q < t->panels; q++)
            finish(&t->end, t->row + r, (t->panel + q) * HN_NBITS_PANEL, t->sums[r] + q * VECTORS);
}

#define WITH(name, bits, digits, rows, panels) \
    static void name(const job *t) { multiply_as(bits, digits, rows, panels, t); }
WITH(one_1, 4, 1, 1, WIDE)
WITH(one_3, 4, 3, 1, WIDE)
WITH(many_1, 4, 1, MANY, BOTH)
WITH(many_3, 4, 3, FEW, BOTH)
#if DOT_STEPS == 1
WITH(one_of_8_bits, 8, 3, 1, WIDE)
WITH(many_of_8_bits, 8, 3, FEW, BOTH)
#else
#define one_of_8_bits one_3 /* not called: see ok */
#define many_of_8_bits many_3
#endif

/* Rows [row, row + rows) by panels of whole tasks. */
static void run_rows(job *t, int64_t first, int64_t last) {
    bool one = t->rows == 1, rounded = t->end.p->x_rounded, bytes = t->end.p->bits == 8;
    for (t->panel = first; t->panel < last; t->panel += t->panels) {
        t->panels = hn_least(one ? WIDE : BOTH, last - t->panel);
        if (one)
            (bytes ? one_of_8_bits : rounded ? one_1 : one_3)(t);
        else
            (bytes ? many_of_8_bits : rounded ? many_1 : many_3)(t);
    }
}

/* ---- the row ---- */

static bool ok(const void *problem, const char **why) {
    const hn_matmul_nbits *p = problem;
    if (p->bits != 4 && (DOT_STEPS > 1 || p->x_rounded)) return *why = "codes of 8 bits", false;
    if (DOT_STEPS > 1 && !p->x_rounded && p->m > 1)
        return *why = "several rows of three digits", false;
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_matmul_nbits *p = problem;
    *w = (hn_work){.n_phases = 2,
                   .tasks = {p->m, (hn_nbits_panels(p) + HN_NBITS_TASK - 1) / HN_NBITS_TASK},
                   .scratch = (size_t)p->m * split_bytes(p),
                   .lane_scratch = sizeof(hn_vf[MANY][MOST])};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_matmul_nbits *p = call->problem;
    job t = {.end = {p, call->ptr[HN_NBITS_BIAS], call->ptr[HN_NBITS_R], call->ptr[HN_NBITS_Y]},
             .call = call,
             .sums = lane};
    if (phase == 0) {
        for (int64_t i = begin; i < end; i++) {
            const float *x = (const float *)call->ptr[HN_NBITS_X] + i * p->x_m;
            split s = split_at(call, i);
            if (p->bits == 8)
                split_row(8, 3, p, x, &s);
            else if (p->x_rounded)
                split_row(4, 1, p, x, &s);
            else
                split_row(4, 3, p, x, &s);
        }
        return;
    }
    int64_t first = begin * HN_NBITS_TASK, last = hn_least(end * HN_NBITS_TASK, hn_nbits_panels(p));
    for (t.row = 0; t.row < p->m; t.row += t.rows) {
        /* As many rows as have digits, or one that has none. */
        bool plain = false;
        for (t.rows = 0; t.rows < hn_least(p->x_rounded ? MANY : FEW, p->m - t.row); t.rows++) {
            if (*split_at(call, t.row + t.rows).plain != 0) {
                plain = t.rows == 0;
                break;
            }
        }
        if (plain) {
            t.rows = 1;
            t.panel = first, t.panels = last - first;
            run_plainly(&PLAIN, t.call, t.row, t.panel, t.panels);
        } else {
            run_rows(&t, first, last);
        }
    }
}

const hn_kernel ROW = {
    .name = NAME,
    .isa = ISA,
    .order = "blocks, of digits",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = hn_nbits_packed_bytes,
    .pack_key = hn_nbits_pack_key,
    .pack_tasks = hn_nbits_pack_tasks,
    .pack = hn_nbits_pack,
};

#endif
