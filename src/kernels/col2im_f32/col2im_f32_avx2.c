#include "simd/avx2.h"

#include "kernels/col2im_f32/col2im_f32_body.h"
