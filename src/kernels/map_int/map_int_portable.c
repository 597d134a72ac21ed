#include "simd/scalar.h"

#include "kernels/map_int/map_int_body.h"
