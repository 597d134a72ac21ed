#include "simd/avx512.h"

#include "kernels/gather_at/gather_at_body.h"
