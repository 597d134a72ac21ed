#include <stdbool.h>

#include "simd/avx512.h"

static inline __m256i load_half(const void *p) { return _mm256_loadu_si256(p); }
static inline __m256i low_half(__m512i v) { return _mm512_castsi512_si256(v); }
static inline bool is_zero(__m512i v) { return _mm512_test_epi8_mask(v, v) == 0; }

#define W(f) _mm512_##f
#define ROW hn_conv_q8_panel_avx512
#define NAME "avx512"
#define ISA HN_ISA_AVX512
#include "kernels/conv_q8/conv_q8_panel_x86.h"
