#include "simd/avx512.h"

#include "base/isa.h"

#define FLIP HN_Q8_U8
#define DOT(s, x, w) _mm512_dpbusd_epi32(s, x, w)
#define ROW hn_conv_q8_sparse_avx512vnni
#define NAME "avx512vnni"
#define ISA HN_ISA_AVX512VNNI
#include "kernels/conv_q8/conv_q8_sparse_body.h"
