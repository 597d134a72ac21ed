#include "simd/avx512.h"

static inline __m256i load_half(const void *p) { return _mm256_loadu_si256(p); }
static inline __m256i low_half(__m512i v) { return _mm512_castsi512_si256(v); }

#define W(f) _mm512_##f
#define MULTIPLY_ADD(sum, x, w) _mm512_add_epi32(sum, _mm512_madd_epi16(x, w))
#define DOT_PRODUCTS false
#define MR 12
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define ROW hn_conv_q8_winograd_avx512
#define NAME "winograd_avx512"
#define ISA HN_ISA_AVX512
#include "kernels/conv_q8/conv_q8_winograd_body.h"
