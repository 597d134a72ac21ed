#include <stdbool.h>

#include "simd/avx2.h"

static inline __m128i load_half(const void *p) { return _mm_loadu_si128(p); }
static inline __m128i low_half(__m256i v) { return _mm256_castsi256_si128(v); }
static inline bool is_zero(__m256i v) { return _mm256_testz_si256(v, v); }

#define W(f) _mm256_##f
#define ROW hn_conv_q8_panel_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_panel_x86.h"
