#include "simd/scalar.h"

#include "kernels/reduce_num/reduce_num_body.h"
