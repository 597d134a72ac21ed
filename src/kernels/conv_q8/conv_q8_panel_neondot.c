/* By SDOT: four bytes of one pixel times four bytes of each of four outputs are four sums.
 *
 * Tiles are assembly, since compilers keep some of the 24 accumulators in memory. v0 and v1 hold the
 * pixels of a step, four in each; v4 to v6 weights; v8 + 3 r + j the sums of pixel r for outputs
 * 4 j to 4 j + 3. */
#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 4
#define READS_ON 48 /* bytes behind the last pixels and weights */

/* The products of a step by one pixel, lane l of vx. */
#define DOT(c, w, x, l) "sdot v" #c ".4s, v" #w ".16b, v" #x ".4b[" #l "]\n\t"
#define BY_8(c0, c1, c2, x, l) DOT(c0, 4, x, l) DOT(c1, 5, x, l)
#define BY_12(c0, c1, c2, x, l) BY_8(c0, c1, c2, x, l) DOT(c2, 6, x, l)
#define W_8 "ldp q4, q5, [%[w]], #32\n\t"
#define W_12 "ldp q4, q5, [%[w]]\n\tldr q6, [%[w], #32]\n\tadd %[w], %[w], #48\n\t"
#define X_4 "ldr q0, [%[x]]\n\t"
#define X_8 "ldp q0, q1, [%[x]]\n\t"

/* What a pixel starts with, and its row of sums at the end. */
#define START_8(c0, c1, c2, x, l) "ldp q" #c0 ", q" #c1 ", [%[s]]\n\t"
#define START_12(c0, c1, c2, x, l) START_8(c0, c1, c2, x, l) "ldr q" #c2 ", [%[s], #32]\n\t"
#define ENDS_8(c0, c1, c2) "stp q" #c0 ", q" #c1 ", [%[c]]\n\t"
#define END_8(c0, c1, c2, x, l) ENDS_8(c0, c1, c2) "add %[c], %[c], %[row]\n\t"
#define END_12(c0, c1, c2, x, l) \
    ENDS_8(c0, c1, c2) "str q" #c2 ", [%[c], #32]\n\tadd %[c], %[c], %[row]\n\t"

#define PIXELS_4(each) \
    each(8, 9, 10, 0, 0) each(11, 12, 13, 0, 1) each(14, 15, 16, 0, 2) each(17, 18, 19, 0, 3)
#define PIXELS_8(each) \
    PIXELS_4(each)     \
    each(20, 21, 22, 1, 0) each(23, 24, 25, 1, 1) each(26, 27, 28, 1, 2) each(29, 30, 31, 1, 3)

/* Few pixels use weights up faster than they come: those ahead are asked for. */
#define FETCH_4 "prfm pldl1keep, [%[w], #1024]\n\t"
#define FETCH_8

#define VECTORS                                                                                    \
    "v0", "v1", "v4", "v5", "v6", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",     \
        "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", \
        "v30", "v31"

#define TILE(rows, width)                                                                     \
    static void tile_##rows##_##width(const void *x, const int8_t *w, int64_t steps,          \
                                      const int32_t *start, int32_t *c) {                     \
        __asm__ volatile(PIXELS_##rows(START_##width) "cbz %[k], 2f\n"                      \
                         "1:\n\t" X_##rows "add %[x], %[x], #32\n\t"                        \
                         "subs %[k], %[k], #1\n\t" FETCH_##rows W_##width                   \
                         PIXELS_##rows(BY_##width) "b.ne 1b\n"                              \
                         "2:\n\t" PIXELS_##rows(END_##width)                                \
                         : [x] "+r"(x), [w] "+r"(w), [k] "+r"(steps), [c] "+r"(c)           \
                         : [s] "r"(start), [row] "i"(4 * C_PITCH)  \
                         : "memory", "cc", VECTORS); \
    }

#define C_PITCH 48
TILE(4, 8)
TILE(4, 12)
TILE(8, 8)
TILE(8, 12)

typedef void tile_fn(const void *x, const int8_t *w, int64_t steps, const int32_t *start,
                     int32_t *c);

/* For `rows` pixels, whose type is s8 by now, and `width` outputs. */
HN_INLINE tile_fn *tile_of(hn_q8_type x, int64_t rows, int64_t width) {
    (void)x;
    if (rows <= 4) return width == 12 ? tile_4_12 : tile_4_8;
    return width == 12 ? tile_8_12 : tile_8_8;
}

/* Sixteen bytes of each of eight pixels as [4][8 pixels][4]. */
HN_INLINE void weave(const int8x16_t *x, int8_t *to) {
    for (int r = 0; r < 8; r += 4) {
        int32x4_t v[4], a, b, c, d;
        for (int i = 0; i < 4; i++) v[i] = vreinterpretq_s32_s8(x[r + i]);
        a = vzip1q_s32(v[0], v[2]), b = vzip2q_s32(v[0], v[2]);
        c = vzip1q_s32(v[1], v[3]), d = vzip2q_s32(v[1], v[3]);
        vst1q_s8(to + 4 * r, vreinterpretq_s8_s32(vzip1q_s32(a, c)));
        vst1q_s8(to + 32 + 4 * r, vreinterpretq_s8_s32(vzip2q_s32(a, c)));
        vst1q_s8(to + 64 + 4 * r, vreinterpretq_s8_s32(vzip1q_s32(b, d)));
        vst1q_s8(to + 96 + 4 * r, vreinterpretq_s8_s32(vzip2q_s32(b, d)));
    }
}

#define ROW hn_conv_q8_panel_neondot
#define NAME "neondot"
#define ISA HN_ISA_NEONDOT
#include "kernels/conv_q8/conv_q8_block_body.h"
