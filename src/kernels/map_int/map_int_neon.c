#include "simd/neon.h"

#include "simd/part.h"

/* Steps for which compilers find no vectors, or wider ones than these need. Conversions to integers
 * are what casts ask for: they saturate, and NaN becomes 0. */
enum { OWN = 16 }; /* elements of a step */

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

HN_INLINE void f32_f16_step(const float *a, const float *b, uint16_t *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += HN_VL) hn_v_store_f16(y + i, hn_v_load(a + i));
}
HN_INLINE void f16_f32_step(const uint16_t *a, const uint16_t *b, float *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += HN_VL) hn_v_store(y + i, hn_v_load_f16(a + i));
}
HN_INLINE void f16_f64_step(const uint16_t *a, const uint16_t *b, double *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += HN_VL) {
        hn_vf x = hn_v_load_f16(a + i);
        vst1q_f64(y + i, vcvt_f64_f32(vget_low_f32(x)));
        vst1q_f64(y + i + 2, vcvt_high_f64_f32(x));
    }
}
HN_INLINE void f32_s64_step(const float *a, const float *b, int64_t *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += HN_VL) {
        hn_vf x = hn_v_load(a + i);
        vst1q_s64(y + i, vcvtq_s64_f64(vcvt_f64_f32(vget_low_f32(x))));
        vst1q_s64(y + i + 2, vcvtq_s64_f64(vcvt_high_f64_f32(x)));
    }
}
HN_INLINE void f32_s32_step(const float *a, const float *b, int32_t *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += HN_VL) vst1q_s32(y + i, vcvtq_s32_f32(hn_v_load(a + i)));
}
HN_INLINE void f64_s64_step(const double *a, const double *b, int64_t *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += 2) vst1q_s64(y + i, vcvtq_s64_f64(vld1q_f64(a + i)));
}

/* What byte_of says. */
HN_INLINE uint8x16_t bytes_of(const float *a) {
    uint16x8_t v[4];
    UNROLL for (int i = 0; i < 4; i++) {
        hn_vf x = hn_v_load(a + 4 * i);
        uint32x4_t near = vreinterpretq_u32_s32(vcvtq_s32_f32(x));
        near = vandq_u32(near, vcaltq_f32(x, hn_v_set1(0x1p31f)));
        v[i] = vreinterpretq_u16_u32(vorrq_u32(near, vcgeq_f32(x, hn_v_set1(0x1p63f))));
    }
    return vuzp1q_u8(vreinterpretq_u8_u16(vuzp1q_u16(v[0], v[1])),
                     vreinterpretq_u8_u16(vuzp1q_u16(v[2], v[3])));
}
HN_INLINE void f32_u8_step(const float *a, const float *b, uint8_t *y) {
    (void)b;
    vst1q_u8(y, bytes_of(a));
}
HN_INLINE void f32_s8_step(const float *a, const float *b, int8_t *y) {
    f32_u8_step(a, b, (uint8_t *)y);
}

HN_INLINE void s64_f32_step(const int64_t *a, const int64_t *b, float *y) {
    (void)b;
    UNROLL for (int i = 0; i < OWN; i += HN_VL)
        hn_v_store(y + i, (hn_vf){(float)a[i], (float)a[i + 1], (float)a[i + 2], (float)a[i + 3]});
}

/* Shifts by the width or more leave 0. */
#define SHIFT_STEPS(t, T, V, S, most)                                                              \
    HN_INLINE void SHL_##t##_step(const T *a, const T *b, T *y) {                                  \
        UNROLL for (int i = 0; i < OWN; i += 16 / (int)sizeof(T)) {                                \
            V by = most(vld1q_##t(b + i));                                                         \
            vst1q_##t(y + i, vshlq_##t(vld1q_##t(a + i), vreinterpretq_##S##_##t(by)));            \
        }                                                                                          \
    }                                                                                              \
    HN_INLINE void SHR_##t##_step(const T *a, const T *b, T *y) {                                  \
        UNROLL for (int i = 0; i < OWN; i += 16 / (int)sizeof(T)) {                                \
            V by = most(vld1q_##t(b + i));                                                         \
            vst1q_##t(y + i, vshlq_##t(vld1q_##t(a + i), vnegq_##S(vreinterpretq_##S##_##t(by)))); \
        }                                                                                          \
    }
#define MOST_8(b) vminq_u8(b, vdupq_n_u8(8))
#define MOST_32(b) vminq_u32(b, vdupq_n_u32(32))
#define MOST_64(b) vbslq_u64(vcltq_u64(b, vdupq_n_u64(64)), b, vdupq_n_u64(64))
SHIFT_STEPS(u8, uint8_t, uint8x16_t, s8, MOST_8)
SHIFT_STEPS(u32, uint32_t, uint32x4_t, s32, MOST_32)
SHIFT_STEPS(u64, uint64_t, uint64x2_t, s64, MOST_64)

#define HN_MAP_INT_OWN
#include "kernels/map_int/map_int_body.h"
