#include "simd/avx512.h"

#include "kernels/group_norm_f32/group_norm_f32_body.h"
