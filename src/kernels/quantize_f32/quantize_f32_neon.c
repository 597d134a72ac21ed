#include "simd/neon.h"

#include "kernels/quantize_f32/quantize_f32_body.h"
