#include "simd/avx512.h"

#include "kernels/norm_grad_f32/norm_grad_f32_body.h"
