#include "simd/scalar.h"

#include "kernels/attention_f32/attention_f32_body.h"
