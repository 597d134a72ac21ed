#include "simd/avx2.h"

#include "kernels/softmax_f32/softmax_f32_body.h"
