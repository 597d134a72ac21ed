#include "simd/avx512.h"

#include "kernels/conv_grad_f32/conv_grad_f32_body.h"
