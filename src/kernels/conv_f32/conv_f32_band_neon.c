#include "simd/neon.h"

#define SUMS 28
#define WITHOUT_LINE /* conv_f32_rows_neon.c is faster */
#include "kernels/conv_f32/conv_f32_band_body.h"
