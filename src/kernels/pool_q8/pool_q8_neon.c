#include "simd/neon.h"

#include "kernels/pool_q8/pool_q8_body.h"
