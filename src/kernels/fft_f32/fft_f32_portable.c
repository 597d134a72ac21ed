#include "simd/scalar.h"

#include "kernels/fft_f32/fft_f32_body.h"
