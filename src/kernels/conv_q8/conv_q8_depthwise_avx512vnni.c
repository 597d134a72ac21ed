#include "simd/avx512.h"

#define W(f) _mm512_##f
#define DOT4 _mm512_dpbusd_epi32
#define MAX_OUTPUTS 4
#define ROW hn_conv_q8_depthwise_avx512vnni
#define NAME "depthwise_avx512vnni"
#define ISA HN_ISA_AVX512VNNI
#include "kernels/conv_q8/conv_q8_depthwise_x86.h"
