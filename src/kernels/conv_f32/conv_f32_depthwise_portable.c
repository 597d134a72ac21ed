#include "simd/scalar.h"

#include "kernels/conv_f32/conv_f32_depthwise_body.h"
