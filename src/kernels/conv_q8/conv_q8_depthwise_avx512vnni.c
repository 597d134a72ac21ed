#include "simd/avx512.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 4
#define FLIP HN_Q8_U8
#define MAX_OUTPUTS 4
enum { GROUP_BYTES = 4 * HN_VB };
typedef int8_t w_elem;
typedef __m512i zero_vec;
typedef struct x_group {
    hn_vi of[4];
} x_group;

HN_INLINE void weave(const hn_vb *taps, void *to) {
    hn_vb a = _mm512_unpacklo_epi8(taps[0], taps[1]), b = _mm512_unpackhi_epi8(taps[0], taps[1]);
    hn_vb c = _mm512_unpacklo_epi8(taps[2], taps[3]), d = _mm512_unpackhi_epi8(taps[2], taps[3]);
    hn_vb_store(to, _mm512_unpacklo_epi16(a, c));
    hn_vb_store((char *)to + HN_VB, _mm512_unpackhi_epi16(a, c));
    hn_vb_store((char *)to + 2 * HN_VB, _mm512_unpacklo_epi16(b, d));
    hn_vb_store((char *)to + 3 * HN_VB, _mm512_unpackhi_epi16(b, d));
}
HN_INLINE x_group load_group(const void *from) {
    x_group x;
    for (int i = 0; i < 4; i++) x.of[i] = hn_vb_load((const char *)from + i * HN_VB);
    return x;
}
HN_INLINE void dot(hn_vi *sum, const x_group *x, const w_elem *w) {
    for (int i = 0; i < 4; i++)
        sum[i] = _mm512_dpbusd_epi32(sum[i], x->of[i], hn_vb_load(w + i * HN_VB));
}
HN_INLINE zero_vec spread(int zero) { return _mm512_set1_epi16((short)zero); }
HN_INLINE hn_vb narrow(const hn_vi *y, zero_vec zero) {
    return _mm512_packs_epi16(_mm512_adds_epi16(_mm512_packs_epi32(y[0], y[1]), zero),
                              _mm512_adds_epi16(_mm512_packs_epi32(y[2], y[3]), zero));
}
HN_INLINE hn_vb least(hn_vb a, hn_vb b) { return _mm512_min_epi8(a, b); }

#define ROW hn_conv_q8_depthwise_avx512vnni
#define NAME "depthwise_avx512vnni"
#define ISA HN_ISA_AVX512VNNI
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
