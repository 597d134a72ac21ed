/* Without a dot product of bytes: both sides as s16, of which pairs are summed exactly. */
#include "simd/avx2.h"

#include "kernels/conv_q8/conv_q8_parts.h"

enum { LANES = 8 };
#define MR 6
#define NR 16
#define KU 2
#define FLIP HN_Q8_S32
typedef int16_t a_elem;
typedef __m256i acc, w_vec, x_vec;

HN_INLINE acc zero_acc(void) { return _mm256_setzero_si256(); }
HN_INLINE acc load_acc(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
HN_INLINE void store_acc(int32_t *p, acc v) { _mm256_storeu_si256((__m256i *)p, v); }
HN_INLINE acc add_acc(acc a, acc b) { return _mm256_add_epi32(a, b); }
HN_INLINE w_vec load_w(const int8_t *p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p));
}
HN_INLINE x_vec load_x(const a_elem *p) {
    int32_t two;
    memcpy(&two, p, sizeof two);
    return _mm256_set1_epi32(two);
}
HN_INLINE acc dot(acc sum, w_vec w, x_vec x) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}

#include "kernels/conv_q8/conv_q8_dot_tile.h"

#define ROW hn_conv_q8_panel_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_panel_body.h"
