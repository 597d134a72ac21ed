#include "simd/avx512.h"

#define W(f) _mm512_##f
#define MAX_OUTPUTS 2
#define ROW hn_conv_q8_depthwise_words_avx512
#define NAME "depthwise_words_avx512"
#define ISA HN_ISA_AVX512
#include "kernels/conv_q8/conv_q8_depthwise_x86.h"
