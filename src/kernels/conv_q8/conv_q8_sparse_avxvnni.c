#include "simd/avx2.h"

#include "base/isa.h"

#define FLIP HN_Q8_U8
#define DOT(s, x, w) _mm256_dpbusd_avx_epi32(s, x, w)
#define ROW hn_conv_q8_sparse_avxvnni
#define NAME "avxvnni"
#define ISA HN_ISA_AVXVNNI
#include "kernels/conv_q8/conv_q8_sparse_body.h"
