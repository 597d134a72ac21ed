#include "simd/scalar.h"

#define HN_TESTED_ISA HN_ISA_PORTABLE
#define HN_ROUNDINGS 2 /* of a multiplication with addition */
#define hn_fma_model(a, b, c) ((a) * (b) + (c))
#include "simd/vocabulary.h"
