#include "simd/avx512.h"

#define BYTES hn_conv_q8_depthwise_bytes_avx512
#define WORDS hn_conv_q8_depthwise_words_avx512
#define ROW hn_conv_q8_depthwise_avx512
#define NAME "depthwise_avx512"
#define ISA HN_ISA_AVX512
#include "kernels/conv_q8/conv_q8_depthwise_ways.h"
