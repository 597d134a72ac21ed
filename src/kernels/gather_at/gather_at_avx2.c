#include "simd/avx2.h"

#include "kernels/gather_at/gather_at_body.h"
