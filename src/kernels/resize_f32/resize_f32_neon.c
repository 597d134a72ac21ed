#include "simd/neon.h"

#include "kernels/resize_f32/resize_f32_body.h"
