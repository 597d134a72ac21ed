#include "simd/scalar.h"

#include "kernels/copy/copy_body.h"
