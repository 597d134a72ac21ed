/* What depthwise rows of x86 share. W(f) is the intrinsic f of the row's width; DOT4(sum, x, w), if
 * there is one, adds products of four u8 by four s8 to each s32. Without it taps go in pairs, as
 * s16, whose products are summed exactly. */
#ifdef W
#include "kernels/conv_q8/conv_q8_parts.h"

#define FLIP HN_Q8_U8
enum { GROUP_BYTES = 4 * HN_VB };
typedef hn_vi zero_vec;
typedef struct x_group {
    hn_vi of[4];
} x_group;

#ifdef DOT4
#define KU 4
typedef int8_t w_elem;
#else
#define KU 2
typedef int16_t w_elem;
#define DOT4(sum, x, w) hn_vi_add(sum, W(madd_epi16)(x, w))
#endif

HN_INLINE void weave(const hn_vb *taps, void *to) {
    hn_vb a = W(unpacklo_epi8)(taps[0], taps[1]), b = W(unpackhi_epi8)(taps[0], taps[1]);
#if KU == 4
    hn_vb c = W(unpacklo_epi8)(taps[2], taps[3]), d = W(unpackhi_epi8)(taps[2], taps[3]);
    hn_vb y[] = {W(unpacklo_epi16)(a, c), W(unpackhi_epi16)(a, c), W(unpacklo_epi16)(b, d),
                 W(unpackhi_epi16)(b, d)};
#else
    hn_vb zero = hn_vi_set1(0);
    hn_vb y[] = {W(unpacklo_epi8)(a, zero), W(unpackhi_epi8)(a, zero), W(unpacklo_epi8)(b, zero),
                 W(unpackhi_epi8)(b, zero)};
#endif
    for (int i = 0; i < 4; i++) hn_vb_store((char *)to + i * HN_VB, y[i]);
}
HN_INLINE x_group load_group(const void *from) {
    x_group x;
    for (int i = 0; i < 4; i++) x.of[i] = hn_vb_load((const char *)from + i * HN_VB);
    return x;
}
HN_INLINE void dot(hn_vi *sum, const x_group *x, const w_elem *w) {
    for (int i = 0; i < 4; i++)
        sum[i] = DOT4(sum[i], x->of[i], hn_vb_load((const char *)w + i * HN_VB));
}
HN_INLINE zero_vec spread(int zero) { return W(set1_epi16)((short)zero); }
HN_INLINE hn_vb narrow(const hn_vi *y, zero_vec zero) {
    return W(packs_epi16)(W(adds_epi16)(W(packs_epi32)(y[0], y[1]), zero),
                          W(adds_epi16)(W(packs_epi32)(y[2], y[3]), zero));
}

#include "kernels/conv_q8/conv_q8_depthwise_body.h"
#endif
