#include "simd/avx2.h"

#include "kernels/select_k/select_k_body.h"
