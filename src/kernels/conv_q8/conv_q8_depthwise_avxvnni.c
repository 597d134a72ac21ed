#include "simd/avx2.h"

#define W(f) _mm256_##f
#define DOT4 _mm256_dpbusd_avx_epi32
#define MAX_OUTPUTS 2
#define ROW hn_conv_q8_depthwise_avxvnni
#define NAME "depthwise_avxvnni"
#define ISA HN_ISA_AVXVNNI
#include "kernels/conv_q8/conv_q8_depthwise_x86.h"
