/* Without a dot product of bytes: s16, products as s32. */
#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 1
#define FLIP HN_Q8_S8
#define MAX_OUTPUTS 1
enum { GROUP_BYTES = 2 * HN_VB };
typedef int16_t w_elem;
typedef int16x8_t zero_vec;
typedef int16x8x2_t x_group;

HN_INLINE void weave(const hn_vb *taps, void *to) {
    vst1q_s16(to, vmovl_s8(vget_low_s8(*taps)));
    vst1q_s16((int16_t *)to + 8, vmovl_high_s8(*taps));
}
HN_INLINE x_group load_group(const void *from) {
    const int16_t *p = from;
    return (x_group){{vld1q_s16(p), vld1q_s16(p + 8)}};
}
HN_INLINE void dot(hn_vi *sum, const x_group *x, const w_elem *w) {
    for (int i = 0; i < 2; i++) {
        int16x8_t wi = vld1q_s16(w + 8 * i);
        sum[2 * i] = vmlal_s16(sum[2 * i], vget_low_s16(x->val[i]), vget_low_s16(wi));
        sum[2 * i + 1] = vmlal_high_s16(sum[2 * i + 1], x->val[i], wi);
    }
}
HN_INLINE zero_vec spread(int zero) { return vdupq_n_s16((int16_t)zero); }
HN_INLINE hn_vb narrow(const hn_vi *y, zero_vec zero) {
    int16x8_t a = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(y[0]), y[1]), zero);
    int16x8_t b = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(y[2]), y[3]), zero);
    return vqmovn_high_s16(vqmovn_s16(a), b);
}

#define ROW hn_conv_q8_depthwise_neon
#define NAME "depthwise_neon"
#define ISA HN_ISA_NEON
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
