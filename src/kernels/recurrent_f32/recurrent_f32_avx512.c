#include "simd/avx512.h"

#define ROWS 12
#include "kernels/recurrent_f32/recurrent_f32_body.h"
