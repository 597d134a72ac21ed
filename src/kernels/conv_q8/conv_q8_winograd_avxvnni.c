#include "simd/avx2.h"

static inline __m128i load_half(const void *p) { return _mm_loadu_si128(p); }
static inline __m128i low_half(__m256i v) { return _mm256_castsi256_si128(v); }

#define W(f) _mm256_##f
#define MULTIPLY_ADD(sum, x, w) _mm256_dpwssd_avx_epi32(sum, x, w)
#define DOT_PRODUCTS true
#define MR 6
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define ROW hn_conv_q8_winograd_avxvnni
#define NAME "winograd_avxvnni"
#define ISA HN_ISA_AVXVNNI
#include "kernels/conv_q8/conv_q8_winograd_body.h"
