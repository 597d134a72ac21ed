#include "kernels/conv_q8/conv_q8_parts.h"

#define CB 8
typedef struct x_vec {
    int16_t of[CB];
} x_vec;
typedef struct sums { /* unsigned, which wrap */
    uint32_t of[CB];
} sums;

HN_INLINE x_vec load_x(const uint8_t *x, bool is_signed) {
    x_vec v;
    for (int i = 0; i < CB; i++) v.of[i] = is_signed ? (int8_t)x[i] : x[i];
    return v;
}
HN_INLINE sums begin_sums(const int32_t *start) {
    sums s;
    memcpy(s.of, start, sizeof s.of);
    return s;
}
HN_INLINE void end_sums(int32_t *c, sums s) { memcpy(c, s.of, sizeof s.of); }
HN_INLINE sums pair(sums s, x_vec a, x_vec b, const int16_t *w) {
    for (int i = 0; i < CB; i++)
        s.of[i] += (uint32_t)(a.of[i] * w[i]) + (uint32_t)(b.of[i] * w[CB + i]);
    return s;
}
HN_INLINE int weight_place(int tap, int i) { return tap * CB + i; }

#define ROW hn_conv_q8_depthwise_portable
#define NAME "depthwise_portable"
#define ISA HN_ISA_PORTABLE
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
