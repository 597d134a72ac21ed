#include "simd/avx2.h"

#define OUT 2
#include "kernels/conv_f32/conv_f32_winograd_body.h"
