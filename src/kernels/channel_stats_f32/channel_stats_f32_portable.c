#include "simd/scalar.h"

#include "kernels/channel_stats_f32/channel_stats_f32_body.h"
