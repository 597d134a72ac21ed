#include "simd/scalar.h"

#define TILES hn_tiles_f32_portable
#include "kernels/attention_f32/attention_f32_body.h"
