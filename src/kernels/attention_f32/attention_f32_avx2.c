#include "simd/avx2.h"

#define TILES hn_tiles_f32_avx2
#include "kernels/attention_f32/attention_f32_body.h"
