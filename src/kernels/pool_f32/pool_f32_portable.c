#include "simd/scalar.h"

#include "kernels/pool_f32/pool_f32_body.h"
