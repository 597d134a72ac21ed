#include "simd/avx512.h"

#define HN_TESTED_ISA HN_ISA_AVX512
#define HN_ROUNDINGS 1 /* of a multiplication with addition */
#define hn_fma_model(a, b, c) fmaf(a, b, c)
#include "simd/vocabulary.h"
