#define VECTOR 64
#define ROW hn_matmul_int_avx512
#define NAME "avx512"
#define ISA HN_ISA_AVX512

#include "kernels/matmul_int/matmul_int_body.h"
