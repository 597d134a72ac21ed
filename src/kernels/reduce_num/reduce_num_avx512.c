#include "simd/avx512.h"

#include "kernels/reduce_num/reduce_num_body.h"
