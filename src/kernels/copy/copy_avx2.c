#include "simd/avx2.h"

#include "kernels/copy/copy_body.h"
