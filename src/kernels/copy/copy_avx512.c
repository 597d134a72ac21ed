#include "simd/avx512.h"

#include "kernels/copy/copy_body.h"
