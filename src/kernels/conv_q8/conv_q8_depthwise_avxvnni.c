#include "simd/avx2.h"

#include "kernels/conv_q8/conv_q8_parts.h"

#define KU 4
#define FLIP HN_Q8_U8
#define MAX_OUTPUTS 2
enum { GROUP_BYTES = 4 * HN_VB };
typedef int8_t w_elem;
typedef __m256i zero_vec;
typedef struct x_group {
    hn_vi of[4];
} x_group;

HN_INLINE void weave(const hn_vb *taps, void *to) {
    hn_vb a = _mm256_unpacklo_epi8(taps[0], taps[1]), b = _mm256_unpackhi_epi8(taps[0], taps[1]);
    hn_vb c = _mm256_unpacklo_epi8(taps[2], taps[3]), d = _mm256_unpackhi_epi8(taps[2], taps[3]);
    hn_vb_store(to, _mm256_unpacklo_epi16(a, c));
    hn_vb_store((char *)to + HN_VB, _mm256_unpackhi_epi16(a, c));
    hn_vb_store((char *)to + 2 * HN_VB, _mm256_unpacklo_epi16(b, d));
    hn_vb_store((char *)to + 3 * HN_VB, _mm256_unpackhi_epi16(b, d));
}
HN_INLINE x_group load_group(const void *from) {
    x_group x;
    for (int i = 0; i < 4; i++) x.of[i] = hn_vb_load((const char *)from + i * HN_VB);
    return x;
}
HN_INLINE void dot(hn_vi *sum, const x_group *x, const w_elem *w) {
    for (int i = 0; i < 4; i++)
        sum[i] = _mm256_dpbusd_avx_epi32(sum[i], x->of[i], hn_vb_load(w + i * HN_VB));
}
HN_INLINE zero_vec spread(int zero) { return _mm256_set1_epi16((short)zero); }
HN_INLINE hn_vb narrow(const hn_vi *y, zero_vec zero) {
    return _mm256_packs_epi16(_mm256_adds_epi16(_mm256_packs_epi32(y[0], y[1]), zero),
                              _mm256_adds_epi16(_mm256_packs_epi32(y[2], y[3]), zero));
}
HN_INLINE hn_vb least(hn_vb a, hn_vb b) { return _mm256_min_epi8(a, b); }

#define ROW hn_conv_q8_depthwise_avxvnni
#define NAME "depthwise_avxvnni"
#define ISA HN_ISA_AVXVNNI
#include "kernels/conv_q8/conv_q8_depthwise_body.h"
