#include "simd/scalar.h"

#define ROWS 2
#include "kernels/recurrent_f32/recurrent_f32_body.h"
