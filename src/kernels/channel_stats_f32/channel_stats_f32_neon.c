#include "simd/neon.h"

#include "kernels/channel_stats_f32/channel_stats_f32_body.h"
