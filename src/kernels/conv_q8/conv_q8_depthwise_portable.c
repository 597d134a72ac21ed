#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 1
#define FLIP HN_Q8_S8
#define MAX_OUTPUTS 1
enum { GROUP_BYTES = 4 * HN_VB };
typedef int16_t w_elem;
typedef hn_vi zero_vec;
typedef struct x_group {
    hn_vi of[4];
} x_group;

HN_INLINE void weave(const hn_vb *taps, void *to) {
    hn_vi x[4];
    hn_vb_widen(*taps, x);
    memcpy(to, x, sizeof x);
}
HN_INLINE x_group load_group(const void *from) {
    x_group x;
    memcpy(&x, from, sizeof x);
    return x;
}
/* Products as unsigned, and sums too, which wrap. */
HN_INLINE void dot(hn_vi *sum, const x_group *x, const w_elem *w) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < HN_VL; j++)
            sum[i][j] = (int32_t)((uint32_t)sum[i][j] + (uint32_t)(x->of[i][j] * w[i * HN_VL + j]));
}
HN_INLINE zero_vec spread(int zero) { return hn_vi_set1(zero); }
HN_INLINE hn_vb narrow(const hn_vi *y, zero_vec zero) {
    hn_vi z[4];
    for (int i = 0; i < 4; i++) z[i] = hn_vi_add(y[i], zero);
    return hn_vb_narrow(z);
}

#define ROW hn_conv_q8_depthwise_portable
#define NAME "depthwise_portable"
#define ISA HN_ISA_PORTABLE
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
