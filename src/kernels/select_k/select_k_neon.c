#include "simd/neon.h"

#include "kernels/select_k/select_k_body.h"
