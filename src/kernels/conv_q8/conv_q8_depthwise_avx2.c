#include "simd/avx2.h"

#define BYTES hn_conv_q8_depthwise_bytes_avx2
#define WORDS hn_conv_q8_depthwise_words_avx2
#define ROW hn_conv_q8_depthwise_avx2
#define NAME "depthwise_avx2"
#define ISA HN_ISA_AVX2
#include "kernels/conv_q8/conv_q8_depthwise_ways.h"
