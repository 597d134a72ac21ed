#include "simd/neon.h"

#include "kernels/gather_at/gather_at_body.h"
