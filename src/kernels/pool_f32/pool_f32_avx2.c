#include "simd/avx2.h"

#include "kernels/pool_f32/pool_f32_body.h"
