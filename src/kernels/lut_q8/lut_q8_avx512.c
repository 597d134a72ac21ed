#include "simd/avx512.h"

#include "simd/part.h"

/* The table as 128 pairs of bytes: two permutations of 64 pairs each, for the even and for the odd
 * bytes of x, by bits 1 to 6 of an index; its bit 7 says which of the two, its bit 0 which byte. */
typedef struct tables {
    __m512i y[4]; /* 32 pairs each */
} tables;

static inline void prepare(tables *t, const uint8_t *table) {
    for (int i = 0; i < 4; i++) t->y[i] = _mm512_loadu_si512(table + 64 * i);
}

/* The pairs by indices in the low bytes of 16-bit lanes; bits beyond 6 of `pair` do not count. */
HN_INLINE __m512i pairs(const tables *t, __m512i pair, __mmask32 upper) {
    __m512i low = _mm512_permutex2var_epi16(t->y[0], pair, t->y[1]);
    __m512i high = _mm512_permutex2var_epi16(t->y[2], pair, t->y[3]);
    return _mm512_mask_blend_epi16(upper, low, high);
}

HN_INLINE hn_vb look_up(const tables *t, hn_vb x) {
    __m512i eight = _mm512_set1_epi16(8), odd_x = _mm512_srli_epi16(x, 8);
    __m512i even =
        pairs(t, _mm512_srli_epi16(x, 1), _mm512_test_epi16_mask(x, _mm512_set1_epi16(0x80)));
    __m512i odd = pairs(t, _mm512_srli_epi16(x, 9), _mm512_movepi16_mask(x));
    /* Down to the low byte, and up to the high one. */
    even = _mm512_srlv_epi16(even, _mm512_and_si512(_mm512_slli_epi16(x, 3), eight));
    odd = _mm512_sllv_epi16(odd, _mm512_andnot_si512(_mm512_slli_epi16(odd_x, 3), eight));
    return _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, even, odd);
}

#define HN_LUT_OWN
#include "kernels/lut_q8/lut_q8_body.h"
