/* The vector vocabulary (see README.md) for AVX2 with FMA: 8 lanes. */
#ifndef HN_SIMD_AVX2_H
#define HN_SIMD_AVX2_H
#if defined(__AVX2__) && defined(__FMA__)

#ifdef HN_VL
#error "one vector vocabulary per file"
#endif
#include <immintrin.h>
#include <stdint.h>

#include "simd/bytes.h"

#define HN_VL 8
#define HN_VB (4 * HN_VL)
#define HN_V_CHAINS 1
#define HN_V_ROW(family) hn_##family##_avx2
#define HN_V_NAME "avx2"
#define HN_V_ISA HN_ISA_AVX2
#define HN_V_FMA 1
typedef __m256 hn_vf;
typedef __m256i hn_vi;
typedef __m256 hn_vm;  /* all bits of a lane, or none */
typedef __m256i hn_vb; /* 32 bytes */

static inline __m256i hn_v_first_(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline hn_vf hn_v_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void hn_v_store(float *p, hn_vf x) { _mm256_storeu_ps(p, x); }
static inline hn_vf hn_v_load_n(const float *p, int64_t n) {
    return _mm256_maskload_ps(p, hn_v_first_(n));
}
static inline void hn_v_store_n(float *p, hn_vf x, int64_t n) {
    _mm256_maskstore_ps(p, hn_v_first_(n), x);
}
static inline hn_vf hn_v_load_f16(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline void hn_v_store_f16(uint16_t *p, hn_vf x) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline hn_vf hn_v_load_bf16(const uint16_t *p) {
    __m256i v = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}
static inline void hn_v_store_upper(uint16_t *p, hn_vf x) {
    __m256i v = _mm256_srli_epi32(_mm256_castps_si256(x), 16);
    __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(low, high));
}
static inline hn_vf hn_v_keep_n(hn_vf x, hn_vf y, int64_t n) {
    return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(hn_v_first_(n)));
}
static inline hn_vf hn_v_set1(float c) { return _mm256_set1_ps(c); }

static inline hn_vf hn_v_add(hn_vf a, hn_vf b) { return _mm256_add_ps(a, b); }
static inline hn_vf hn_v_sub(hn_vf a, hn_vf b) { return _mm256_sub_ps(a, b); }
static inline hn_vf hn_v_mul(hn_vf a, hn_vf b) { return _mm256_mul_ps(a, b); }
static inline hn_vf hn_v_div(hn_vf a, hn_vf b) { return _mm256_div_ps(a, b); }
static inline hn_vf hn_v_fma(hn_vf a, hn_vf b, hn_vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline hn_vf hn_v_fnma(hn_vf a, hn_vf b, hn_vf c) { return _mm256_fnmadd_ps(a, b, c); }
static inline hn_vf hn_v_min(hn_vf a, hn_vf b) { return _mm256_min_ps(a, b); }
static inline hn_vf hn_v_max(hn_vf a, hn_vf b) { return _mm256_max_ps(a, b); }
static inline hn_vf hn_v_above(hn_vf x, hn_vf lo) { return _mm256_max_ps(x, lo); }
static inline hn_vf hn_v_sqrt(hn_vf x) { return _mm256_sqrt_ps(x); }
static inline hn_vf hn_v_and(hn_vf a, hn_vf b) { return _mm256_and_ps(a, b); }
static inline hn_vf hn_v_or(hn_vf a, hn_vf b) { return _mm256_or_ps(a, b); }
static inline hn_vf hn_v_xor(hn_vf a, hn_vf b) { return _mm256_xor_ps(a, b); }
static inline hn_vf hn_v_abs(hn_vf x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
static inline hn_vf hn_v_neg(hn_vf x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }
static inline hn_vf hn_v_floor(hn_vf x) { return _mm256_floor_ps(x); }
static inline hn_vf hn_v_ceil(hn_vf x) { return _mm256_ceil_ps(x); }
static inline hn_vf hn_v_round(hn_vf x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline hn_vm hn_v_lt(hn_vf a, hn_vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline hn_vm hn_v_le(hn_vf a, hn_vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
static inline hn_vm hn_v_gt(hn_vf a, hn_vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
static inline hn_vm hn_v_ge(hn_vf a, hn_vf b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
static inline hn_vm hn_v_eq(hn_vf a, hn_vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline hn_vm hn_v_isnan(hn_vf x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }
static inline hn_vm hn_vm_and(hn_vm a, hn_vm b) { return _mm256_and_ps(a, b); }
static inline hn_vm hn_vm_or(hn_vm a, hn_vm b) { return _mm256_or_ps(a, b); }
static inline hn_vm hn_vm_not(hn_vm a) {
    return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
}
static inline hn_vm hn_vi_lt(hn_vi a, hn_vi b) {
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a));
}
static inline int hn_vm_any(hn_vm a) { return _mm256_movemask_ps(a) != 0; }
static inline hn_vf hn_v_select(hn_vm m, hn_vf a, hn_vf b) { return _mm256_blendv_ps(b, a, m); }

static inline hn_vi hn_vi_set1(int32_t c) { return _mm256_set1_epi32(c); }
static inline hn_vi hn_vi_add(hn_vi a, hn_vi b) { return _mm256_add_epi32(a, b); }
static inline hn_vi hn_vi_sub(hn_vi a, hn_vi b) { return _mm256_sub_epi32(a, b); }
static inline hn_vi hn_vi_and(hn_vi a, hn_vi b) { return _mm256_and_si256(a, b); }
#define hn_vi_shl(a, n) _mm256_slli_epi32(a, n)
#define hn_vi_shr(a, n) _mm256_srai_epi32(a, n)
static inline hn_vi hn_v_bits(hn_vf x) { return _mm256_castps_si256(x); }
static inline hn_vf hn_v_from_bits(hn_vi i) { return _mm256_castsi256_ps(i); }
static inline hn_vf hn_v_from_int(hn_vi i) { return _mm256_cvtepi32_ps(i); }
static inline hn_vi hn_v_to_int(hn_vf x) { return _mm256_cvtps_epi32(x); }

static inline hn_vf hn_v_recip(hn_vf x) {
    hn_vf r = _mm256_rcp_ps(x); /* relative error 1.5 * 2^-12; a step of Newton squares it */
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(x, r, _mm256_set1_ps(1.0f)), r, r);
}
static inline hn_vf hn_v_over(hn_vf x, hn_vf d) { return hn_v_div(x, d); }
/* The conversion of NaN leaves no bit below 2^9, so NaN stays. */
static inline hn_vf hn_v_scalef_normal(hn_vf x, hn_vf n) {
    return hn_v_from_bits(hn_vi_add(hn_v_bits(x), hn_vi_shl(hn_v_to_int(n), 23)));
}
static inline hn_vf hn_v_scalef(hn_vf x, hn_vf n) {
    hn_vi i = hn_v_to_int(n), half = hn_vi_shr(i, 1), rest = hn_vi_sub(i, half);
    hn_vi bias = hn_vi_set1(127);
    x = hn_v_mul(x, hn_v_from_bits(hn_vi_shl(hn_vi_add(half, bias), 23)));
    return hn_v_mul(x, hn_v_from_bits(hn_vi_shl(hn_vi_add(rest, bias), 23)));
}

static inline hn_vi hn_vi_load(const int32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static inline hn_vi hn_vi_load_n(const int32_t *p, int64_t n) {
    return _mm256_maskload_epi32(p, hn_v_first_(n));
}
static inline hn_vb hn_vb_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void hn_vb_store(void *p, hn_vb x) { _mm256_storeu_si256((__m256i *)p, x); }
/* The first n < 16 bytes; usually 0 or 8. */
static inline __m128i hn_vb_load_half_(const uint8_t *p, int64_t n) {
    if (n == 0) return _mm_setzero_si128();
    if (n == 8) return _mm_loadl_epi64((const __m128i *)p);
    uint8_t t[16] = {0};
    hn_bytes_copy(t, p, n & 15); /* & 15: the compiler sees it */
    return _mm_loadu_si128((const __m128i *)t);
}
static inline hn_vb hn_vb_load_n(const void *p, int64_t n) {
    const uint8_t *from = p;
    if (n < 16) return _mm256_zextsi128_si256(hn_vb_load_half_(from, n));
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_inserti128_si256(low, hn_vb_load_half_(from + 16, n - 16), 1);
}
static inline void hn_vb_store_n(void *p, hn_vb x, int64_t n) {
    char *to = p;
    __m128i half = _mm256_castsi256_si128(x);
    if (n & 16) {
        _mm_storeu_si128((__m128i *)p, half);
        half = _mm256_extracti128_si256(x, 1), to += 16;
    }
    if (n & 8) {
        _mm_storel_epi64((__m128i *)(void *)to, half);
        half = _mm_unpackhi_epi64(half, half), to += 8;
    }
    int64_t rest = _mm_cvtsi128_si64(half);
    hn_bytes_copy(to, &rest, n & 7);
}
static inline hn_vb hn_vb_set1(int c) { return _mm256_set1_epi8((char)c); }
static inline hn_vb hn_vb_xor(hn_vb a, hn_vb b) { return _mm256_xor_si256(a, b); }
static inline hn_vb hn_vb_min(hn_vb a, hn_vb b) { return _mm256_min_epi8(a, b); }
static inline hn_vb hn_vb_max(hn_vb a, hn_vb b) { return _mm256_max_epi8(a, b); }
static inline void hn_vb_widen(hn_vb x, hn_vi *y) {
    __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
    y[0] = _mm256_cvtepi8_epi32(low);
    y[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(low, 8));
    y[2] = _mm256_cvtepi8_epi32(high);
    y[3] = _mm256_cvtepi8_epi32(_mm_srli_si128(high, 8));
}
static inline void hn_vb_widen_u8(const void *p, hn_vi *y) {
    const char *from = p;
    for (int k = 0; k < 4; k++)
        y[k] = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(from + 8 * k)));
}
static inline void hn_vb_widen_s8(const void *p, hn_vi *y) {
    const char *from = p;
    for (int k = 0; k < 4; k++)
        y[k] = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(from + 8 * k)));
}
/* Packing works within 128 bits: the fours of bytes are then put in order. */
static inline hn_vb hn_vb_narrow(const hn_vi *x) {
    __m256i y = _mm256_packs_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
    return _mm256_permutevar8x32_epi32(y, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
#define HN_VB_NARROWS_U8
static inline hn_vb hn_vb_narrow_u8(const hn_vi *x) {
    __m256i y = _mm256_packus_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
    return _mm256_permutevar8x32_epi32(y, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
static inline hn_vi hn_vb_sums(hn_vb x) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), x), _mm256_set1_epi16(1));
}
/* Within each 16 bytes. */
#define HN_VB_WEAVE_(bytes, bits)                                \
    static inline void hn_vb_weave_##bytes(hn_vb *a, hn_vb *b) { \
        hn_vb low = _mm256_unpacklo_epi##bits(*a, *b);           \
        *b = _mm256_unpackhi_epi##bits(*a, *b), *a = low;        \
    }
HN_VB_WEAVE_(1, 8)
HN_VB_WEAVE_(2, 16)
HN_VB_WEAVE_(4, 32)
HN_VB_WEAVE_(8, 64)
#undef HN_VB_WEAVE_
static inline hn_vb hn_vb_load_rows(const void *p, int64_t stride) {
    const char *from = p;
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm256_inserti128_si256(low, _mm_loadu_si128((const void *)(from + stride)), 1);
}
static inline void hn_vb_store_rows(void *p, hn_vb x, int64_t stride) {
    char *to = p;
    _mm_storeu_si128((void *)to, _mm256_castsi256_si128(x));
    _mm_storeu_si128((void *)(to + stride), _mm256_extracti128_si256(x, 1));
}

static inline float hn_v_sum(hn_vf x) {
    __m128 z = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    z = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(z, _mm_movehdup_ps(z)));
}
static inline float hn_v_hmax(hn_vf x) {
    if (hn_vm_any(hn_v_isnan(x))) return __builtin_nanf("");
    __m128 z = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    z = _mm_max_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_max_ss(z, _mm_movehdup_ps(z)));
}
static inline float hn_v_hmin(hn_vf x) {
    if (hn_vm_any(hn_v_isnan(x))) return __builtin_nanf("");
    __m128 z = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    z = _mm_min_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_min_ss(z, _mm_movehdup_ps(z)));
}

static inline hn_vf hn_v_pick(hn_vf a, hn_vf b, hn_vi i) {
    hn_vm second = _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)); /* bit 3 to the sign */
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, i), _mm256_permutevar8x32_ps(b, i), second);
}

static inline hn_vf hn_v_permute(hn_vf x, hn_vi lanes) {
    return _mm256_permutevar8x32_ps(x, lanes);
}

/* Row i becomes column i of r[0] to r[7]: pairs, then fours within 128 bits, then the halves. */
static inline __attribute__((always_inline)) void hn_v_transpose(hn_vf *r) {
    hn_vf t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        __m256d a = _mm256_castps_pd(t[i]), b = _mm256_castps_pd(t[i + 1]);
        __m256d c = _mm256_castps_pd(t[i + 2]), d = _mm256_castps_pd(t[i + 3]);
        r[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        r[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        r[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        r[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        hn_vf low = _mm256_permute2f128_ps(r[j], r[j + 4], 0x20);
        r[j + 4] = _mm256_permute2f128_ps(r[j], r[j + 4], 0x31);
        r[j] = low;
    }
}

#endif
#endif
