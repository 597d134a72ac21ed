#include "simd/neon.h"

#define TILES hn_tiles_f32_neon
#include "kernels/attention_f32/attention_f32_body.h"
