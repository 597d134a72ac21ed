#include "simd/neon.h"

#include "kernels/label_grad_f32/label_grad_f32_body.h"
