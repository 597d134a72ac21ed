#include "simd/avx512.h"

#include "kernels/matmul_f32/matmul_f32_thin_body.h"
