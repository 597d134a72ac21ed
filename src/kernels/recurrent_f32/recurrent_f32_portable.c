#include "simd/scalar.h"

#include "kernels/recurrent_f32/recurrent_f32_body.h"
