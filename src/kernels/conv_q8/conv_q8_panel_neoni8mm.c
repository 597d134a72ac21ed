/* By SMMLA: two pixels of eight bytes times two outputs of eight bytes are four sums. */
#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define MR 8
#define NR 8
#define NARROW NR
#define KU 8
#define FLIP HN_Q8_S8
typedef int8_t a_elem;

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Sums [pair of pixels][pair of outputs], each 2x2. The second of a last pair that is half is its
 * first again, and dropped. */
HN_INLINE void tile(const int rows, const int width, const hn_q8_windows *windows, const int8_t *w,
                    const int32_t *start, int32_t *c, const int c_pitch) {
    (void)width;
    const int pairs = (rows + 1) / 2;
    const int64_t pitch = windows->pitch, groups = windows->groups;
    const a_elem *a = windows->a;
    int32x4_t sum[MR / 2][NR / 2];
    UNROLL for (int j = 0; j < NR / 2; j++) {
        int32x2_t two = vld1_s32(start + 2 * j);
        UNROLL for (int r = 0; r < pairs; r++) sum[r][j] = vcombine_s32(two, two);
    }
    for (int64_t lines = windows->lines; lines > 0; lines--, a += windows->line) {
        for (int64_t k = 0; k < groups; k++, w += NR * KU) {
            int8x16_t x[MR / 2];
            UNROLL for (int r = 0; r < pairs; r++) {
                const a_elem *even = a + 2 * r * pitch + k * KU;
                x[r] = vcombine_s8(vld1_s8(even), vld1_s8(2 * r + 1 < rows ? even + pitch : even));
            }
            UNROLL for (int j = 0; j < NR / 2; j++) {
                int8x16_t wv = vld1q_s8(w + j * 2 * KU);
                UNROLL for (int r = 0; r < pairs; r++) sum[r][j] = vmmlaq_s32(sum[r][j], x[r], wv);
            }
        }
    }
    UNROLL for (int r = 0; r < pairs; r++) {
        UNROLL for (int j = 0; j < NR / 2; j++) {
            vst1_s32(c + 2 * r * c_pitch + 2 * j, vget_low_s32(sum[r][j]));
            if (2 * r + 1 < rows)
                vst1_s32(c + (2 * r + 1) * c_pitch + 2 * j, vget_high_s32(sum[r][j]));
        }
    }
}

#define ROW hn_conv_q8_panel_neoni8mm
#define NAME "neoni8mm"
#define ISA HN_ISA_NEONI8MM
#include "kernels/conv_q8/conv_q8_panel_body.h"
