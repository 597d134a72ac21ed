#include "simd/avx2.h"

#include "kernels/conv_planes_f32/conv_planes_f32_body.h"
