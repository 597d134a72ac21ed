#include "simd/avx2.h"

/* Two codes of at most 15 by two digits fit into 16 bits. */
#define DOT(sum, codes, digits) \
    _mm256_add_epi32(sum,       \
                     _mm256_madd_epi16(_mm256_maddubs_epi16(codes, digits), _mm256_set1_epi16(1)))
#define DOT_STEPS 3
#define ROW hn_matmul_nbits_digits_avx2
#define NAME "avx2_digits"
#define ISA HN_ISA_AVX2
#define PLAIN hn_matmul_nbits_avx2
#include "kernels/matmul_nbits/matmul_nbits_digits_body.h"
