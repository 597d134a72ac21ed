#include "simd/avx2.h"

#include "kernels/reduce_f32/reduce_f32_body.h"
