#include "simd/neon.h"

#define SUMS 28
#include "kernels/conv_f32/conv_f32_band_body.h"
