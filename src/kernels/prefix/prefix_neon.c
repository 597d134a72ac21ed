#include "simd/neon.h"

#include "kernels/prefix/prefix_body.h"
