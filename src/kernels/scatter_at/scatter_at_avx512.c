#include "simd/avx512.h"

#include "kernels/scatter_at/scatter_at_body.h"
