#include "simd/neon.h"

#include "kernels/batch_norm_grad_f32/batch_norm_grad_f32_body.h"
