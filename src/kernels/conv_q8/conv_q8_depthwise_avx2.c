#include "simd/avx2.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define CB 16
typedef __m256i x_vec;
/* Channels 0-3, 8-11 and 4-7, 12-15, as unpacking leaves them. */
typedef struct sums {
    __m256i lo, hi;
} sums;

HN_INLINE __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
HN_INLINE x_vec load_x(const uint8_t *x, bool is_signed) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)x);
    return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}
HN_INLINE sums begin_sums(const int32_t *start) {
    __m256i a = load(start), b = load(start + 8);
    return (sums){_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)};
}
HN_INLINE void end_sums(int32_t *c, sums s) {
    _mm256_storeu_si256((__m256i *)c, _mm256_permute2x128_si256(s.lo, s.hi, 0x20));
    _mm256_storeu_si256((__m256i *)(c + 8), _mm256_permute2x128_si256(s.lo, s.hi, 0x31));
}
HN_INLINE sums pair(sums s, x_vec a, x_vec b, const int16_t *w) {
    __m256i lo = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), load(w));
    __m256i hi = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), load(w + CB));
    return (sums){_mm256_add_epi32(s.lo, lo), _mm256_add_epi32(s.hi, hi)};
}
HN_INLINE int weight_place(int tap, int i) { return i % 8 / 4 * CB + i / 8 * 8 + i % 4 * 2 + tap; }

#define ROW hn_conv_q8_depthwise_avx2
#define NAME "depthwise_avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
