#include "simd/avx512.h"

#include "kernels/norm_f32/norm_f32_body.h"
