#include "simd/avx2.h"

#include "kernels/prefix/prefix_body.h"
