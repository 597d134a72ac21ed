#include "simd/scalar.h"

#include "kernels/norm_grad_f32/norm_grad_f32_body.h"
