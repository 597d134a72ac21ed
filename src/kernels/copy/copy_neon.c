#include "simd/neon.h"

#include "kernels/copy/copy_body.h"
