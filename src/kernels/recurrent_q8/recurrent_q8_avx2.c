#include "simd/avx2.h"

#define ROWS 2
#define madd _mm256_madd_epi16
#define shift_left(w) _mm256_slli_epi16(w, 8)
#define shift_right(w) _mm256_srai_epi16(w, 8)
#define shift_unsigned(w) _mm256_srli_epi16(w, 8)

/* Of four words in a row, 8 bytes, the even two come before the odd two. */
static inline void words_apart(const hn_vi *a, hn_vi *even, hn_vi *odd) {
    const __m256i apart = _mm256_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 0,
                                           1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    hn_vf low = hn_v_from_bits(_mm256_shuffle_epi8(_mm256_packs_epi32(a[0], a[1]), apart));
    hn_vf high = hn_v_from_bits(_mm256_shuffle_epi8(_mm256_packs_epi32(a[2], a[3]), apart));
    *even = hn_v_bits(hn_v_permute(_mm256_shuffle_ps(low, high, 0x88), order));
    *odd = hn_v_bits(hn_v_permute(_mm256_shuffle_ps(low, high, 0xdd), order));
}

#include "kernels/recurrent_q8/recurrent_q8_words.h"

#define ROW hn_recurrent_q8_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2
#include "kernels/recurrent_f32/recurrent_f32_body.h"
