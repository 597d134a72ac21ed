/* The vector vocabulary (see README.md) for NEON of AArch64: 4 lanes. */
#ifndef HN_SIMD_NEON_H
#define HN_SIMD_NEON_H
#if defined(__aarch64__)

#ifdef HN_VL
#error "one vector vocabulary per file"
#endif
#include <arm_neon.h>
#include <stdint.h>

#include "simd/bytes.h"

#define HN_VL 4
#define HN_VB (4 * HN_VL)
#define HN_V_CHAINS 6
#define HN_V_ROW(family) hn_##family##_neon
#define HN_V_NAME "neon"
#define HN_V_ISA HN_ISA_NEON
#define HN_V_FMA 1
typedef float32x4_t hn_vf;
typedef int32x4_t hn_vi;
typedef uint32x4_t hn_vm; /* all bits of a lane, or none */
typedef int8x16_t hn_vb;

/* Floats may lie at any address. */
typedef float32x4_t hn_vf_anywhere __attribute__((aligned(1)));
typedef float32x2_t hn_vf_half __attribute__((aligned(1)));
typedef float hn_f32_anywhere __attribute__((aligned(1)));
static inline hn_vf hn_v_load(const float *p) { return *(const hn_vf_anywhere *)p; }
static inline void hn_v_store(float *p, hn_vf x) { vst1q_f32(p, x); }
static inline hn_vf hn_v_load_n(const float *p, int64_t n) {
    hn_vf zero = vdupq_n_f32(0.0f);
    switch (n) {
        case 0: return zero;
        case 1: return vsetq_lane_f32(*(const hn_f32_anywhere *)p, zero, 0);
        case 2: return vcombine_f32(*(const hn_vf_half *)p, vget_low_f32(zero));
        case 3:
            return vsetq_lane_f32(*(const hn_f32_anywhere *)(p + 2),
                                  vcombine_f32(*(const hn_vf_half *)p, vget_low_f32(zero)), 2);
        default: return hn_v_load(p);
    }
}
static inline void hn_v_store_n(float *p, hn_vf x, int64_t n) {
    switch (n) {
        case 0: break;
        case 1: vst1q_lane_f32(p, x, 0); break;
        case 2: vst1_f32(p, vget_low_f32(x)); break;
        case 3:
            vst1_f32(p, vget_low_f32(x));
            vst1q_lane_f32(p + 2, x, 2);
            break;
        default: vst1q_f32(p, x);
    }
}
static inline hn_vf hn_v_load_f16(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline void hn_v_store_f16(uint16_t *p, hn_vf x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
static inline hn_vf hn_v_load_bf16(const uint16_t *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
#define HN_V_BF16
static inline hn_vf hn_v_load_bf16_n(const uint16_t *p, int64_t n) {
    uint16_t some[HN_VL] = {0};
    if (n == HN_VL) return hn_v_load_bf16(p);
    for (int64_t i = 0; i < n; i++) some[i] = p[i];
    return hn_v_load_bf16(some);
}
static inline void hn_v_store_bf16_n(uint16_t *p, hn_vf x, int64_t n) {
    uint32x4_t v = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(v, 16), vdupq_n_u32(1));
    uint32x4_t up = vaddq_u32(v, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    up = vbslq_u32(vceqq_f32(x, x), up, vorrq_u32(v, vdupq_n_u32(0x400000)));
    uint16x4_t upper = vshrn_n_u32(up, 16);
    uint16_t some[HN_VL];
    if (n == HN_VL) {
        vst1_u16(p, upper);
        return;
    }
    vst1_u16(some, upper);
    for (int64_t i = 0; i < n; i++) p[i] = some[i];
}
static inline void hn_v_store_upper(uint16_t *p, hn_vf x) {
    vst1_u16(p, vshrn_n_u32(vreinterpretq_u32_f32(x), 16));
}
static inline hn_vf hn_v_keep_n(hn_vf x, hn_vf y, int64_t n) {
    static const int32_t lane[] = {0, 1, 2, 3};
    return vbslq_f32(vcltq_s32(vld1q_s32(lane), vdupq_n_s32((int32_t)n)), x, y);
}
static inline hn_vf hn_v_set1(float c) { return vdupq_n_f32(c); }

static inline hn_vf hn_v_add(hn_vf a, hn_vf b) { return vaddq_f32(a, b); }
static inline hn_vf hn_v_sub(hn_vf a, hn_vf b) { return vsubq_f32(a, b); }
static inline hn_vf hn_v_mul(hn_vf a, hn_vf b) { return vmulq_f32(a, b); }
static inline hn_vf hn_v_div(hn_vf a, hn_vf b) { return vdivq_f32(a, b); }
static inline hn_vf hn_v_fma(hn_vf a, hn_vf b, hn_vf c) { return vfmaq_f32(c, a, b); }
static inline hn_vf hn_v_fnma(hn_vf a, hn_vf b, hn_vf c) { return vfmsq_f32(c, a, b); }
static inline hn_vf hn_v_min(hn_vf a, hn_vf b) { return vminq_f32(a, b); }
static inline hn_vf hn_v_max(hn_vf a, hn_vf b) { return vmaxq_f32(a, b); }
#define HN_V_KEEPS_NAN
static inline hn_vf hn_v_sqrt(hn_vf x) { return vsqrtq_f32(x); }
static inline hn_vf hn_v_abs(hn_vf x) { return vabsq_f32(x); }
static inline hn_vf hn_v_neg(hn_vf x) { return vnegq_f32(x); }
static inline hn_vf hn_v_floor(hn_vf x) { return vrndmq_f32(x); }
static inline hn_vf hn_v_ceil(hn_vf x) { return vrndpq_f32(x); }
static inline hn_vf hn_v_round(hn_vf x) { return vrndnq_f32(x); }

static inline hn_vm hn_v_lt(hn_vf a, hn_vf b) { return vcltq_f32(a, b); }
static inline hn_vm hn_v_le(hn_vf a, hn_vf b) { return vcleq_f32(a, b); }
static inline hn_vm hn_v_gt(hn_vf a, hn_vf b) { return vcgtq_f32(a, b); }
static inline hn_vm hn_v_ge(hn_vf a, hn_vf b) { return vcgeq_f32(a, b); }
static inline hn_vm hn_v_eq(hn_vf a, hn_vf b) { return vceqq_f32(a, b); }
static inline hn_vm hn_v_isnan(hn_vf x) { return vmvnq_u32(vceqq_f32(x, x)); }
static inline hn_vm hn_vm_and(hn_vm a, hn_vm b) { return vandq_u32(a, b); }
static inline hn_vm hn_vm_or(hn_vm a, hn_vm b) { return vorrq_u32(a, b); }
static inline hn_vm hn_vm_not(hn_vm a) { return vmvnq_u32(a); }
static inline hn_vm hn_vi_lt(hn_vi a, hn_vi b) { return vcltq_s32(a, b); }
static inline int hn_vm_any(hn_vm a) { return vmaxvq_u32(a) != 0; }
static inline hn_vf hn_v_select(hn_vm m, hn_vf a, hn_vf b) { return vbslq_f32(m, a, b); }
/* Of zeros the positive one. */
static inline hn_vf hn_v_above(hn_vf x, hn_vf lo) { return vmaxnmq_f32(x, lo); }

static inline hn_vi hn_vi_set1(int32_t c) { return vdupq_n_s32(c); }
/* By unsigned ones: sums wrap around. */
static inline hn_vi hn_vi_add(hn_vi a, hn_vi b) {
    return vreinterpretq_s32_u32(vaddq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}
static inline hn_vi hn_vi_sub(hn_vi a, hn_vi b) {
    return vreinterpretq_s32_u32(vsubq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}
static inline hn_vi hn_vi_and(hn_vi a, hn_vi b) { return vandq_s32(a, b); }
#define hn_vi_shl(a, n) vshlq_n_s32(a, n)
#define hn_vi_shr(a, n) vshrq_n_s32(a, n)
static inline hn_vi hn_v_bits(hn_vf x) { return vreinterpretq_s32_f32(x); }
static inline hn_vf hn_v_from_bits(hn_vi i) { return vreinterpretq_f32_s32(i); }
static inline hn_vf hn_v_from_int(hn_vi i) { return vcvtq_f32_s32(i); }
static inline hn_vi hn_v_to_int(hn_vf x) { return vcvtnq_s32_f32(x); }
static inline hn_vf hn_v_and(hn_vf a, hn_vf b) {
    return hn_v_from_bits(vandq_s32(hn_v_bits(a), hn_v_bits(b)));
}
static inline hn_vf hn_v_or(hn_vf a, hn_vf b) {
    return hn_v_from_bits(vorrq_s32(hn_v_bits(a), hn_v_bits(b)));
}
static inline hn_vf hn_v_xor(hn_vf a, hn_vf b) {
    return hn_v_from_bits(veorq_s32(hn_v_bits(a), hn_v_bits(b)));
}

/* Dividing is faster than the steps of Newton that an estimate needs (Neoverse-V1: sigmoid by 40 %). */
static inline hn_vf hn_v_recip(hn_vf x) { return vdivq_f32(vdupq_n_f32(1.0f), x); }
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

static inline hn_vi hn_vi_load(const int32_t *p) { return vld1q_s32(p); }
static inline hn_vi hn_vi_load_n(const int32_t *p, int64_t n) {
    int32_t t[HN_VL] = {0};
    for (int64_t i = 0; i < n; i++) t[i] = p[i];
    return vld1q_s32(t);
}
static inline hn_vb hn_vb_load(const void *p) { return vld1q_s8(p); }
static inline void hn_vb_store(void *p, hn_vb x) { vst1q_s8(p, x); }
static inline hn_vb hn_vb_load_n(const void *p, int64_t n) {
    int8_t t[HN_VB] = {0};
    hn_bytes_copy(t, p, n & (HN_VB - 1)); /* which is n, and compilers see that it fits */
    return vld1q_s8(t);
}
static inline void hn_vb_store_n(void *p, hn_vb x, int64_t n) {
    int8_t t[HN_VB];
    vst1q_s8(t, x);
    hn_bytes_copy(p, t, n & (HN_VB - 1));
}
static inline hn_vb hn_vb_set1(int c) { return vdupq_n_s8((int8_t)c); }
static inline hn_vb hn_vb_xor(hn_vb a, hn_vb b) { return veorq_s8(a, b); }
static inline hn_vb hn_vb_min(hn_vb a, hn_vb b) { return vminq_s8(a, b); }
static inline hn_vb hn_vb_max(hn_vb a, hn_vb b) { return vmaxq_s8(a, b); }
static inline void hn_vb_widen(hn_vb x, hn_vi *y) {
    int16x8_t low = vmovl_s8(vget_low_s8(x)), high = vmovl_high_s8(x);
    y[0] = vmovl_s16(vget_low_s16(low));
    y[1] = vmovl_high_s16(low);
    y[2] = vmovl_s16(vget_low_s16(high));
    y[3] = vmovl_high_s16(high);
}
static inline void hn_vb_widen_u8(const void *p, hn_vi *y) {
    uint8x16_t x = vld1q_u8(p);
    uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_high_u8(x);
    y[0] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low)));
    y[1] = vreinterpretq_s32_u32(vmovl_high_u16(low));
    y[2] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high)));
    y[3] = vreinterpretq_s32_u32(vmovl_high_u16(high));
}
static inline void hn_vb_widen_s8(const void *p, hn_vi *y) { hn_vb_widen(hn_vb_load(p), y); }
/* Bytes less what all lanes of `less` are, as floats. By interleaving with the upper bytes of 2^23, whose last bits a byte then is: conversions, and
 * what widens, take longer. */
#define HN_VB_FLOATS
static inline void hn_vb_floats(uint8x16_t x, int32x4_t less, hn_vf *y) {
    const hn_vf from = vcvtq_f32_s32(hn_vi_add(less, vdupq_n_s32(1 << 23)));
    const uint8x16_t none = vdupq_n_u8(0);
    const uint16x8_t upper = vdupq_n_u16(0x4b00);
    uint16x8_t low = vreinterpretq_u16_u8(vzip1q_u8(x, none));
    uint16x8_t high = vreinterpretq_u16_u8(vzip2q_u8(x, none));
    y[0] = vsubq_f32(vreinterpretq_f32_u16(vzip1q_u16(low, upper)), from);
    y[1] = vsubq_f32(vreinterpretq_f32_u16(vzip2q_u16(low, upper)), from);
    y[2] = vsubq_f32(vreinterpretq_f32_u16(vzip1q_u16(high, upper)), from);
    y[3] = vsubq_f32(vreinterpretq_f32_u16(vzip2q_u16(high, upper)), from);
}
static inline void hn_vb_floats_u8(const void *p, hn_vi less, hn_vf *y) {
    hn_vb_floats(vld1q_u8(p), less, y);
}
static inline void hn_vb_floats_s8(const void *p, hn_vi less, hn_vf *y) {
    hn_vb_floats(veorq_u8(vld1q_u8(p), vdupq_n_u8(128)), hn_vi_add(less, vdupq_n_s32(128)), y);
}
/* The low bytes of y, which is quicker than saturating, and of `more`, the same in all lanes. */
#define HN_VB_LOW
static inline hn_vb hn_vb_low(const hn_vi *y, hn_vi more) {
    int16x8_t low = vuzp1q_s16(vreinterpretq_s16_s32(y[0]), vreinterpretq_s16_s32(y[1]));
    int16x8_t high = vuzp1q_s16(vreinterpretq_s16_s32(y[2]), vreinterpretq_s16_s32(y[3]));
    int8x16_t bytes = vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
    int8x16_t add = vdupq_laneq_s8(vreinterpretq_s8_s32(more), 0);
    return vreinterpretq_s8_u8(vaddq_u8(vreinterpretq_u8_s8(bytes), vreinterpretq_u8_s8(add)));
}
/* Nearest integers, abs(x) < 2^22, also as floats: adding 1.5 * 2^23 leaves them in the last bits,
 * and is quicker than conversions. */
static inline hn_vi hn_v_nearest(hn_vf x, hn_vf *whole) {
    const hn_vf magic = vdupq_n_f32(0x1.8p23f), sum = vaddq_f32(x, magic);
    *whole = vsubq_f32(sum, magic);
    return hn_vi_sub(vreinterpretq_s32_f32(sum), vreinterpretq_s32_f32(magic));
}
static inline hn_vb hn_vb_narrow(const hn_vi *x) {
    int16x8_t low = vqmovn_high_s32(vqmovn_s32(x[0]), x[1]);
    int16x8_t high = vqmovn_high_s32(vqmovn_s32(x[2]), x[3]);
    return vqmovn_high_s16(vqmovn_s16(low), high);
}
static inline hn_vi hn_vb_sums(hn_vb x) { return vpaddlq_s16(vpaddlq_s8(x)); }
static inline void hn_vb_weave_1(hn_vb *a, hn_vb *b) {
    int8x16_t x = *a, y = *b;
    *a = vzip1q_s8(x, y), *b = vzip2q_s8(x, y);
}
static inline void hn_vb_weave_2(hn_vb *a, hn_vb *b) {
    int16x8_t x = vreinterpretq_s16_s8(*a), y = vreinterpretq_s16_s8(*b);
    *a = vreinterpretq_s8_s16(vzip1q_s16(x, y)), *b = vreinterpretq_s8_s16(vzip2q_s16(x, y));
}
static inline void hn_vb_weave_4(hn_vb *a, hn_vb *b) {
    int32x4_t x = vreinterpretq_s32_s8(*a), y = vreinterpretq_s32_s8(*b);
    *a = vreinterpretq_s8_s32(vzip1q_s32(x, y)), *b = vreinterpretq_s8_s32(vzip2q_s32(x, y));
}
static inline void hn_vb_weave_8(hn_vb *a, hn_vb *b) {
    int64x2_t x = vreinterpretq_s64_s8(*a), y = vreinterpretq_s64_s8(*b);
    *a = vreinterpretq_s8_s64(vzip1q_s64(x, y)), *b = vreinterpretq_s8_s64(vzip2q_s64(x, y));
}
static inline hn_vb hn_vb_load_rows(const void *p, int64_t stride) {
    (void)stride;
    return hn_vb_load(p);
}
static inline void hn_vb_store_rows(void *p, hn_vb x, int64_t stride) {
    (void)stride;
    hn_vb_store(p, x);
}

static inline float hn_v_sum(hn_vf x) {
    float32x2_t y = vadd_f32(vget_low_f32(x), vget_high_f32(x));
    return vget_lane_f32(vpadd_f32(y, y), 0);
}

/* By a table of the bytes of each lane. */
static inline hn_vf hn_v_permute(hn_vf x, hn_vi lanes) {
    uint32x4_t bytes =
        vmlaq_n_u32(vdupq_n_u32(0x03020100), vreinterpretq_u32_s32(lanes), 0x04040404);
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(x), vreinterpretq_u8_u32(bytes)));
}
static inline float hn_v_hmax(hn_vf x) { return vmaxvq_f32(x); }
static inline float hn_v_hmin(hn_vf x) { return vminvq_f32(x); }

static inline hn_vf hn_v_pick(hn_vf a, hn_vf b, hn_vi i) {
    uint8x16x2_t both = {{vreinterpretq_u8_f32(a), vreinterpretq_u8_f32(b)}};
    /* The bytes of lane k are 4 k to 4 k + 3. */
    int32x4_t bytes = vmlaq_n_s32(vdupq_n_s32(0x03020100), i, 0x04040404);
    return vreinterpretq_f32_u8(vqtbl2q_u8(both, vreinterpretq_u8_s32(bytes)));
}

/* Row i becomes column i of r[0] to r[3]. */
static inline __attribute__((always_inline)) void hn_v_transpose(hn_vf *r) {
    float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1]));
    float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1]));
    float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3]));
    float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]));
    r[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
    r[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
    r[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
    r[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

#endif
#endif
