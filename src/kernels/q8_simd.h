/* Quantized elements over the vector vocabulary: HN_VB of them at a time, from any stride to any.
 *
 * u8 are met as s8: flipping the highest bit takes 128 away, from values and zero points alike, so
 * that one body serves both types. */
#ifndef HN_KERNELS_Q8_SIMD_H
#define HN_KERNELS_Q8_SIMD_H

#include "kernels/q8.h"
#include "simd/part.h"

/* What flips u8, and what it takes away. */
HN_INLINE hn_vb hn_q8_flip(hn_q8_type t) { return hn_vb_set1(t == HN_Q8_U8 ? 0x80 : 0); }
HN_INLINE int32_t hn_q8_bias(hn_q8_type t) { return t == HN_Q8_U8 ? 128 : 0; }

/* Elements i to i + n of a row that begins at p. */
HN_INLINE hn_vb hn_q8_fetch(const uint8_t *p, int64_t stride, int64_t i, int64_t n) {
    if (stride == 1) return hn_vb_load_part(p + i, n);
    if (stride == 0) return hn_vb_set1(*p);
    uint8_t t[HN_VB] = {0};
    for (int64_t j = 0; j < n; j++) t[j] = p[(i + j) * stride];
    return hn_vb_load(t);
}

HN_INLINE void hn_q8_put(uint8_t *p, int64_t stride, int64_t i, hn_vb x, int64_t n) {
    if (stride == 1) {
        hn_vb_store_part(p + i, x, n);
        return;
    }
    uint8_t t[HN_VB];
    hn_vb_store(t, x);
    for (int64_t j = 0; j < n; j++) p[(i + j) * stride] = t[j];
}

/* HN_VB adjacent elements, less z, as floats. */
HN_INLINE void hn_q8_floats(hn_q8_type t, const uint8_t *p, hn_vi z, hn_vf *y) {
#ifdef HN_VB_FLOATS
    if (t == HN_Q8_U8)
        hn_vb_floats_u8(p, z, y);
    else
        hn_vb_floats_s8(p, z, y);
#else
    hn_vi x[4];
    if (t == HN_Q8_U8)
        hn_vb_widen_u8(p, x);
    else
        hn_vb_widen_s8(p, x);
    for (int k = 0; k < 4; k++) y[k] = hn_v_from_int(hn_vi_sub(x[k], z));
#endif
}

/* How many of n elements are in vector k of the four that HN_VB of them widen to. */
HN_INLINE int64_t hn_q8_part(int64_t n, int k) {
    int64_t left = n - k * HN_VL;
    return left < 0 ? 0 : left > HN_VL ? HN_VL : left;
}

/* The same of floats, in four vectors. */
HN_INLINE void hn_q8_fetch_f32(const float *p, int64_t stride, int64_t i, int64_t n, hn_vf *x) {
    if (stride == 1) {
        for (int k = 0; k < 4; k++) {
            int64_t part = hn_q8_part(n, k);
            x[k] = part > 0 ? hn_v_load_part(p + i + k * HN_VL, part) : hn_v_set1(0.0f);
        }
    } else if (stride == 0) {
        for (int k = 0; k < 4; k++) x[k] = hn_v_set1(*p);
    } else {
        float t[HN_VB] = {0};
        for (int64_t j = 0; j < n; j++) t[j] = p[(i + j) * stride];
        for (int k = 0; k < 4; k++) x[k] = hn_v_load(t + k * HN_VL);
    }
}

HN_INLINE void hn_q8_put_f32(float *p, int64_t stride, int64_t i, const hn_vf *x, int64_t n) {
    if (stride == 1) {
        for (int k = 0; k < 4; k++) {
            int64_t part = hn_q8_part(n, k);
            if (part > 0) hn_v_store_part(p + i + k * HN_VL, x[k], part);
        }
        return;
    }
    float t[HN_VB];
    for (int k = 0; k < 4; k++) hn_v_store(t + k * HN_VL, x[k]);
    for (int64_t j = 0; j < n; j++) p[(i + j) * stride] = t[j];
}

/* The end of every quantized operation: min(max(rne(v) + zero, lo), hi), NaN becoming lo. The
 * bounds are integers, so rounding may come after them; they lie within 255 of 0. */
typedef struct hn_q8_end {
    hn_vf lo, hi; /* of v */
    hn_vi zero;
    hn_vb flip;
} hn_q8_end;

HN_INLINE hn_q8_end hn_q8_end_of(hn_q8_type t, int32_t zero, int32_t lo, int32_t hi) {
    return (hn_q8_end){.lo = hn_v_set1((float)(lo - zero)),
                       .hi = hn_v_set1((float)(hi - zero)),
                       .zero = hn_vi_set1(zero - hn_q8_bias(t)),
                       .flip = hn_q8_flip(t)};
}

HN_INLINE hn_vf hn_q8_bound(hn_vf v, hn_vf lo, hn_vf hi) { return hn_v_min(hi, hn_v_above(v, lo)); }

/* What is left to do of integers between the bounds. */
HN_INLINE hn_vb hn_q8_to_bytes(const hn_q8_end *e, hn_vi *y) {
#ifdef HN_VB_LOW
    return hn_vb_xor(hn_vb_low(y, e->zero), e->flip);
#else
    for (int k = 0; k < 4; k++) y[k] = hn_vi_add(y[k], e->zero);
    return hn_vb_xor(hn_vb_narrow(y), e->flip);
#endif
}

/* The nearest integers to v, abs(v) < 2^22, and the same as floats. */
HN_INLINE hn_vi hn_q8_nearest(hn_vf v, hn_vf *whole) {
#ifdef HN_VB_LOW
    return hn_v_nearest(v, whole);
#else
    hn_vi y = hn_v_to_int(v);
    *whole = hn_v_from_int(y);
    return y;
#endif
}

HN_INLINE hn_vb hn_q8_round_off(const hn_q8_end *e, const hn_vf *v) {
    hn_vi y[4];
    hn_vf whole;
    for (int k = 0; k < 4; k++) y[k] = hn_q8_nearest(hn_q8_bound(v[k], e->lo, e->hi), &whole);
    return hn_q8_to_bytes(e, y);
}

/* The same of v that are less than 2^21, where the bounds are the ends of the type: narrowing
 * keeps to these. */
HN_INLINE hn_vb hn_q8_round_small(const hn_q8_end *e, const hn_vf *v) {
    hn_vi y[4];
#ifdef HN_VB_LOW /* which does not saturate */
    hn_vf whole;
    for (int k = 0; k < 4; k++) y[k] = hn_v_nearest(hn_v_max(e->lo, hn_v_min(e->hi, v[k])), &whole);
    return hn_q8_to_bytes(e, y);
#else
    for (int k = 0; k < 4; k++) y[k] = hn_vi_add(hn_v_to_int(v[k]), e->zero);
    return hn_vb_xor(hn_vb_narrow(y), e->flip);
#endif
}

/* Quantizing by a scale, as exact as division is, which is slow: it is a multiplication with 1/s.
 * That quotient v is within 2^-22 of the true one, relatively, so within 2^-14 where it is less
 * than 2^8: only if v lies closer than that to the middle of two integers may it round to another
 * one. Such vectors are divided. Beyond 2^8 both are out of range. */
typedef struct hn_q8_scale { /* hn_q8_invertible */
    hn_vf scale, inverse;
} hn_q8_scale;

HN_INLINE hn_q8_scale hn_q8_scale_of(float s) {
    return (hn_q8_scale){hn_v_set1(s), hn_v_set1(1 / s)};
}

/* Whether the nearest integers to quotients, which are so far away, may be others than those of the
 * true quotients. */
HN_INLINE int hn_q8_unsure(const hn_vf *off) {
    hn_vf most = hn_v_max(hn_v_max(off[0], off[1]), hn_v_max(off[2], off[3]));
    return hn_vm_any(hn_v_gt(most, hn_v_set1(0.5f - 0x1p-14f)));
}

/* y = rne(x / scale), between the bounds of e, by a scale and its inverse for each element. */
HN_INLINE void hn_q8_divide_each(const hn_vf *scale, const hn_vf *inverse, const hn_q8_end *e,
                                 const hn_vf *x, hn_vi *y) {
    hn_vf off[4];
    for (int k = 0; k < 4; k++) {
        hn_vf v = hn_q8_bound(hn_v_mul(x[k], inverse[k]), e->lo, e->hi), whole;
        y[k] = hn_q8_nearest(v, &whole);
        off[k] = hn_v_abs(hn_v_sub(v, whole));
    }
    if (hn_q8_unsure(off))
        for (int k = 0; k < 4; k++) {
            hn_vf whole;
            y[k] = hn_q8_nearest(hn_q8_bound(hn_v_div(x[k], scale[k]), e->lo, e->hi), &whole);
        }
}

/* The same by one scale. */
HN_INLINE void hn_q8_divide(const hn_q8_scale *s, const hn_q8_end *e, const hn_vf *x, hn_vi *y) {
    const hn_vf scale[4] = {s->scale, s->scale, s->scale, s->scale};
    const hn_vf inverse[4] = {s->inverse, s->inverse, s->inverse, s->inverse};
    hn_q8_divide_each(scale, inverse, e, x, y);
}

#endif
