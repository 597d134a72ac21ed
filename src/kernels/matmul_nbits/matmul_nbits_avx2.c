#include "simd/avx2.h"

#include "kernels/matmul_nbits/matmul_nbits_body.h"
