#include "simd/avx2.h"

#define W(f) _mm256_##f
#define MAX_OUTPUTS 2
#define ROW hn_conv_q8_depthwise_words_avx2
#define NAME "depthwise_words_avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_depthwise_x86.h"
