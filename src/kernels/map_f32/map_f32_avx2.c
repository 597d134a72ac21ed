#include "simd/avx2.h"

#include "kernels/map_f32/map_f32_body.h"
