/* By SMMLA and USMMLA: two pixels of eight bytes times two outputs of eight bytes are four sums.
 *
 * Tiles are assembly, since compilers keep some of the 24 accumulators in memory. v0 to v3 hold the
 * pixels of a step, two in each; v4 to v7 weights; v8 + 6 p + j the sums of pixels 2 p and 2 p + 1
 * for outputs 2 j and 2 j + 1. */
#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 8
#define EITHER_SIGN /* of x is multiplied as it is */
#define START_TWICE /* a register starts with the same two numbers for both pixels */
#define READS_ON 64 /* bytes behind the last pixels and weights */

/* What a pair of pixels starts with, and its two rows of sums at the end. */
#define ZIP(half, to, a, b) "zip" #half " v" #to ".2d, v" #a ".2d, v" #b ".2d\n\t"
#define START_8(c0, c1, c2, c3, c4, c5) \
    "ldp q" #c0 ", q" #c1 ", [%[s]]\n\tldp q" #c2 ", q" #c3 ", [%[s], #32]\n\t"
#define START_12(c0, c1, c2, c3, c4, c5) \
    START_8(c0, c1, c2, c3, c4, c5) "ldp q" #c4 ", q" #c5 ", [%[s], #64]\n\t"
#define NEXT_PAIR "add %[c], %[c], 2 * %[row]\n\t"
#define ENDS(c0, c1, c2, c3) \
    ZIP(1, 0, c0, c1)        \
    ZIP(1, 1, c2, c3)        \
    ZIP(2, 2, c0, c1) ZIP(2, 3, c2, c3) "stp q0, q1, [%[c]]\n\tstp q2, q3, [%[c], %[row]]\n\t"
#define END_8(c0, c1, c2, c3, c4, c5) ENDS(c0, c1, c2, c3) NEXT_PAIR
#define END_12(c0, c1, c2, c3, c4, c5) \
    ENDS(c0, c1, c2, c3)               \
    ZIP(1, 4, c4, c5)                  \
    ZIP(2, 5, c4, c5) "str q4, [%[c], #32]\n\tstr q5, [%[c], %[row] + 32]\n\t" NEXT_PAIR
#define PAIRS_1(each) each(8, 9, 10, 11, 12, 13)
#define PAIRS_2(each) PAIRS_1(each) each(14, 15, 16, 17, 18, 19)
#define PAIRS_3(each) PAIRS_2(each) each(20, 21, 22, 23, 24, 25)
#define PAIRS_4(each) PAIRS_3(each) each(26, 27, 28, 29, 30, 31)

/* Steps of up to 3 pairs of pixels: two outputs at a time. Two steps in a loop, so that its loads are
 * whole lines apart. */
#define MM(op, c, x, w) op " v" #c ".4s, v" #x ".16b, v" #w ".16b\n\t"
#define TWO_1(op, w, c0, c1, c2) MM(op, c0, 0, w)
#define TWO_2(op, w, c0, c1, c2) TWO_1(op, w, c0, c1, c2) MM(op, c1, 1, w)
#define TWO_3(op, w, c0, c1, c2) TWO_2(op, w, c0, c1, c2) MM(op, c2, 2, w)
#define X_1 "ldr q0, [%[x]]\n\t"
#define X_2 "ldp q0, q1, [%[x]]\n\t"
#define X_3 X_2 "ldr q2, [%[x], #32]\n\t"
#define STEP_8(op, two)                                                             \
    "ldp q4, q5, [%[w]]\n\tldp q6, q7, [%[w], #32]\n\tadd %[w], %[w], #64\n\t" two( \
        op, 4, 8, 14, 20) two(op, 5, 9, 15, 21) two(op, 6, 10, 16, 22) two(op, 7, 11, 17, 23)
#define STEP_12(op, two) \
    STEP_8(op, two)      \
    "ldp q4, q5, [%[w]], #32\n\t" two(op, 4, 12, 18, 24) two(op, 5, 13, 19, 25)
#define STEP(op, pairs, width) X_##pairs "add %[x], %[x], #64\n\t" STEP_##width(#op, TWO_##pairs)
#define STEPS(op, pairs, width)                                                           \
    "lsr %[two], %[k], #1\n\ttbz %[k], #0, 1f\n\t" STEP(                                  \
        op, pairs, width) "1:\n\tcbz %[two], 3f\n2:\n\tsubs %[two], %[two], #1\n\t" FETCH \
    STEP(op, pairs, width) STEP(op, pairs, width) "b.ne 2b\n3:\n\t"
#define STEPS_1(op, width) STEPS(op, 1, width)
#define STEPS_2(op, width) STEPS(op, 2, width)
#define STEPS_3(op, width) STEPS(op, 3, width)

/* Few pixels use weights up faster than they come: those ahead are asked for. */
#define FETCH                                                            \
    "prfm pldl1keep, [%[w], #1024]\n\tprfm pldl1keep, [%[w], #1088]\n\t" \
    "prfm pldl1keep, [%[w], #1152]\n\t"

/* Steps of 4 pairs, two at a time: four outputs, of which a register of pixels is free after its
 * fourth product. Registers are loaded as soon as they are free, so that the first products of a step
 * need not wait: 8x12 reaches 95 % of what the core multiplies, and 84 % if a step begins with its loads.
 * Behind the last step 64 bytes of pixels and weights are loaded in vain. */
#define FOUR(op, w0, w1, a0, a1, b0, b1, c0, c1, d0, d1, between, behind) \
    MM(op, a0, 0, w0)                                                     \
    MM(op, a1, 0, w1)                                                     \
    MM(op, b0, 1, w0)                                                     \
    MM(op, b1, 1, w1)                                                     \
    between MM(op, c0, 2, w0) MM(op, c1, 2, w1) MM(op, d0, 3, w0) MM(op, d1, 3, w1) behind
#define FOUR_0(op, w0, w1) FOUR(op, w0, w1, 8, 9, 14, 15, 20, 21, 26, 27, , )
#define FOUR_4(op, w0, w1, at) FOUR(op, w0, w1, 10, 11, 16, 17, 22, 23, 28, 29, X_01(at), X_23(at))
#define FOUR_8(op, w0, w1, at) FOUR(op, w0, w1, 12, 13, 18, 19, 24, 25, 30, 31, X_01(at), X_23(at))
#define X_01(at) "ldp q0, q1, [%[x], " #at "]\n\t"
#define X_23(at) "ldp q2, q3, [%[x], " #at " + 32]\n\t"
#define W_45(at) "ldp q4, q5, [%[w], " #at "]\n\t"
#define W_67(at) "ldp q6, q7, [%[w], " #at "]\n\t"
#define MIDDLE(op, w0, w1) FOUR(op, w0, w1, 10, 11, 16, 17, 22, 23, 28, 29, , )
#define ONE_8(op) FOUR_0(op, 4, 5) MIDDLE(op, 6, 7)
#define ONE_12(op) \
    FOUR_0(op, 4, 5) W_45(64) MIDDLE(op, 6, 7) FOUR(op, 4, 5, 12, 13, 18, 19, 24, 25, 30, 31, , )
#define BOTH_8(op)       \
    FOUR_0(op, 4, 5)     \
    W_45(64)             \
    FOUR_4(op, 6, 7, 64) \
    W_67(96) FOUR_0(op, 4, 5) W_45(128) FOUR_4(op, 6, 7, 128) W_67(160) "add %[w], %[w], #128\n\t"
#define BOTH_12(op)      \
    FOUR_0(op, 4, 5)     \
    W_45(64)             \
    MIDDLE(op, 6, 7)     \
    W_67(96)             \
    FOUR_8(op, 4, 5, 64) \
    W_45(128)            \
    FOUR_0(op, 6, 7)     \
    W_67(160) MIDDLE(op, 4, 5) W_45(192) FOUR_8(op, 6, 7, 128) W_67(224) "add %[w], %[w], " \
                                                                         "#192\n\t"
#define STEPS_4(op, width) \
    "lsr %[two], %[k], #1\n\t" X_01(0) X_23(0) W_45(0) W_67(32) "cbz %[two], 2f\n"             \
    "1:\n\tsubs %[two], %[two], #1\n\t" BOTH_##width(#op)                                      \
    "add %[x], %[x], #128\n\tb.ne 1b\n"                                                        \
    "2:\n\ttbz %[k], #0, 3f\n\t" ONE_##width(#op) "3:\n\t"

#define VECTORS                                                                                    \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", \
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", \
        "v28", "v29", "v30", "v31"

#define TILE(op, pairs, width)                                                                     \
    static void op##_##pairs##_##width(const void *x, const int8_t *w, int64_t steps,              \
                                       const int32_t *start, int32_t *c) {                         \
        int64_t two = 0;                                                                           \
        __asm__ volatile(PAIRS_##pairs(START_##width) STEPS_##pairs(op, width)                     \
                             PAIRS_##pairs(END_##width)                                            \
                         : [x] "+r"(x), [w] "+r"(w), [k] "+r"(steps), [c] "+r"(c), [two] "+r"(two) \
                         : [s] "r"(start), [row] "i"(4 * C_PITCH)                                  \
                         : "memory", "cc", VECTORS);                                               \
    }
#define TILES(op)  \
    TILE(op, 1, 8) \
    TILE(op, 2, 8) \
    TILE(op, 3, 8) TILE(op, 4, 8) TILE(op, 1, 12) TILE(op, 2, 12) TILE(op, 3, 12) TILE(op, 4, 12)

#define C_PITCH 48
TILES(smmla)
TILES(usmmla)

typedef void tile_fn(const void *x, const int8_t *w, int64_t steps, const int32_t *start,
                     int32_t *c);

#define ROWS_OF(op, width) \
    { op##_1_##width, op##_2_##width, op##_3_##width, op##_4_##width }

/* For `rows` pixels of this type and `width` outputs. */
HN_INLINE tile_fn *tile_of(hn_q8_type x, int64_t rows, int64_t width) {
    static tile_fn *const tiles[2][2][4] = {{ROWS_OF(usmmla, 8), ROWS_OF(usmmla, 12)},
                                            {ROWS_OF(smmla, 8), ROWS_OF(smmla, 12)}};
    return tiles[x == HN_Q8_S8][width == 12][(rows - 1) / 2];
}

/* Sixteen bytes of each of eight pixels as [2][8 pixels][8]. */
HN_INLINE void weave(const int8x16_t *x, int8_t *to) {
    for (int r = 0; r < 8; r += 2) {
        const int64x2_t even = vreinterpretq_s64_s8(x[r]), odd = vreinterpretq_s64_s8(x[r + 1]);
        vst1q_s8(to + 8 * r, vreinterpretq_s8_s64(vzip1q_s64(even, odd)));
        vst1q_s8(to + 64 + 8 * r, vreinterpretq_s8_s64(vzip2q_s64(even, odd)));
    }
}

#define ROW hn_conv_q8_panel_neoni8mm
#define NAME "neoni8mm"
#define ISA HN_ISA_NEONI8MM
#include "kernels/conv_q8/conv_q8_block_body.h"
