#include "simd/scalar.h"

#include "kernels/conv_grad_f32/conv_grad_f32_body.h"
