#include "simd/avx512.h"

#include "kernels/rows_f64/rows_f64_body.h"
