#include "simd/scalar.h"

#include "kernels/select_k/select_k_body.h"
