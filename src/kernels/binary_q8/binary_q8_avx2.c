#include "simd/avx2.h"

#include "kernels/binary_q8/binary_q8_body.h"
