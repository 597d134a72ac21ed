#include "simd/scalar.h"

#include "kernels/matmul_nbits/matmul_nbits_body.h"
