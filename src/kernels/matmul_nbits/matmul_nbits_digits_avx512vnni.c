#include "simd/avx512.h"

#define DOT _mm512_dpbusd_epi32
#define DOT_STEPS 1
#define ROW hn_matmul_nbits_digits_avx512vnni
#define NAME "avx512vnni"
#define ISA HN_ISA_AVX512VNNI
#define PLAIN hn_matmul_nbits_avx512
#include "kernels/matmul_nbits/matmul_nbits_digits_body.h"
