#include "simd/avx2.h"

static inline __m128i load_half(const void *p) { return _mm_loadu_si128(p); }
static inline __m128i low_half(__m256i v) { return _mm256_castsi256_si128(v); }

#define W(f) _mm256_##f
#define MULTIPLY_ADD(sum, x, w) _mm256_add_epi32(sum, _mm256_madd_epi16(x, w))
#define DOT_PRODUCTS false
#define MR 6
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define ROW hn_conv_q8_winograd_avx2
#define NAME "winograd_avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_winograd_body.h"
