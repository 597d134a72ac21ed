#include "simd/avx2.h"

#include "kernels/pool_q8/pool_q8_body.h"
