#include "simd/avx512.h"

#include "kernels/dequantize_q8/dequantize_q8_body.h"
