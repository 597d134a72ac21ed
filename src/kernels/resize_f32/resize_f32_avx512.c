#include "simd/avx512.h"

#include "kernels/resize_f32/resize_f32_body.h"
