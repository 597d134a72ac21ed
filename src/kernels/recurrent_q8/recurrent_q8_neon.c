/* Without a dot product of bytes: products as s16, summed by pairs twice. */
#include "simd/neon.h"

#define RECURRENT_Q8
#define ROWS 4
#define X_IS_U8 0

static inline hn_vi dot(hn_vi sum, hn_vi w, hn_vi x) {
    int8x16_t a = vreinterpretq_s8_s32(w), b = vreinterpretq_s8_s32(x);
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    return vaddq_s32(sum, vpaddq_s32(low, vpaddlq_s16(vmull_high_s8(a, b))));
}

#define ROW hn_recurrent_q8_neon
#define NAME "neon"
#define ISA HN_ISA_NEON
#include "kernels/recurrent_f32/recurrent_f32_body.h"
