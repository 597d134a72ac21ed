#include "simd/scalar.h"

#define SUMS 12
#include "kernels/conv_f32/conv_f32_band_body.h"
