#include "simd/avx2.h"

/* vpermps takes the lowest 3 bits of a word; the next one chooses among the halves of the table. */
static inline __attribute__((always_inline)) hn_vf look_up(const float *table, hn_vi word,
                                                           int shift) {
    hn_vi code = shift == 0 ? word : _mm256_srli_epi32(word, shift);
    hn_vf low = _mm256_permutevar8x32_ps(hn_v_load(table), code);
    hn_vf high = _mm256_permutevar8x32_ps(hn_v_load(table + 8), code);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(word, 28 - shift)));
}

#define MOST_VALUES 16
#define LOOK_UP_CYCLES(values) 2.3
#define DENSE_CYCLES 3.7
#define LOOK_UP(table, word, shift, values) look_up(table, word, shift)

#include "kernels/conv_f32/conv_f32_lookup_body.h"
