#include "simd/avx2.h"

#include "kernels/map_int/map_int_body.h"
