#include "simd/avx2.h"

#include "kernels/norm_f32/norm_f32_body.h"
