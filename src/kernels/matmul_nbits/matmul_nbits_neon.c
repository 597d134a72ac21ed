#include "simd/neon.h"

#include "kernels/matmul_nbits/matmul_nbits_body.h"
