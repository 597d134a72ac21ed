#include "simd/avx512.h"

#include "kernels/fft_f32/fft_f32_body.h"
