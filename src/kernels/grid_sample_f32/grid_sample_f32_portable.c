#include "simd/scalar.h"

#include "kernels/grid_sample_f32/grid_sample_f32_body.h"
