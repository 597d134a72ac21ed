#define VECTOR 32
#define ROW hn_matmul_int_avx2
#define NAME "avx2"
#define ISA HN_ISA_AVX2

#include "kernels/matmul_int/matmul_int_body.h"
