#include "simd/neon.h"

#include "kernels/matmul_f32/matmul_f32_thin_body.h"
