#include "simd/scalar.h"

#include "kernels/dequantize_q8/dequantize_q8_body.h"
