#include "simd/neon.h"

#include "kernels/rows_f64/rows_f64_body.h"
