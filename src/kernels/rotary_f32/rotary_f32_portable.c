#include "simd/scalar.h"

#include "kernels/rotary_f32/rotary_f32_body.h"
