#include "simd/avx512.h"

#include "kernels/map_int/map_int_body.h"
