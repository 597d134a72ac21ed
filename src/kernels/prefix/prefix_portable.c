#include "simd/scalar.h"

#include "kernels/prefix/prefix_body.h"
