#include "simd/scalar.h"

#include "kernels/scatter_at/scatter_at_body.h"
