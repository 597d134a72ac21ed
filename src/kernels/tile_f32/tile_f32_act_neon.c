/* In a file of its own: GCC must not reorder what tiles do, but should interleave chains here. */
#include "simd/neon.h"

#include "kernels/tile_f32/tile_f32_act.h"

void hn_tile_f32_act_neon(const hn_act *act, float *const *y, int rows, int64_t column, int64_t n) {
    act_tile(act, y, rows, column, n);
}
