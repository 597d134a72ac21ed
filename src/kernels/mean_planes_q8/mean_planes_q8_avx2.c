#include "simd/avx2.h"

#include "kernels/mean_planes_q8/mean_planes_q8_body.h"
