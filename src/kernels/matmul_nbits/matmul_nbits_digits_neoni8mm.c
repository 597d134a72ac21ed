/* matmul_nbits of several rows by products of 2 by 8 with 8 by 2 bytes. What is multiplied is that
 * of matmul_nbits_digits_body.h, and so are the sums of floats, in the same order; here
 *
 *   x      pairs of rows, [k / 8][digit][row 2][8] bytes; for each piece of k the units of both and
 *          the sums of q, each twice, as sums of two rows by two columns lie
 *   codes  of a piece, for all panels of a task, unpacked once for many rows:
 *          [panel][k / 8][column / 2][column 2][8] bytes
 *
 * A tile is PAIRS pairs of rows by 8 columns: its sums of a piece, for each digit, stay in registers. */
#if defined(__GNUC__) && !defined(__clang__)
/* GCC 12 would move loads so far ahead that sums spill. */
#pragma GCC optimize("no-schedule-insns")
#endif
#include "simd/neon.h"

#include "kernels/matmul_nbits/matmul_nbits_simd.h"

extern const hn_kernel hn_matmul_nbits_neon;

enum {
    PIECE = HN_NBITS_PIECE,
    STEPS = PIECE / 8,         /* of a piece */
    TWOS = HN_NBITS_PANEL / 2, /* pairs of columns of a panel */
    TILE = 4,                  /* of a tile */
    PAIRS_AT_ONCE = 32,        /* of rows, by the codes that are unpacked once */
    FEW_ROWS = 3,
    FEW_ROUNDED = 7,       /* that vectors along columns are better for */
    STEP_BYTES = TWOS * 16 /* of the codes of a panel */
};

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Of a piece of a pair of rows, as {row 0, row 0, row 1, row 1}. */
typedef struct piece {
    float unit[4], sum[4];
} piece;

/* A pair of rows of x. */
typedef struct split {
    int8_t *digits;
    piece *pieces;
    int32_t *plain; /* [2]: a row has none */
} split;

typedef struct room {
    int8_t codes[HN_NBITS_TASK][STEPS][TWOS][16];
    float32x4_t sums[PAIRS_AT_ONCE][HN_NBITS_TASK][TWOS];
    square scales[HN_NBITS_TASK], zeros[HN_NBITS_TASK];
} room;

static int digits_of(const hn_matmul_nbits *p) { return p->x_rounded ? 1 : 3; }

static int64_t pairs_of(const hn_matmul_nbits *p) { return (p->m + 1) / 2; }

static size_t digits_bytes(const hn_matmul_nbits *p) {
    int64_t steps = hn_nbits_blocks(p) * ((p->block + 7) / 8);
    return (size_t)(steps * digits_of(p)) * 16;
}

static size_t pieces_bytes(const hn_matmul_nbits *p) {
    return (size_t)(hn_nbits_blocks(p) * ((p->block + PIECE - 1) / PIECE)) * sizeof(piece);
}

static size_t split_bytes(const hn_matmul_nbits *p) {
    return (digits_bytes(p) + pieces_bytes(p) + 2 * sizeof(int32_t) + 63) / 64 * 64;
}

static split split_at(const hn_call *call, int64_t pair) {
    const hn_matmul_nbits *p = call->problem;
    char *at = (char *)call->scratch + (size_t)pair * split_bytes(p);
    char *pieces = at + digits_bytes(p);
    return (split){(int8_t *)at, (piece *)pieces, (int32_t *)(pieces + pieces_bytes(p))};
}

/* ---- digits ---- */

/* Digits of n <= PIECE floats, to every other 8 bytes. Returns the sum of q. */
HN_INLINE float split_piece(const int digits, const float *x, int64_t n, float over, int8_t *to) {
    const uint32x4_t half = vdupq_n_u32(0x808080);
    int32x4_t total = vdupq_n_s32(0); /* less than 2^30 */
    for (int64_t i = 0; i < n; i += 8, to += 16 * digits) {
        uint32x4_t t[2];
        for (int j = 0; j < 2; j++) {
            int64_t left = max64(0, hn_least(HN_VL, n - i - 4 * j));
            hn_vf part = hn_v_load_n(x + (left > 0 ? i + 4 * j : 0), left);
            int32x4_t q = vcvtnq_s32_f32(hn_v_mul(part, hn_v_set1(over)));
            total = vaddq_s32(total, q);
            t[j] = veorq_u32(vaddq_u32(vreinterpretq_u32_s32(q), half), half);
        }
        uint16x8_t a = vreinterpretq_u16_u32(t[0]), b = vreinterpretq_u16_u32(t[1]);
        uint8x16_t low = vreinterpretq_u8_u16(vuzp1q_u16(a, b));
        uint8x16_t high = vreinterpretq_u8_u16(vuzp2q_u16(a, b));
        if (digits == 3) {
            vst1_u8((uint8_t *)to, vget_low_u8(vuzp1q_u8(high, high)));
            vst1_u8((uint8_t *)to + 16, vget_low_u8(vuzp2q_u8(low, low)));
        }
        vst1_u8((uint8_t *)to + 16 * (digits - 1), vget_low_u8(vuzp1q_u8(low, low)));
    }
    return (float)vaddvq_s32(total);
}

/* Row `side` of a pair; false: it has no digits. */
HN_INLINE bool split_row(const int digits, const hn_matmul_nbits *p, const float *x, int side,
                         const split *s) {
    int8_t *to = s->digits + 8 * side;
    piece *at = s->pieces;
    for (int64_t g = 0; g < p->k; g += p->block) {
        int64_t end = hn_least(p->k, g + p->block);
        for (int64_t k = g; k < end; k += PIECE, at++) {
            int64_t n = hn_least(PIECE, end - k);
            float unit, over;
            if (!find_unit(digits, x + k, n, &unit, &over)) return false;
            float sum = split_piece(digits, x + k, n, over, to);
            for (int i = 0; i < 2; i++) at->unit[2 * side + i] = unit, at->sum[2 * side + i] = sum;
            to += (n + 7) / 8 * 16 * digits;
        }
    }
    return true;
}

/* A row without digits, or that there is not, counts as zeros. */
static void clear_row(const hn_matmul_nbits *p, int side, const split *s) {
    const int64_t pieces = (int64_t)(pieces_bytes(p) / sizeof(piece));
    for (size_t i = 0; i < digits_bytes(p); i += 16) memset(s->digits + i + 8 * side, 0, 8);
    for (int64_t i = 0; i < pieces; i++)
        for (int k = 0; k < 2; k++)
            s->pieces[i].unit[2 * side + k] = s->pieces[i].sum[2 * side + k] = 0;
}

static void split_pair(const hn_call *call, int64_t pair) {
    const hn_matmul_nbits *p = call->problem;
    const split s = split_at(call, pair);
    for (int side = 0; side < 2; side++) {
        const int64_t row = 2 * pair + side;
        const float *x = (const float *)call->ptr[HN_NBITS_X] + row * p->x_m;
        const bool there = row < p->m;
        const bool good =
            there && (p->x_rounded ? split_row(1, p, x, side, &s) : split_row(3, p, x, side, &s));
        if (!good) clear_row(p, side, &s);
        s.plain[side] = there && !good;
    }
}

/* ---- products ---- */

/* Codes of `steps` times 8 k of a panel. */
static void unpack(const int bits, const int32_t *w, int64_t steps, int8_t (*to)[TWOS][16]) {
    const uint8x16_t low = vdupq_n_u8(15);
    for (int64_t i = 0; i < steps; i++, w += HN_NBITS_PANEL * bits / 4)
        for (int c = 0; c < TWOS; c += 2) {
            int8_t *at = to[i][c];
            if (bits == 4) {
                uint8x16_t four = vreinterpretq_u8_s32(vld1q_s32(w + 2 * c));
                uint8x16_t even = vandq_u8(four, low), odd = vshrq_n_u8(four, 4);
                vst1q_u8((uint8_t *)at, vzip1q_u8(even, odd));
                vst1q_u8((uint8_t *)at + 16, vzip2q_u8(even, odd));
            } else {
                int32x4_t first = vld1q_s32(w + 2 * c);
                int32x4_t second = vld1q_s32(w + HN_NBITS_PANEL + 2 * c);
                vst1q_s8(at, vreinterpretq_s8_s32(vzip1q_s32(first, second)));
                vst1q_s8(at + 16, vreinterpretq_s8_s32(vzip2q_s32(first, second)));
            }
        }
}

/* A piece of `pairs` pairs of rows by TILE pairs of columns, of which scales and zero points are
 * those of 2 TILE columns. */
HN_INLINE void add_tile(const int digits, const int pairs, const int8_t *const *x,
                        const piece *const *pieces, int64_t steps, const int8_t *codes,
                        const float *scales, const float *zeros,
                        float32x4_t (*sums)[HN_NBITS_TASK][TWOS]) {
    int32x4_t d[4][TILE][3];
    UNROLL for (int r = 0; r < pairs; r++) {
        UNROLL for (int c = 0; c < TILE; c++) {
            UNROLL for (int k = 0; k < digits; k++) d[r][c][k] = vdupq_n_s32(0);
        }
    }
    for (int64_t i = 0; i < steps; i++) {
        int8x16_t w[TILE];
        UNROLL for (int c = 0; c < TILE; c++) w[c] = vld1q_s8(codes + i * STEP_BYTES + 16 * c);
        UNROLL for (int r = 0; r < pairs; r++) {
            UNROLL for (int k = 0; k < digits; k++) {
                const int8x16_t a = vld1q_s8(x[r] + (i * digits + k) * 16);
                UNROLL for (int c = 0; c < TILE; c++) d[r][c][k] = vmmlaq_s32(d[r][c][k], a, w[c]);
            }
        }
    }
    UNROLL for (int c = 0; c < TILE; c++) {
        const hn_vf scale = vreinterpretq_f32_f64(vld1q_dup_f64((const void *)(scales + 2 * c)));
        const hn_vf zero = vreinterpretq_f32_f64(vld1q_dup_f64((const void *)(zeros + 2 * c)));
        UNROLL for (int r = 0; r < pairs; r++) {
            float32x4_t *sum = &sums[r][0][c];
            hn_vf part = value_of(digits, d[r][c]);
            part = hn_v_fnma(zero, hn_v_load(pieces[r]->sum), part);
            part = hn_v_mul(part, hn_v_load(pieces[r]->unit));
            *sum = hn_v_fma(scale, part, *sum);
        }
    }
}

/* Pairs of rows from `first` on, and panels from `panel` on, of one task. */
typedef struct block {
    const hn_call *call;
    room *room;
    int64_t first, pairs, panel, panels;
} block;

/* That piece, whose digits begin at step `step`, of pairs [i, i + pairs) of the block. */
HN_INLINE void add_pairs(const int digits, const int pairs, const block *b, int64_t i, int64_t at,
                         int64_t step, int64_t steps, int64_t g) {
    const int8_t *x[4];
    const piece *pieces[4];
    for (int r = 0; r < pairs; r++) {
        const split s = split_at(b->call, b->first + i + r);
        x[r] = s.digits + step * digits * 16;
        pieces[r] = s.pieces + at;
    }
    for (int64_t q = 0; q < b->panels; q++)
        for (int c = 0; c < TWOS; c += TILE) {
            float32x4_t(*sums)[HN_NBITS_TASK][TWOS] =
                (void *)((char *)b->room->sums[i] + (size_t)(q * TWOS + c) * 16);
            add_tile(digits, pairs, x, pieces, steps, b->room->codes[q][0][c],
                     &b->room->scales[q][g][2 * c], &b->room->zeros[q][g][2 * c], sums);
        }
}

HN_INLINE void add_piece(const int digits, const int most, const block *b, int64_t at, int64_t step,
                         int64_t steps, int64_t g) {
    int64_t i = 0;
    for (; i + most <= b->pairs; i += most) add_pairs(digits, most, b, i, at, step, steps, g);
    for (; i < b->pairs; i++) add_pairs(digits, 1, b, i, at, step, steps, g);
}

static void finish_pairs(const block *b) {
    const hn_call *call = b->call;
    const ending end = {call->problem, call->ptr[HN_NBITS_BIAS], call->ptr[HN_NBITS_R],
                        call->ptr[HN_NBITS_Y]};
    for (int64_t i = 0; i < b->pairs; i++) {
        const int32_t *plain = split_at(call, b->first + i).plain;
        for (int64_t q = 0; q < b->panels; q++) {
            const float32x4_t *s = b->room->sums[i][q];
            const int64_t row = 2 * (b->first + i), n0 = (b->panel + q) * HN_NBITS_PANEL;
            hn_vf v[2][VECTORS];
            for (int j = 0; j < VECTORS; j++) {
                v[0][j] = vcombine_f32(vget_low_f32(s[2 * j]), vget_low_f32(s[2 * j + 1]));
                v[1][j] = vcombine_f32(vget_high_f32(s[2 * j]), vget_high_f32(s[2 * j + 1]));
            }
            for (int side = 0; side < 2 && row + side < end.p->m; side++)
                if (!plain[side]) finish(&end, row + side, n0, v[side]);
        }
        for (int side = 0; side < 2; side++)
            if (plain[side])
                run_plainly(&hn_matmul_nbits_neon, call, 2 * (b->first + i) + side, b->panel,
                            b->panels);
    }
}

static void run_block(const block *b) {
    const hn_matmul_nbits *p = b->call->problem;
    const int64_t blocks = hn_nbits_blocks(p);
    const char *w = (const char *)b->call->ptr[HN_NBITS_W] + b->panel * hn_nbits_panel_bytes(p);
    int64_t at = 0, step = 0; /* pieces, and 8 k, that are done */
    memset(b->room->sums, 0, (size_t)b->pairs * sizeof *b->room->sums);
    for (int64_t g = 0; g < blocks; g++) {
        for (int64_t q = 0; q < b->panels && g % TURN == 0; q++) {
            const int64_t n0 = (b->panel + q) * HN_NBITS_PANEL;
            load_square(p, b->call->ptr[HN_NBITS_S], false, g, n0, b->room->scales[q]);
            if (g == 0 || p->zeros != HN_NBITS_ONE)
                load_zeros(p, b->call->ptr[HN_NBITS_Z], g, n0, b->room->zeros[q]);
        }
        int64_t left = hn_least(p->block, p->k - g * p->block);
        for (; left > 0; left -= PIECE, at++) {
            const int64_t steps = (hn_least(left, PIECE) + 7) / 8;
            for (int64_t q = 0; q < b->panels; q++) {
                const int32_t *from =
                    (const int32_t *)(const void *)(w + q * hn_nbits_panel_bytes(p)) +
                    step * HN_NBITS_PANEL * p->bits / 4;
                if (p->bits == 4)
                    unpack(4, from, steps, b->room->codes[q]);
                else
                    unpack(8, from, steps, b->room->codes[q]);
            }
            if (p->x_rounded)
                add_piece(1, 4, b, at, step, steps, g % TURN);
            else
                add_piece(3, 2, b, at, step, steps, g % TURN);
            step += steps;
        }
    }
    finish_pairs(b);
}

/* ---- the row ---- */

static bool ok(const void *problem, const char **why) {
    const hn_matmul_nbits *p = problem;
    if (p->m <= (p->x_rounded ? FEW_ROUNDED : FEW_ROWS)) return *why = "few rows", false;
    if (p->bits != 4 && p->x_rounded) return *why = "codes of 8 bits", false;
    return true;
}

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const hn_matmul_nbits *p = problem;
    *w = (hn_work){.n_phases = 2,
                   .tasks = {pairs_of(p), (hn_nbits_panels(p) + HN_NBITS_TASK - 1) / HN_NBITS_TASK},
                   .scratch = (size_t)pairs_of(p) * split_bytes(p),
                   .lane_scratch = sizeof(room)};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const hn_matmul_nbits *p = call->problem;
    if (phase == 0) {
        for (int64_t i = begin; i < end; i++) split_pair(call, i);
        return;
    }
    block b = {.call = call, .room = lane};
    for (int64_t t = begin; t < end; t++) {
        b.panel = t * HN_NBITS_TASK;
        b.panels = hn_least(HN_NBITS_TASK, hn_nbits_panels(p) - b.panel);
        for (b.first = 0; b.first < pairs_of(p); b.first += b.pairs) {
            b.pairs = hn_least(PAIRS_AT_ONCE, pairs_of(p) - b.first);
            run_block(&b);
        }
    }
}

const hn_kernel hn_matmul_nbits_digits_neoni8mm = {
    .name = "neoni8mm",
    .isa = HN_ISA_NEONI8MM,
    .order = "blocks, of digits",
    .ok = ok,
    .work = work,
    .run = run,
    .packed_bytes = hn_nbits_packed_bytes,
    .pack_key = hn_nbits_pack_key,
    .pack_tasks = hn_nbits_pack_tasks,
    .pack = hn_nbits_pack,
};
