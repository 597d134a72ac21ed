/* Without a dot product of bytes: even and odd ones as s16, of which pairs are summed exactly. */
#include "simd/avx2.h"

#define RECURRENT_Q8
#define ROWS 2
#define X_IS_U8 1

static inline hn_vi dot(hn_vi sum, hn_vi w, hn_vi x) {
    __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xff)),
                                     _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8));
    __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

#define ROW hn_recurrent_q8_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2
#include "kernels/recurrent_f32/recurrent_f32_body.h"
