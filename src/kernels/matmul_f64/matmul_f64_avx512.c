#include <immintrin.h>

typedef __m512d vd;
#define VL 8
#define ROWS 12
#define vd_load(p) _mm512_loadu_pd(p)
#define vd_store(p, x) _mm512_storeu_pd(p, x)
#define vd_set1(x) _mm512_set1_pd(x)
#define vd_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define ROW hn_matmul_f64_avx512
#define NAME "avx512_12x16"
#define ISA HN_ISA_AVX512

#include "kernels/matmul_f64/matmul_f64_body.h"
