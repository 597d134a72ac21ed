#include "simd/scalar.h"

#include "kernels/deform_f32/deform_f32_body.h"
