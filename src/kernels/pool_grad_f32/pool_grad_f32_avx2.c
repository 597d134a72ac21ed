#include "simd/avx2.h"

#include "kernels/pool_grad_f32/pool_grad_f32_body.h"
