#include "simd/avx2.h"

#include "kernels/pool_planes_f32/pool_planes_f32_body.h"
