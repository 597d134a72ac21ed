#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define CB 8
typedef int16x8_t x_vec;
typedef int32x4x2_t sums;

HN_INLINE x_vec load_x(const uint8_t *x, bool is_signed) {
    uint8x8_t bytes = vld1_u8(x);
    return is_signed ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
}
HN_INLINE sums begin_sums(const int32_t *start) {
    return (sums){{vld1q_s32(start), vld1q_s32(start + 4)}};
}
HN_INLINE void end_sums(int32_t *c, sums s) {
    vst1q_s32(c, s.val[0]);
    vst1q_s32(c + 4, s.val[1]);
}
HN_INLINE sums one(sums s, x_vec x, int16x8_t w) {
    return (sums){{vmlal_s16(s.val[0], vget_low_s16(x), vget_low_s16(w)),
                   vmlal_s16(s.val[1], vget_high_s16(x), vget_high_s16(w))}};
}
HN_INLINE sums pair(sums s, x_vec a, x_vec b, const int16_t *w) {
    return one(one(s, a, vld1q_s16(w)), b, vld1q_s16(w + CB));
}
HN_INLINE int weight_place(int tap, int i) { return tap * CB + i; }

#define ROW hn_conv_q8_depthwise_neon
#define NAME "depthwise_neon"
#define ISA HN_ISA_NEON
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
