#include "simd/avx512.h"

#include "kernels/prefix/prefix_body.h"
