/* The vector vocabulary (see README.md) in portable C: four lanes of the compiler's own vector
 * type, which it maps to whatever the CPU has. Sums and products are rounded one by one. */
#ifndef HN_SIMD_SCALAR_H
#define HN_SIMD_SCALAR_H

#ifdef HN_VL
#error "one vector vocabulary per file"
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/dtype.h"

#define HN_VL 4
#define HN_VB (4 * HN_VL)
#define HN_V_CHAINS 1
#define HN_V_ROW(family) hn_##family##_portable
#define HN_V_NAME "portable"
#define HN_V_ISA HN_ISA_PORTABLE
typedef float hn_vf __attribute__((vector_size(16)));
typedef int32_t hn_vi __attribute__((vector_size(16)));
typedef uint32_t hn_vu_ __attribute__((vector_size(16)));
typedef hn_vi hn_vm; /* -1 or 0 */
typedef int8_t hn_vb __attribute__((vector_size(16)));

static inline hn_vf hn_v_load_n(const float *p, int64_t n) {
    hn_vf x = {0};
    if (n > 0) memcpy(&x, p, (size_t)n * sizeof *p);
    return x;
}
static inline void hn_v_store_n(float *p, hn_vf x, int64_t n) {
    if (n > 0) memcpy(p, &x, (size_t)n * sizeof *p);
}
static inline hn_vf hn_v_load(const float *p) { return hn_v_load_n(p, HN_VL); }
static inline void hn_v_store(float *p, hn_vf x) { hn_v_store_n(p, x, HN_VL); }
static inline hn_vf hn_v_load_f16(const uint16_t *p) {
    hn_vf x;
    for (int i = 0; i < HN_VL; i++) x[i] = hn_f16_to_f32(p[i]);
    return x;
}
static inline void hn_v_store_f16(uint16_t *p, hn_vf x) {
    for (int i = 0; i < HN_VL; i++) p[i] = hn_f16_from_f64((double)x[i]);
}
static inline hn_vf hn_v_load_bf16(const uint16_t *p) {
    hn_vf x;
    for (int i = 0; i < HN_VL; i++) x[i] = hn_bf16_to_f32(p[i]);
    return x;
}
static inline void hn_v_store_upper(uint16_t *p, hn_vf x) {
    uint32_t bits[HN_VL];
    memcpy(bits, &x, sizeof bits);
    for (int i = 0; i < HN_VL; i++) p[i] = (uint16_t)(bits[i] >> 16);
}
static inline hn_vf hn_v_keep_n(hn_vf x, hn_vf y, int64_t n) {
    for (int i = (int)n; i < HN_VL; i++) x[i] = y[i];
    return x;
}
static inline hn_vf hn_v_set1(float c) { return (hn_vf){c, c, c, c}; }
static inline hn_vi hn_vi_set1(int32_t c) { return (hn_vi){c, c, c, c}; }

static inline hn_vi hn_v_bits(hn_vf x) { return (hn_vi)x; }
static inline hn_vf hn_v_from_bits(hn_vi i) { return (hn_vf)i; }
static inline hn_vf hn_v_from_int(hn_vi i) { return __builtin_convertvector(i, hn_vf); }
static inline hn_vi hn_vi_add(hn_vi a, hn_vi b) { return (hn_vi)((hn_vu_)a + (hn_vu_)b); }
static inline hn_vi hn_vi_sub(hn_vi a, hn_vi b) { return (hn_vi)((hn_vu_)a - (hn_vu_)b); }
static inline hn_vi hn_vi_and(hn_vi a, hn_vi b) { return a & b; }
#define hn_vi_shl(a, n) ((hn_vi)((hn_vu_)(a) << (n)))
#define hn_vi_shr(a, n) ((a) >> (n))

static inline hn_vm hn_v_lt(hn_vf a, hn_vf b) { return a < b; }
static inline hn_vm hn_v_le(hn_vf a, hn_vf b) { return a <= b; }
static inline hn_vm hn_v_gt(hn_vf a, hn_vf b) { return a > b; }
static inline hn_vm hn_v_ge(hn_vf a, hn_vf b) { return a >= b; }
static inline hn_vm hn_v_eq(hn_vf a, hn_vf b) { return a == b; }
static inline hn_vm hn_v_isnan(hn_vf x) { return x != x; }
static inline hn_vm hn_vm_and(hn_vm a, hn_vm b) { return a & b; }
static inline hn_vm hn_vm_or(hn_vm a, hn_vm b) { return a | b; }
static inline hn_vm hn_vm_not(hn_vm a) { return ~a; }
static inline hn_vm hn_vi_lt(hn_vi a, hn_vi b) { return a < b; }
static inline int hn_vm_any(hn_vm a) { return (a[0] | a[1] | a[2] | a[3]) != 0; }
static inline hn_vf hn_v_select(hn_vm m, hn_vf a, hn_vf b) {
    return (hn_vf)((m & (hn_vi)a) | (~m & (hn_vi)b));
}
static inline hn_vf hn_v_above(hn_vf x, hn_vf lo) { return hn_v_select(hn_v_gt(x, lo), x, lo); }

static inline hn_vf hn_v_add(hn_vf a, hn_vf b) { return a + b; }
static inline hn_vf hn_v_sub(hn_vf a, hn_vf b) { return a - b; }
static inline hn_vf hn_v_mul(hn_vf a, hn_vf b) { return a * b; }
static inline hn_vf hn_v_div(hn_vf a, hn_vf b) { return a / b; }
static inline hn_vf hn_v_fma(hn_vf a, hn_vf b, hn_vf c) { return a * b + c; }
static inline hn_vf hn_v_fnma(hn_vf a, hn_vf b, hn_vf c) { return c - a * b; }
static inline hn_vf hn_v_min(hn_vf a, hn_vf b) { return hn_v_select(a < b, a, b); }
static inline hn_vf hn_v_max(hn_vf a, hn_vf b) { return hn_v_select(a > b, a, b); }
static inline hn_vf hn_v_sqrt(hn_vf x) {
    return (hn_vf){sqrtf(x[0]), sqrtf(x[1]), sqrtf(x[2]), sqrtf(x[3])};
}
static inline hn_vf hn_v_and(hn_vf a, hn_vf b) { return (hn_vf)((hn_vi)a & (hn_vi)b); }
static inline hn_vf hn_v_or(hn_vf a, hn_vf b) { return (hn_vf)((hn_vi)a | (hn_vi)b); }
static inline hn_vf hn_v_xor(hn_vf a, hn_vf b) { return (hn_vf)((hn_vi)a ^ (hn_vi)b); }
static inline hn_vf hn_v_abs(hn_vf x) { return (hn_vf)((hn_vi)x & hn_vi_set1(INT32_MAX)); }
static inline hn_vf hn_v_neg(hn_vf x) { return hn_v_xor(x, hn_v_set1(-0.0f)); }
/* Adding 2^23 leaves no room for a fraction; from there on every float is integral already. */
static inline hn_vf hn_v_round(hn_vf x) {
    hn_vf big = hn_v_set1(0x1p23f), size = hn_v_abs(x), sign = hn_v_and(x, hn_v_set1(-0.0f));
    return hn_v_select(size < big, hn_v_or((size + big) - big, sign), x);
}
static inline hn_vf hn_v_floor(hn_vf x) {
    hn_vf r = hn_v_round(x);
    return hn_v_select(r > x, r - hn_v_set1(1.0f), r);
}
static inline hn_vf hn_v_ceil(hn_vf x) { return hn_v_neg(hn_v_floor(hn_v_neg(x))); }
static inline hn_vf hn_v_recip(hn_vf x) { return hn_v_set1(1.0f) / x; }
static inline hn_vf hn_v_over(hn_vf x, hn_vf d) { return hn_v_div(x, d); }
/* Through the bits of x + 1.5*2^23, so that no value is outside the conversion's range. */
static inline hn_vi hn_v_to_int(hn_vf x) {
    hn_vf big = hn_v_set1(0x1.8p23f);
    return hn_vi_sub((hn_vi)(x + big), (hn_vi)big);
}
static inline hn_vf hn_v_scalef_normal(hn_vf x, hn_vf n) {
    return x * hn_v_from_bits(hn_vi_shl(hn_vi_add(hn_v_to_int(n), hn_vi_set1(127)), 23));
}
static inline hn_vf hn_v_scalef(hn_vf x, hn_vf n) {
    hn_vi i = hn_v_to_int(n), half = hn_vi_shr(i, 1), rest = hn_vi_sub(i, half);
    hn_vi bias = hn_vi_set1(127);
    x = hn_v_mul(x, hn_v_from_bits(hn_vi_shl(hn_vi_add(half, bias), 23)));
    return hn_v_mul(x, hn_v_from_bits(hn_vi_shl(hn_vi_add(rest, bias), 23)));
}

static inline hn_vi hn_vi_load_n(const int32_t *p, int64_t n) {
    hn_vi x = {0};
    if (n > 0) memcpy(&x, p, (size_t)n * sizeof *p);
    return x;
}
static inline hn_vi hn_vi_load(const int32_t *p) { return hn_vi_load_n(p, HN_VL); }
static inline hn_vb hn_vb_load_n(const void *p, int64_t n) {
    hn_vb x = {0};
    if (n > 0) memcpy(&x, p, (size_t)n);
    return x;
}
static inline void hn_vb_store_n(void *p, hn_vb x, int64_t n) {
    if (n > 0) memcpy(p, &x, (size_t)n);
}
static inline hn_vb hn_vb_load(const void *p) { return hn_vb_load_n(p, HN_VB); }
static inline void hn_vb_store(void *p, hn_vb x) { hn_vb_store_n(p, x, HN_VB); }
static inline hn_vb hn_vb_set1(int c) { return (hn_vb){0} + (int8_t)c; }
static inline hn_vb hn_vb_xor(hn_vb a, hn_vb b) { return a ^ b; }
static inline hn_vb hn_vb_min(hn_vb a, hn_vb b) {
    hn_vb m = a < b;
    return (m & a) | (~m & b);
}
static inline hn_vb hn_vb_max(hn_vb a, hn_vb b) {
    hn_vb m = a > b;
    return (m & a) | (~m & b);
}
/* Loops over memory, which compilers make vectors of. */
static inline void hn_vb_widen(hn_vb x, hn_vi *y) {
    int8_t from[HN_VB];
    int32_t to[HN_VB];
    memcpy(from, &x, sizeof x);
    for (int i = 0; i < HN_VB; i++) to[i] = from[i];
    memcpy(y, to, sizeof to);
}
static inline void hn_vb_widen_u8(const void *p, hn_vi *y) {
    const uint8_t *from = p;
    int32_t to[HN_VB];
    for (int i = 0; i < HN_VB; i++) to[i] = from[i];
    memcpy(y, to, sizeof to);
}
static inline void hn_vb_widen_s8(const void *p, hn_vi *y) { hn_vb_widen(hn_vb_load(p), y); }
static inline hn_vb hn_vb_narrow(const hn_vi *x) {
    int32_t from[HN_VB];
    int8_t to[HN_VB];
    hn_vb y;
    memcpy(from, x, sizeof from);
    for (int i = 0; i < HN_VB; i++) {
        int32_t v = from[i] < -128 ? -128 : from[i];
        to[i] = (int8_t)(v > 127 ? 127 : v);
    }
    memcpy(&y, to, sizeof y);
    return y;
}
static inline hn_vi hn_vb_sums(hn_vb x) {
    hn_vi y = (hn_vi)x; /* a byte to the top of its lane, and down again with its sign */
    return (hn_vi_shl(y, 24) >> 24) + (hn_vi_shl(y, 16) >> 24) + (hn_vi_shl(y, 8) >> 24) +
           (y >> 24);
}
#define HN_VB_WEAVE_(bytes, type)                                         \
    static inline void hn_vb_weave_##bytes(hn_vb *a, hn_vb *b) {          \
        enum { N = HN_VB / bytes };                                       \
        type x[N], y[N], z[2 * N];                                        \
        memcpy(x, a, sizeof x), memcpy(y, b, sizeof y);                   \
        for (int i = 0; i < N; i++) z[2 * i] = x[i], z[2 * i + 1] = y[i]; \
        memcpy(a, z, sizeof x), memcpy(b, z + N, sizeof y);               \
    }
HN_VB_WEAVE_(1, uint8_t)
HN_VB_WEAVE_(2, uint16_t)
HN_VB_WEAVE_(4, uint32_t)
HN_VB_WEAVE_(8, uint64_t)
#undef HN_VB_WEAVE_
static inline hn_vb hn_vb_load_rows(const void *p, int64_t stride) {
    (void)stride;
    return hn_vb_load(p);
}
static inline void hn_vb_store_rows(void *p, hn_vb x, int64_t stride) {
    (void)stride;
    hn_vb_store(p, x);
}

static inline float hn_v_sum(hn_vf x) { return (x[0] + x[2]) + (x[1] + x[3]); }
static inline float hn_v_hmax(hn_vf x) {
    float m = x[0];
    for (int i = 1; i < HN_VL; i++)
        if (!(x[i] <= m) && m == m) m = x[i];
    return m;
}
static inline float hn_v_hmin(hn_vf x) {
    float m = x[0];
    for (int i = 1; i < HN_VL; i++)
        if (!(x[i] >= m) && m == m) m = x[i];
    return m;
}

static inline hn_vf hn_v_pick(hn_vf a, hn_vf b, hn_vi i) {
    float both[2 * HN_VL];
    hn_v_store(both, a);
    hn_v_store(both + HN_VL, b);
    return (hn_vf){both[i[0]], both[i[1]], both[i[2]], both[i[3]]};
}

static inline hn_vf hn_v_permute(hn_vf x, hn_vi lanes) {
    hn_vf y = x;
    for (int i = 0; i < HN_VL; i++) y[i] = x[lanes[i]];
    return y;
}

/* Row i becomes column i of r[0] to r[3]. */
static inline __attribute__((always_inline)) void hn_v_transpose(hn_vf *r) {
    hn_vf a = r[0], b = r[1], c = r[2], d = r[3];
    for (int i = 0; i < HN_VL; i++) r[i] = (hn_vf){a[i], b[i], c[i], d[i]};
}

#endif
