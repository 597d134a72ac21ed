#include "simd/avx2.h"

#define ROWS 3
#include "kernels/recurrent_f32/recurrent_f32_body.h"
