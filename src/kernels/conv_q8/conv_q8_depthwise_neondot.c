#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 4
#define FLIP HN_Q8_S8
#define MAX_OUTPUTS 4
enum { GROUP_BYTES = 4 * HN_VB };
typedef int8_t w_elem;
typedef int16x8_t zero_vec;
typedef int8x16x4_t x_group;

/* Pairs of taps, then fours. */
HN_INLINE void weave(const hn_vb *taps, void *to) {
    int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(taps[0], taps[1]));
    int16x8_t b = vreinterpretq_s16_s8(vzip2q_s8(taps[0], taps[1]));
    int16x8_t c = vreinterpretq_s16_s8(vzip1q_s8(taps[2], taps[3]));
    int16x8_t d = vreinterpretq_s16_s8(vzip2q_s8(taps[2], taps[3]));
    int16_t *y = to;
    vst1q_s16(y, vzip1q_s16(a, c));
    vst1q_s16(y + 8, vzip2q_s16(a, c));
    vst1q_s16(y + 16, vzip1q_s16(b, d));
    vst1q_s16(y + 24, vzip2q_s16(b, d));
}
HN_INLINE x_group load_group(const void *from) {
    const int8_t *p = from;
    return (x_group){{vld1q_s8(p), vld1q_s8(p + 16), vld1q_s8(p + 32), vld1q_s8(p + 48)}};
}
HN_INLINE void dot(hn_vi *sum, const x_group *x, const w_elem *w) {
    for (int i = 0; i < 4; i++) sum[i] = vdotq_s32(sum[i], x->val[i], vld1q_s8(w + 16 * i));
}
HN_INLINE zero_vec spread(int zero) { return vdupq_n_s16((int16_t)zero); }
HN_INLINE hn_vb narrow(const hn_vi *y, zero_vec zero) {
    int16x8_t a = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(y[0]), y[1]), zero);
    int16x8_t b = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(y[2]), y[3]), zero);
    return vqmovn_high_s16(vqmovn_s16(a), b);
}

#define ROW hn_conv_q8_depthwise_neondot
#define NAME "depthwise_neondot"
#define ISA HN_ISA_NEONDOT
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
