#include "simd/avx512.h"

/* vpermps takes the lowest 4 bits of a word, vpermi2ps the lowest 5. Of larger tables it takes all
 * parts of 32 numbers, and further bits choose among them. For 256 numbers that takes 11 cycles, and a
 * gather 9: longer than reading 16 floats from memory. */
static inline __attribute__((always_inline)) hn_vf look_up(const float *table, hn_vi word,
                                                           int shift, int values) {
    hn_vi code = shift == 0 ? word : _mm512_srli_epi32(word, (unsigned)shift);
    if (values == 16) return _mm512_permutexvar_ps(code, hn_v_load(table));
    hn_vf part[4];
    for (int i = 0; i < values / 32; i++)
        part[i] =
            _mm512_permutex2var_ps(hn_v_load(table + 32 * i), code, hn_v_load(table + 32 * i + 16));
    for (int n = values / 32, bit = 32; n > 1; n /= 2, bit *= 2) {
        hn_vm upper = _mm512_test_epi32_mask(code, _mm512_set1_epi32(bit));
        for (int i = 0; i < n / 2; i++) part[i] = hn_v_select(upper, part[2 * i + 1], part[2 * i]);
    }
    return part[0];
}

static inline double look_up_cycles(int values) {
    return values == 16 ? 1.05 : values == 32 ? 1.2 : values == 64 ? 2.7 : 5.8;
}

#define MOST_VALUES 128
#define LOOK_UP_CYCLES(values) look_up_cycles(values)
#define DENSE_CYCLES 7.4
#define LOOK_UP(table, word, shift, values) look_up(table, word, shift, values)

#include "kernels/conv_f32/conv_f32_lookup_body.h"
