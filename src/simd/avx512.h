/* The vector vocabulary (see README.md) for AVX-512 F, BW, DQ, VL: 16 lanes. */
#ifndef HN_SIMD_AVX512_H
#define HN_SIMD_AVX512_H
#if defined(__AVX512F__) && defined(__AVX512DQ__)

#ifdef HN_VL
#error "one vector vocabulary per file"
#endif
#include <immintrin.h>
#include <stdint.h>

#define HN_VL 16
#define HN_VB (4 * HN_VL)
#define HN_V_CHAINS 1
#define HN_V_ROW(family) hn_##family##_avx512
#define HN_V_NAME "avx512"
#define HN_V_ISA HN_ISA_AVX512
#define HN_V_FMA 1
typedef __m512 hn_vf;
typedef __m512i hn_vi;
typedef __mmask16 hn_vm;
typedef __m512i hn_vb; /* 64 bytes */

static inline __mmask16 hn_v_first_(int64_t n) { return (__mmask16)((1u << n) - 1); }

static inline hn_vf hn_v_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void hn_v_store(float *p, hn_vf x) { _mm512_storeu_ps(p, x); }
static inline hn_vf hn_v_load_n(const float *p, int64_t n) {
    return _mm512_maskz_loadu_ps(hn_v_first_(n), p);
}
static inline void hn_v_store_n(float *p, hn_vf x, int64_t n) {
    _mm512_mask_storeu_ps(p, hn_v_first_(n), x);
}
#define HN_V_BF16
static inline hn_vf hn_v_load_bf16_n(const uint16_t *p, int64_t n) {
    __m512i v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(hn_v_first_(n), p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}
static inline void hn_v_store_bf16_n(uint16_t *p, hn_vf x, int64_t n) {
    __m512i v = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(v, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(v, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    up = _mm512_mask_or_epi32(up, nan, v, _mm512_set1_epi32(0x400000));
    _mm512_mask_cvtepi32_storeu_epi16(p, hn_v_first_(n), _mm512_srli_epi32(up, 16));
}
static inline hn_vf hn_v_load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline void hn_v_store_f16(uint16_t *p, hn_vf x) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline hn_vf hn_v_load_bf16(const uint16_t *p) {
    __m512i v = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}
static inline void hn_v_store_upper(uint16_t *p, hn_vf x) {
    __m512i v = _mm512_srli_epi32(_mm512_castps_si512(x), 16);
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(v));
}
static inline hn_vf hn_v_keep_n(hn_vf x, hn_vf y, int64_t n) {
    return _mm512_mask_blend_ps(hn_v_first_(n), y, x);
}
static inline hn_vf hn_v_set1(float c) { return _mm512_set1_ps(c); }

static inline hn_vf hn_v_add(hn_vf a, hn_vf b) { return _mm512_add_ps(a, b); }
static inline hn_vf hn_v_sub(hn_vf a, hn_vf b) { return _mm512_sub_ps(a, b); }
static inline hn_vf hn_v_mul(hn_vf a, hn_vf b) { return _mm512_mul_ps(a, b); }
static inline hn_vf hn_v_div(hn_vf a, hn_vf b) { return _mm512_div_ps(a, b); }
static inline hn_vf hn_v_fma(hn_vf a, hn_vf b, hn_vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline hn_vf hn_v_fnma(hn_vf a, hn_vf b, hn_vf c) { return _mm512_fnmadd_ps(a, b, c); }
static inline hn_vf hn_v_min(hn_vf a, hn_vf b) { return _mm512_min_ps(a, b); }
static inline hn_vf hn_v_max(hn_vf a, hn_vf b) { return _mm512_max_ps(a, b); }
static inline hn_vf hn_v_above(hn_vf x, hn_vf lo) { return _mm512_max_ps(x, lo); }
static inline hn_vf hn_v_sqrt(hn_vf x) { return _mm512_sqrt_ps(x); }
static inline hn_vf hn_v_and(hn_vf a, hn_vf b) { return _mm512_and_ps(a, b); }
static inline hn_vf hn_v_or(hn_vf a, hn_vf b) { return _mm512_or_ps(a, b); }
static inline hn_vf hn_v_xor(hn_vf a, hn_vf b) { return _mm512_xor_ps(a, b); }
static inline hn_vf hn_v_abs(hn_vf x) { return _mm512_abs_ps(x); }
static inline hn_vf hn_v_neg(hn_vf x) { return _mm512_xor_ps(x, _mm512_set1_ps(-0.0f)); }
static inline hn_vf hn_v_floor(hn_vf x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline hn_vf hn_v_ceil(hn_vf x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline hn_vf hn_v_round(hn_vf x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline hn_vf hn_v_recip(hn_vf x) {
    hn_vf r = _mm512_rcp14_ps(x); /* relative error 2^-14; a step of Newton squares it */
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(x, r, _mm512_set1_ps(1.0f)), r, r);
}
static inline hn_vf hn_v_over(hn_vf x, hn_vf d) {
    hn_vf r = _mm512_rcp14_ps(d), most = _mm512_set1_ps(0x1p126f);
    /* For infinite d, r is 0, and 0 times infinity would be NaN. */
    hn_vf step = _mm512_fnmadd_ps(_mm512_min_ps(most, d), r, _mm512_set1_ps(2.0f));
    return _mm512_mul_ps(_mm512_mul_ps(x, r), step);
}
static inline hn_vf hn_v_scalef(hn_vf x, hn_vf n) { return _mm512_scalef_ps(x, n); }
#define HN_V_SCALES_BY_FLOOR
static inline hn_vf hn_v_fraction(hn_vf x) {
    return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline hn_vf hn_v_scalef_normal(hn_vf x, hn_vf n) { return _mm512_scalef_ps(x, n); }

static inline hn_vm hn_v_lt(hn_vf a, hn_vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline hn_vm hn_v_le(hn_vf a, hn_vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline hn_vm hn_v_gt(hn_vf a, hn_vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
static inline hn_vm hn_v_ge(hn_vf a, hn_vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
static inline hn_vm hn_v_eq(hn_vf a, hn_vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline hn_vm hn_v_isnan(hn_vf x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
static inline hn_vm hn_vm_and(hn_vm a, hn_vm b) { return (hn_vm)(a & b); }
static inline hn_vm hn_vm_or(hn_vm a, hn_vm b) { return (hn_vm)(a | b); }
static inline hn_vm hn_vm_not(hn_vm a) { return (hn_vm)~a; }
static inline hn_vm hn_vi_lt(hn_vi a, hn_vi b) { return _mm512_cmplt_epi32_mask(a, b); }
static inline int hn_vm_any(hn_vm a) { return a != 0; }
static inline hn_vf hn_v_select(hn_vm m, hn_vf a, hn_vf b) { return _mm512_mask_blend_ps(m, b, a); }

static inline hn_vi hn_vi_set1(int32_t c) { return _mm512_set1_epi32(c); }
static inline hn_vi hn_vi_add(hn_vi a, hn_vi b) { return _mm512_add_epi32(a, b); }
static inline hn_vi hn_vi_sub(hn_vi a, hn_vi b) { return _mm512_sub_epi32(a, b); }
static inline hn_vi hn_vi_and(hn_vi a, hn_vi b) { return _mm512_and_si512(a, b); }
#define hn_vi_shl(a, n) _mm512_slli_epi32(a, n)
#define hn_vi_shr(a, n) _mm512_srai_epi32(a, n)
static inline hn_vi hn_v_bits(hn_vf x) { return _mm512_castps_si512(x); }
static inline hn_vf hn_v_from_bits(hn_vi i) { return _mm512_castsi512_ps(i); }
static inline hn_vf hn_v_from_int(hn_vi i) { return _mm512_cvtepi32_ps(i); }
static inline hn_vi hn_v_to_int(hn_vf x) { return _mm512_cvtps_epi32(x); }

static inline hn_vi hn_vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
static inline hn_vi hn_vi_load_n(const int32_t *p, int64_t n) {
    return _mm512_maskz_loadu_epi32(hn_v_first_(n), p);
}
static inline __mmask64 hn_vb_first_(int64_t n) { return _bzhi_u64(~(uint64_t)0, (uint32_t)n); }
static inline hn_vb hn_vb_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void hn_vb_store(void *p, hn_vb x) { _mm512_storeu_si512(p, x); }
static inline hn_vb hn_vb_load_n(const void *p, int64_t n) {
    return _mm512_maskz_loadu_epi8(hn_vb_first_(n), p);
}
static inline void hn_vb_store_n(void *p, hn_vb x, int64_t n) {
    _mm512_mask_storeu_epi8(p, hn_vb_first_(n), x);
}
static inline hn_vb hn_vb_set1(int c) { return _mm512_set1_epi8((char)c); }
static inline hn_vb hn_vb_xor(hn_vb a, hn_vb b) { return _mm512_xor_si512(a, b); }
static inline hn_vb hn_vb_min(hn_vb a, hn_vb b) { return _mm512_min_epi8(a, b); }
static inline hn_vb hn_vb_max(hn_vb a, hn_vb b) { return _mm512_max_epi8(a, b); }
static inline void hn_vb_widen(hn_vb x, hn_vi *y) {
    y[0] = _mm512_cvtepi8_epi32(_mm512_castsi512_si128(x));
    y[1] = _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(x, 1));
    y[2] = _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(x, 2));
    y[3] = _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(x, 3));
}
static inline void hn_vb_widen_u8(const void *p, hn_vi *y) {
    const __m128i *from = p;
    for (int k = 0; k < 4; k++) y[k] = _mm512_cvtepu8_epi32(_mm_loadu_si128(from + k));
}
static inline void hn_vb_widen_s8(const void *p, hn_vi *y) {
    const __m128i *from = p;
    for (int k = 0; k < 4; k++) y[k] = _mm512_cvtepi8_epi32(_mm_loadu_si128(from + k));
}
/* 16 bytes, each the last of a float of 2^23: one shuffle does it, conversions are two
 * instructions. */
static inline __m512 hn_vb_last_(__m128i x) {
    const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_castsi512_ps(_mm512_mask_shuffle_epi8(
        _mm512_set1_epi32(0x4b000000), 0x1111111111111111, _mm512_broadcast_i32x4(x), order));
}
#define HN_VB_FLOATS
static inline void hn_vb_floats_u8(const void *p, hn_vi less, hn_vf *y) {
    const __m128i *of = p;
    const hn_vf from = hn_v_from_int(hn_vi_add(less, hn_vi_set1(1 << 23)));
    for (int k = 0; k < 4; k++) y[k] = hn_v_sub(hn_vb_last_(_mm_loadu_si128(of + k)), from);
}
static inline void hn_vb_floats_s8(const void *p, hn_vi less, hn_vf *y) {
    const __m128i *of = p, flip = _mm_set1_epi8((char)0x80);
    const hn_vf from = hn_v_from_int(hn_vi_add(less, hn_vi_set1((1 << 23) + 128)));
    for (int k = 0; k < 4; k++)
        y[k] = hn_v_sub(hn_vb_last_(_mm_xor_si128(_mm_loadu_si128(of + k), flip)), from);
}
/* The product with 2^23, which is exact, is taken away as the sum is rounded. */
#define HN_VB_SCALED
static inline void hn_vb_scaled_u8(const void *p, hn_vf s, hn_vf *y) {
    const __m128i *of = p;
    const hn_vf less = hn_v_mul(s, hn_v_set1(-0x1p23f));
    for (int k = 0; k < 4; k++) y[k] = hn_v_fma(hn_vb_last_(_mm_loadu_si128(of + k)), s, less);
}
/* Packing works within 128 bits: the fours of bytes are then put in order. */
static inline hn_vb hn_vb_in_order_(hn_vb x) {
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x);
}
static inline hn_vb hn_vb_narrow(const hn_vi *x) {
    return hn_vb_in_order_(
        _mm512_packs_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3])));
}
#define HN_VB_NARROWS_U8
static inline hn_vb hn_vb_narrow_u8(const hn_vi *x) {
    return hn_vb_in_order_(
        _mm512_packus_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3])));
}
static inline hn_vi hn_vb_sums(hn_vb x) {
    return _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_set1_epi8(1), x), _mm512_set1_epi16(1));
}
/* Within each 16 bytes. */
#define HN_VB_WEAVE_(bytes, bits)                                \
    static inline void hn_vb_weave_##bytes(hn_vb *a, hn_vb *b) { \
        hn_vb low = _mm512_unpacklo_epi##bits(*a, *b);           \
        *b = _mm512_unpackhi_epi##bits(*a, *b), *a = low;        \
    }
HN_VB_WEAVE_(1, 8)
HN_VB_WEAVE_(2, 16)
HN_VB_WEAVE_(4, 32)
HN_VB_WEAVE_(8, 64)
#undef HN_VB_WEAVE_
static inline hn_vb hn_vb_load_rows(const void *p, int64_t stride) {
    const char *from = p;
    hn_vb x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
    x = _mm512_mask_broadcast_i32x4(x, 0x00f0, _mm_loadu_si128((const void *)(from + stride)));
    x = _mm512_mask_broadcast_i32x4(x, 0x0f00, _mm_loadu_si128((const void *)(from + 2 * stride)));
    return _mm512_mask_broadcast_i32x4(x, 0xf000,
                                       _mm_loadu_si128((const void *)(from + 3 * stride)));
}
static inline void hn_vb_store_rows(void *p, hn_vb x, int64_t stride) {
    char *to = p;
    _mm_storeu_si128((void *)to, _mm512_castsi512_si128(x));
    _mm_storeu_si128((void *)(to + stride), _mm512_extracti32x4_epi32(x, 1));
    _mm_storeu_si128((void *)(to + 2 * stride), _mm512_extracti32x4_epi32(x, 2));
    _mm_storeu_si128((void *)(to + 3 * stride), _mm512_extracti32x4_epi32(x, 3));
}

static inline float hn_v_sum(hn_vf x) {
    __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    z = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(z, _mm_movehdup_ps(z)));
}
static inline float hn_v_hmax(hn_vf x) {
    if (hn_vm_any(hn_v_isnan(x))) return __builtin_nanf("");
    return _mm512_reduce_max_ps(x);
}
static inline float hn_v_hmin(hn_vf x) {
    if (hn_vm_any(hn_v_isnan(x))) return __builtin_nanf("");
    return _mm512_reduce_min_ps(x);
}

static inline hn_vf hn_v_pick(hn_vf a, hn_vf b, hn_vi i) { return _mm512_permutex2var_ps(a, i, b); }
static inline hn_vf hn_v_permute(hn_vf x, hn_vi lanes) { return _mm512_permutexvar_ps(lanes, x); }

/* Row i becomes column i of r[0] to r[15]: pairs, then fours within 128 bits, then the quarters. */
static inline __attribute__((always_inline)) void hn_v_transpose(hn_vf *r) {
    hn_vf t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        __m512d a = _mm512_castps_pd(t[i]), b = _mm512_castps_pd(t[i + 1]);
        __m512d c = _mm512_castps_pd(t[i + 2]), d = _mm512_castps_pd(t[i + 3]);
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        hn_vf even0 = _mm512_shuffle_f32x4(r[j], r[j + 4], 0x88);
        hn_vf odd0 = _mm512_shuffle_f32x4(r[j], r[j + 4], 0xdd);
        hn_vf even1 = _mm512_shuffle_f32x4(r[j + 8], r[j + 12], 0x88);
        hn_vf odd1 = _mm512_shuffle_f32x4(r[j + 8], r[j + 12], 0xdd);
        r[j] = _mm512_shuffle_f32x4(even0, even1, 0x88);
        r[j + 4] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
        r[j + 8] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
        r[j + 12] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
    }
}

#endif
#endif
