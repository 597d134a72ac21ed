#include "simd/scalar.h"

#include "kernels/lut_q8/lut_q8_body.h"
