#include "simd/neon.h"

#include "kernels/scatter_at/scatter_at_body.h"
