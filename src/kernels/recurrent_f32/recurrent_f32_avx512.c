#include "simd/avx512.h"

#define ROWS 6
#include "kernels/recurrent_f32/recurrent_f32_body.h"
