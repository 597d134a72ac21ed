#include "simd/avx512.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define CB 32
typedef __m512i x_vec;
/* Channels 0-3, 8-11, 16-19, 24-27 and the others, as unpacking leaves them. */
typedef struct sums {
    __m512i lo, hi;
} sums;

HN_INLINE x_vec load_x(const uint8_t *x, bool is_signed) {
    __m256i bytes = _mm256_loadu_si256((const __m256i *)x);
    return is_signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
}
HN_INLINE sums begin_sums(const int32_t *start) {
    __m512i a = _mm512_loadu_si512(start), b = _mm512_loadu_si512(start + 16);
    const __m512i lo = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
    const __m512i hi = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
    return (sums){_mm512_permutex2var_epi64(a, lo, b), _mm512_permutex2var_epi64(a, hi, b)};
}
HN_INLINE void end_sums(int32_t *c, sums s) {
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_storeu_si512(c, _mm512_permutex2var_epi64(s.lo, first, s.hi));
    _mm512_storeu_si512(c + 16, _mm512_permutex2var_epi64(s.lo, second, s.hi));
}
HN_INLINE sums pair(sums s, x_vec a, x_vec b, const int16_t *w) {
    __m512i lo = _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), _mm512_loadu_si512(w));
    __m512i hi = _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), _mm512_loadu_si512(w + CB));
    return (sums){_mm512_add_epi32(s.lo, lo), _mm512_add_epi32(s.hi, hi)};
}
HN_INLINE int weight_place(int tap, int i) { return i % 8 / 4 * CB + i / 8 * 8 + i % 4 * 2 + tap; }

#define ROW hn_conv_q8_depthwise_avx512
#define NAME "depthwise_avx512"
#define ISA HN_ISA_AVX512
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
