#include "simd/neon.h"

#include "kernels/conv_q8/conv_q8_parts.h"

enum { LANES = 4 };
#define MR 6
#define NR 16
#define KU 4
#define FLIP HN_Q8_S8
typedef int8_t a_elem;
typedef int32x4_t acc;
typedef int8x16_t w_vec, x_vec;

HN_INLINE acc zero_acc(void) { return vdupq_n_s32(0); }
HN_INLINE acc load_acc(const int32_t *p) { return vld1q_s32(p); }
HN_INLINE void store_acc(int32_t *p, acc v) { vst1q_s32(p, v); }
HN_INLINE acc add_acc(acc a, acc b) { return vaddq_s32(a, b); }
HN_INLINE w_vec load_w(const int8_t *p) { return vld1q_s8(p); }
HN_INLINE x_vec load_x(const a_elem *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
HN_INLINE acc dot(acc sum, w_vec w, x_vec x) { return vdotq_s32(sum, w, x); }

#include "kernels/conv_q8/conv_q8_dot_tile.h"

#define ROW hn_conv_q8_panel_neondot
#define NAME "neondot"
#define ISA HN_ISA_NEONDOT
#include "kernels/conv_q8/conv_q8_panel_body.h"
