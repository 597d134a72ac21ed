#include "simd/avx2.h"

#define DOT _mm256_dpbusd_avx_epi32
#define DOT_STEPS 1
#define ROW hn_matmul_nbits_digits_avxvnni
#define NAME "avxvnni"
#define ISA HN_ISA_AVXVNNI
#define PLAIN hn_matmul_nbits_avx2
#include "kernels/matmul_nbits/matmul_nbits_digits_body.h"
