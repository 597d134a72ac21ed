#include "simd/scalar.h"

#include "kernels/norm_f32/norm_f32_body.h"
