#include "simd/avx512.h"

#define ROWS 4
#define madd _mm512_madd_epi16
#define shift_left(w) _mm512_slli_epi16(w, 8)
#define shift_right(w) _mm512_srai_epi16(w, 8)
#define shift_unsigned(w) _mm512_srli_epi16(w, 8)

/* Of four words in a row, 8 bytes, the even two come before the odd two. */
static inline void words_apart(const hn_vi *a, hn_vi *even, hn_vi *odd) {
    const __m512i apart =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    hn_vf low = hn_v_from_bits(_mm512_shuffle_epi8(_mm512_packs_epi32(a[0], a[1]), apart));
    hn_vf high = hn_v_from_bits(_mm512_shuffle_epi8(_mm512_packs_epi32(a[2], a[3]), apart));
    *even = hn_v_bits(hn_v_permute(_mm512_shuffle_ps(low, high, 0x88), order));
    *odd = hn_v_bits(hn_v_permute(_mm512_shuffle_ps(low, high, 0xdd), order));
}

#include "kernels/recurrent_q8/recurrent_q8_words.h"

#define ROW hn_recurrent_q8_avx512
#define NAME "avx512"
#define ISA HN_ISA_AVX512
#include "kernels/recurrent_f32/recurrent_f32_body.h"
