/* Without a dot product of bytes: both sides as s16, products as s32. */
#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

enum { LANES = 8 };
#define MR 6
#define NR 16
#define KU 1
#define FLIP HN_Q8_S32
typedef int16_t a_elem;
typedef int32x4x2_t acc;
typedef int16x8_t w_vec;
typedef int16_t x_vec;

HN_INLINE acc zero_acc(void) { return (acc){{vdupq_n_s32(0), vdupq_n_s32(0)}}; }
HN_INLINE acc load_acc(const int32_t *p) { return (acc){{vld1q_s32(p), vld1q_s32(p + 4)}}; }
HN_INLINE void store_acc(int32_t *p, acc v) {
    vst1q_s32(p, v.val[0]);
    vst1q_s32(p + 4, v.val[1]);
}
HN_INLINE acc add_acc(acc a, acc b) {
    return (acc){{vaddq_s32(a.val[0], b.val[0]), vaddq_s32(a.val[1], b.val[1])}};
}
HN_INLINE w_vec load_w(const int8_t *p) { return vmovl_s8(vld1_s8(p)); }
HN_INLINE x_vec load_x(const a_elem *p) { return *p; }
HN_INLINE acc dot(acc sum, w_vec w, x_vec x) {
    return (acc){{vmlal_n_s16(sum.val[0], vget_low_s16(w), x),
                  vmlal_n_s16(sum.val[1], vget_high_s16(w), x)}};
}

#include "kernels/conv_q8/conv_q8_dot_tile.h"

#define ROW hn_conv_q8_panel_neon
#define NAME "neon"
#define ISA HN_ISA_NEON
#include "kernels/conv_q8/conv_q8_panel_body.h"
