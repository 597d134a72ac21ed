#include "simd/avx512.h"

#include "kernels/select_k/select_k_body.h"
