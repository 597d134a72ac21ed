#include <immintrin.h>

typedef __m256d vd;
#define VL 4
#define ROWS 6
#define vd_load(p) _mm256_loadu_pd(p)
#define vd_store(p, x) _mm256_storeu_pd(p, x)
#define vd_set1(x) _mm256_set1_pd(x)
#define vd_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define ROW hn_matmul_f64_avx2
#define NAME "avx2_6x8"
#define ISA HN_ISA_AVX2

#include "kernels/matmul_f64/matmul_f64_body.h"
