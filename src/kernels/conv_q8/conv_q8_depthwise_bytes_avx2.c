/* For weights whose products with bytes, summed by twos, fit 16 bits. */
#include "simd/avx2.h"

#define W(f) _mm256_##f
#define DOT4(sum, x, w) hn_vi_add(sum, W(madd_epi16)(W(maddubs_epi16)(x, w), W(set1_epi16)(1)))
#define MAX_OUTPUTS 2
#define ROW hn_conv_q8_depthwise_bytes_avx2
#define NAME "depthwise_bytes_avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_depthwise_x86.h"
