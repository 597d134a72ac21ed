#include "simd/avx2.h"

#include "kernels/scatter_at/scatter_at_body.h"
