#include "simd/avx2.h"

#include <string.h>

#include "simd/part.h"

/* A shuffle looks up 16 bytes by the low half of an index, and gives 0 where its sign is set. With
 * row k of the table as the difference (by exclusive or) to row k - 1, and indices that fall by 16
 * from row to row until they are negative, the differences of an index add up to its row. Each half
 * of the table has its own indices, the other half's being negative from the start. */
typedef struct tables {
    __m256i y[2][8];
} tables;

static inline void prepare(tables *t, const uint8_t *table) {
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < 8; k++) {
            uint8_t row[16], before[16] = {0};
            memcpy(row, table + 128 * half + 16 * k, sizeof row);
            if (k > 0) memcpy(before, table + 128 * half + 16 * (k - 1), sizeof before);
            for (int i = 0; i < 16; i++) row[i] ^= before[i];
            t->y[half][k] =
                _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)row));
        }
}

HN_INLINE hn_vb look_up(const tables *t, hn_vb x) {
    hn_vb y = hn_vb_set1(0), sixteen = hn_vb_set1(16);
    for (int half = 0; half < 2; half++) {
        hn_vb index = half == 0 ? x : hn_vb_xor(x, hn_vb_set1(0x80));
        for (int k = 0; k < 8; k++) {
            y = hn_vb_xor(y, _mm256_shuffle_epi8(t->y[half][k], index));
            index = _mm256_subs_epi8(index, sixteen);
        }
    }
    return y;
}

#define HN_LUT_OWN
#include "kernels/lut_q8/lut_q8_body.h"
