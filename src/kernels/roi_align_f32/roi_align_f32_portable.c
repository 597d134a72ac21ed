#include "simd/scalar.h"

#include "kernels/roi_align_f32/roi_align_f32_body.h"
