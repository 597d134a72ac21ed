#include "simd/avx512.h"

#include "kernels/tile_f32/tile_f32_turn_body.h"
