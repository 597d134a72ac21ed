#include "simd/neon.h"

#include "simd/part.h"

/* Four tables of 64 bytes: an index beyond one of them leaves what the others found. */
typedef struct tables {
    uint8x16x4_t y[4];
} tables;

static inline void prepare(tables *t, const uint8_t *table) {
    for (int i = 0; i < 4; i++) t->y[i] = vld1q_u8_x4(table + 64 * i);
}

HN_INLINE hn_vb look_up(const tables *t, hn_vb x) {
    uint8x16_t u = vreinterpretq_u8_s8(x), y = vqtbl4q_u8(t->y[0], u);
    for (uint8_t i = 1; i < 4; i++)
        y = vqtbx4q_u8(y, t->y[i], vsubq_u8(u, vdupq_n_u8((uint8_t)(64 * i))));
    return vreinterpretq_s8_u8(y);
}

#define HN_LUT_OWN
#include "kernels/lut_q8/lut_q8_body.h"
