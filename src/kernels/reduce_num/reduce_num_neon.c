#include "simd/neon.h"

#include "kernels/reduce_num/reduce_num_body.h"
