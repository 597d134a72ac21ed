#include "simd/avx512.h"

#include "kernels/conv_f32/conv_f32_sparse_body.h"
