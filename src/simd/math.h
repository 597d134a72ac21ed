/* exp, log, erf and their kin over the vector vocabulary: one source for every instruction set.
 *
 * Include the vocabulary first (simd/avx512.h, ...); without one, this is portable code. NaN passes
 * through all of them. Relative errors are bounds found by testing every float of a dense sample,
 * for CPUs with FMA; without it they may double. Coefficients are minimax fits.
 */
#ifndef HN_SIMD_MATH_H
#define HN_SIMD_MATH_H

#include <math.h>

#ifndef HN_VL
#include "simd/scalar.h"
#endif

/* The nearest integer, ties to even, for abs(x) < 2^22. */
static inline hn_vf hn_v_nearest_(hn_vf x) {
    hn_vf big = hn_v_set1(0x1.8p23f);
    return hn_v_sub(hn_v_add(x, big), big);
}

/* x = n*ln2 + r, abs(r) <= ln2/2. ln2 in two parts, the first so short that n*it is exact. */
static inline hn_vf hn_v_reduce_(hn_vf x, hn_vf *n) {
    *n = hn_v_nearest_(hn_v_mul(x, hn_v_set1(0x1.715476p0f)));
    hn_vf r = hn_v_fnma(*n, hn_v_set1(0.693359375f), x);
    return hn_v_fnma(*n, hn_v_set1(-2.12194440e-4f), r);
}

/* e^x, error 1.2e-7; 0 below -104, infinity above 88.8, denormals between. */
static inline hn_vf hn_v_exp(hn_vf x) {
    hn_vf n, r;
    x = hn_v_min(hn_v_set1(89.0f), hn_v_max(hn_v_set1(-105.0f), x));
    r = hn_v_reduce_(x, &n);
    hn_vf p = hn_v_set1(0.00138367934f);
    p = hn_v_fma(p, r, hn_v_set1(0.00837485678f));
    p = hn_v_fma(p, r, hn_v_set1(0.0416682288f));
    p = hn_v_fma(p, r, hn_v_set1(0.166664198f));
    p = hn_v_fma(p, r, hn_v_set1(0.499999911f));
    p = hn_v_fma(p, r, hn_v_set1(1.0f));
    p = hn_v_fma(p, r, hn_v_set1(1.0f));
    return hn_v_scalef(p, n);
}

/* 2^f, abs(f) <= 1/2; error 1.5e-7. */
static inline hn_vf hn_v_exp2_near_(hn_vf f) {
    hn_vf p = hn_v_set1(0.00132646714f);
    p = hn_v_fma(p, f, hn_v_set1(0.0096715549f));
    p = hn_v_fma(p, f, hn_v_set1(0.0555073433f));
    p = hn_v_fma(p, f, hn_v_set1(0.240222409f));
    p = hn_v_fma(p, f, hn_v_set1(0.693147004f));
    return hn_v_fma(p, f, hn_v_set1(1.0f));
}

/* 2^(n + f), abs(f) <= 1/2, for n >= -125; error 1.5e-7. Callers keep n there even where they do
 * not use the result: an underflow takes a CPU a hundred cycles. */
static inline hn_vf hn_v_exp2_parts_(hn_vf n, hn_vf f) {
    return hn_v_scalef_normal(hn_v_exp2_near_(f), n);
}

/* e^x for x <= 0, the cheap way: error 3e-7 down to -10, 1.5e-6 down to -86.5 (5e-6 without FMA),
 * 0 below. */
static inline hn_vf hn_v_exp_neg(hn_vf x) {
    hn_vf log2e = hn_v_set1(0x1.715476p0f), big = hn_v_set1(0x1.8p23f), end = hn_v_set1(-86.5f);
    hn_vf z = hn_v_max(end, x);
    hn_vf n = hn_v_sub(hn_v_fma(z, log2e, big), big);
    hn_vf f = hn_v_fma(z, log2e, hn_v_neg(n));
    return hn_v_select(hn_v_lt(x, end), hn_v_set1(0.0f), hn_v_exp2_parts_(n, f));
}

/* e^x - 1, error 3e-7, near 0 too. */
static inline hn_vf hn_v_expm1(hn_vf x) {
    hn_vf n, r;
    x = hn_v_min(hn_v_set1(89.0f), hn_v_max(hn_v_set1(-20.0f), x));
    r = hn_v_reduce_(x, &n);
    hn_vf p = hn_v_set1(0.00139464729f);
    p = hn_v_fma(p, r, hn_v_set1(0.00836659782f));
    p = hn_v_fma(p, r, hn_v_set1(0.0416662805f));
    p = hn_v_fma(p, r, hn_v_set1(0.166665435f));
    p = hn_v_fma(p, r, hn_v_set1(0.5f));
    p = hn_v_fma(hn_v_mul(p, r), r, r);
    /* 2^n * (p + 1) - 1. Half of 2^n is always finite. */
    hn_vf half = hn_v_scalef(hn_v_set1(0.5f), n);
    hn_vf y = hn_v_add(hn_v_mul(p, half), hn_v_sub(half, hn_v_set1(0.5f)));
    return hn_v_add(y, y);
}

/* The natural logarithm, error 1.5e-7 (absolute near 1: relative there too). -inf at 0, NaN below.
 */
static inline hn_vf hn_v_log(hn_vf x) {
    hn_vf one = hn_v_set1(1.0f);
    hn_vm tiny = hn_v_lt(x, hn_v_set1(0x1p-126f));
    hn_vf y = hn_v_select(tiny, hn_v_mul(x, hn_v_set1(0x1p23f)), x);
    /* y = 2^e * m, m from sqrt(1/2) to sqrt(2): the fraction's bits of sqrt(1/2) are taken off, so
     * that the exponent steps there. */
    hn_vi bits = hn_v_bits(y);
    hn_vi steps = hn_vi_shr(hn_vi_sub(bits, hn_vi_set1(0x3f3504f3)), 23);
    hn_vf f = hn_v_sub(hn_v_from_bits(hn_vi_sub(bits, hn_vi_shl(steps, 23))), one);
    hn_vf e = hn_v_sub(hn_v_from_int(steps), hn_v_select(tiny, hn_v_set1(23.0f), hn_v_set1(0.0f)));
    hn_vf p = hn_v_set1(0.0691564158f);
    p = hn_v_fma(p, f, hn_v_set1(-0.117888018f));
    p = hn_v_fma(p, f, hn_v_set1(0.118722811f));
    p = hn_v_fma(p, f, hn_v_set1(-0.123844922f));
    p = hn_v_fma(p, f, hn_v_set1(0.142187849f));
    p = hn_v_fma(p, f, hn_v_set1(-0.166692451f));
    p = hn_v_fma(p, f, hn_v_set1(0.200022191f));
    p = hn_v_fma(p, f, hn_v_set1(-0.249999866f));
    p = hn_v_fma(p, f, hn_v_set1(0.333333105f));
    hn_vf f2 = hn_v_mul(f, f);
    p = hn_v_mul(hn_v_mul(p, f2), f);
    p = hn_v_fma(e, hn_v_set1(-2.12194440e-4f), p);
    p = hn_v_fnma(hn_v_set1(0.5f), f2, p);
    p = hn_v_fma(e, hn_v_set1(0.693359375f), hn_v_add(p, f));
    hn_vf inf = hn_v_set1(__builtin_inff());
    p = hn_v_select(hn_v_eq(x, inf), inf, p);
    p = hn_v_select(hn_v_eq(x, hn_v_set1(0.0f)), hn_v_neg(inf), p);
    p = hn_v_select(hn_v_lt(x, hn_v_set1(0.0f)), hn_v_set1(__builtin_nanf("")), p);
    return hn_v_select(hn_v_isnan(x), x, p);
}

/* log(1 + x), error 3e-7, near 0 too. */
static inline hn_vf hn_v_log1p(hn_vf x) {
    hn_vf one = hn_v_set1(1.0f), u = hn_v_add(one, x);
    /* What the sum lost, as a part of it, is to first order what the logarithm lost. */
    hn_vf lost = hn_v_div(hn_v_sub(x, hn_v_sub(u, one)), u);
    hn_vf y = hn_v_log(u);
    hn_vm finite = hn_v_lt(hn_v_abs(y), hn_v_set1(__builtin_inff()));
    return hn_v_select(finite, hn_v_add(y, lost), y);
}

/* 1/(1 + e^-x), error 4e-7 from -10 up, 5e-6 below; 0 below -86.5. *rest: 1 less that, as exact where
 * it is small. */
static inline hn_vf hn_v_sigmoid_rest(hn_vf x, hn_vf *rest) {
    hn_vf one = hn_v_set1(1.0f);
    hn_vf e = hn_v_exp_neg(hn_v_neg(hn_v_abs(x)));
    hn_vf r = hn_v_recip(hn_v_add(one, e)); /* of 1 to 2 */
    hn_vf small = hn_v_mul(e, r);
    hn_vm below = hn_v_lt(x, hn_v_set1(0.0f));
    *rest = hn_v_select(below, r, small);
    return hn_v_select(below, small, r);
}

static inline hn_vf hn_v_sigmoid(hn_vf x) {
    hn_vf rest;
    return hn_v_sigmoid_rest(x, &rest);
}

/* 1 + e^-z; infinite below -86.5 or soon after. */
static inline hn_vf hn_v_gate_divisor_(hn_vf z) {
    hn_vf log2e = hn_v_set1(0x1.715476p0f), one = hn_v_set1(1.0f);
#ifdef HN_V_SCALES_BY_FLOOR
    /* Times 2^(f - 1/2): the polynomial of hn_v_exp2_near_, moved by 1/2. */
    hn_vf n = hn_v_fnma(z, log2e, hn_v_set1(0.5f)), f = hn_v_fraction(n);
    hn_vf p = hn_v_set1(0.00132646714f);
    p = hn_v_fma(p, f, hn_v_set1(0.00635538716f));
    p = hn_v_fma(p, f, hn_v_set1(0.0394804031f));
    p = hn_v_fma(p, f, hn_v_set1(0.169810638f));
    p = hn_v_fma(p, f, hn_v_set1(0.490133852f));
    p = hn_v_fma(p, f, hn_v_set1(0.707106709f));
    return hn_v_add(one, hn_v_scalef(p, n));
#else
    hn_vf big = hn_v_set1(0x1.8p23f), end = hn_v_set1(86.5f), low = hn_v_set1(-86.5f);
    hn_vf near = hn_v_min(end, hn_v_max(low, z));
    hn_vf t = hn_v_fnma(near, log2e, big); /* big + n, so that its last bits are those of n */
    hn_vf f = hn_v_fnma(near, log2e, hn_v_sub(big, t));
    hn_vi scaled = hn_vi_add(hn_v_bits(hn_v_exp2_near_(f)), hn_vi_shl(hn_v_bits(t), 23));
    hn_vf beyond = hn_v_mul(z, hn_v_set1(-0x1p126f)); /* infinite, or NaN if z is */
    return hn_v_select(hn_v_ge(z, low), hn_v_add(one, hn_v_from_bits(scaled)), beyond);
#endif
}

/* x/(1 + e^-z), or x times the sigmoid of z, for less than hn_v_sigmoid and a product take: error
 * 8e-7 where z is from -10 up, 4e-6 down to -86.5; less than x*2^-120 below. */
static inline hn_vf hn_v_gate(hn_vf x, hn_vf z) { return hn_v_over(x, hn_v_gate_divisor_(z)); }

/* Error 6e-7. An odd polynomial over an even one; both are minimax fits (Eigen's). Beyond 8 the
 * result rounds to 1, and below 4e-4 to x. */
static inline hn_vf hn_v_tanh(hn_vf x) {
    hn_vf end = hn_v_set1(7.99881172f);
    hn_vf t = hn_v_min(end, hn_v_max(hn_v_neg(end), x)), z = hn_v_mul(t, t);
    hn_vf p = hn_v_set1(-2.76076848e-16f);
    p = hn_v_fma(p, z, hn_v_set1(2.00018790e-13f));
    p = hn_v_fma(p, z, hn_v_set1(-8.60467152e-11f));
    p = hn_v_fma(p, z, hn_v_set1(5.12229709e-08f));
    p = hn_v_fma(p, z, hn_v_set1(1.48572236e-05f));
    p = hn_v_fma(p, z, hn_v_set1(6.37261929e-04f));
    p = hn_v_mul(hn_v_fma(p, z, hn_v_set1(4.89352456e-03f)), t);
    hn_vf q = hn_v_set1(1.19825840e-06f);
    q = hn_v_fma(q, z, hn_v_set1(1.18534706e-04f));
    q = hn_v_fma(q, z, hn_v_set1(2.26843463e-03f));
    q = hn_v_fma(q, z, hn_v_set1(4.89352519e-03f));
    return hn_v_select(hn_v_lt(hn_v_abs(x), hn_v_set1(4e-4f)), x, hn_v_mul(p, hn_v_recip(q)));
}

/* Error 4e-7. */
static inline hn_vf hn_v_erf(hn_vf x) {
    hn_vf sign = hn_v_and(x, hn_v_set1(-0.0f));
    hn_vf t = hn_v_min(hn_v_set1(4.0f), hn_v_abs(x)), z = hn_v_mul(t, t);
    hn_vf small = hn_v_set1(-0.000609036011f);
    small = hn_v_fma(small, z, hn_v_set1(0.00501196273f));
    small = hn_v_fma(small, z, hn_v_set1(-0.0267789084f));
    small = hn_v_fma(small, z, hn_v_set1(0.112821408f));
    small = hn_v_fma(small, z, hn_v_set1(-0.376125246f));
    small = hn_v_fma(small, z, hn_v_set1(1.12837911f));
    small = hn_v_mul(small, t);
    /* log2(1 - erf) is smooth. */
    hn_vf q = hn_v_set1(0.000284376933f);
    q = hn_v_fma(q, t, hn_v_set1(-0.00440745847f));
    q = hn_v_fma(q, t, hn_v_set1(0.0321359783f));
    q = hn_v_fma(q, t, hn_v_set1(-0.150088429f));
    q = hn_v_fma(q, t, hn_v_set1(-0.9190889f));
    q = hn_v_fma(q, t, hn_v_set1(-1.62699544f));
    q = hn_v_fma(q, t, hn_v_set1(-0.000256777421f));
    hn_vf n = hn_v_nearest_(q);
    hn_vf large = hn_v_sub(hn_v_set1(1.0f), hn_v_exp2_parts_(n, hn_v_sub(q, n)));
    return hn_v_or(hn_v_select(hn_v_lt(t, hn_v_set1(0.9f)), small, large), sign);
}

/* (1 + erf(x/sqrt(2)))/2, the share of the normal distribution below x. Error 4e-7 of 1; relative
 * 6e-6 from -3 up, 4e-5 from -4 up, 6e-4 from -6 up; 0 below -12.8. */
static inline hn_vf hn_v_normal_share(hn_vf x) {
    hn_vf end = hn_v_set1(12.8f), a = hn_v_abs(x), t = hn_v_min(end, a);
    /* log2 of the share below -t. */
    hn_vf q = hn_v_set1(-2.25790675e-09f);
    q = hn_v_fma(q, t, hn_v_set1(1.11413875e-07f));
    q = hn_v_fma(q, t, hn_v_set1(-2.17632282e-06f));
    q = hn_v_fma(q, t, hn_v_set1(2.04530879e-05f));
    q = hn_v_fma(q, t, hn_v_set1(-6.95374038e-05f));
    q = hn_v_fma(q, t, hn_v_set1(-0.000475228473f));
    q = hn_v_fma(q, t, hn_v_set1(0.0075861318f));
    q = hn_v_fma(q, t, hn_v_set1(-0.0529276617f));
    q = hn_v_fma(q, t, hn_v_set1(-0.459032804f));
    q = hn_v_fma(q, t, hn_v_set1(-1.1511333f));
    q = hn_v_fma(q, t, hn_v_set1(-0.999999166f));
    hn_vf n = hn_v_nearest_(q);
    hn_vf below = hn_v_exp2_parts_(n, hn_v_sub(q, n));
    below = hn_v_select(hn_v_gt(a, end), hn_v_set1(0.0f), below);
    hn_vm negative = hn_v_lt(x, hn_v_set1(0.0f));
    return hn_v_select(negative, below, hn_v_sub(hn_v_set1(1.0f), below));
}

/* x to the power y with the special cases of C's pow; error 1e-5 where the result is far from 1
 * (the logarithm is not carried in more than a float), 3e-7*(1 + abs(log(result))) in general. */
static inline hn_vf hn_v_pow(hn_vf x, hn_vf y) {
    hn_vf zero = hn_v_set1(0.0f), one = hn_v_set1(1.0f), inf = hn_v_set1(__builtin_inff());
    hn_vf nan = hn_v_set1(__builtin_nanf("")), sign = hn_v_set1(-0.0f), half = hn_v_set1(0.5f);
    hn_vf r = hn_v_exp(hn_v_mul(y, hn_v_log(hn_v_abs(x))));
    hn_vm whole = hn_v_eq(hn_v_floor(y), y);
    hn_vf y2 = hn_v_mul(y, half);
    hn_vm odd = hn_vm_and(whole, hn_vm_not(hn_v_eq(hn_v_floor(y2), y2)));
    hn_vm finite = hn_v_lt(hn_v_abs(x), inf);
    /* A negative base: the sign of an odd power; no real value for a broken one, but at -inf. */
    hn_vf signed_r = hn_v_or(r, hn_v_and(x, sign));
    r = hn_v_select(odd, signed_r, r);
    hn_vm broken = hn_vm_and(hn_vm_and(hn_v_lt(x, zero), finite), hn_vm_not(whole));
    r = hn_v_select(broken, nan, r);
    r = hn_v_select(hn_vm_or(hn_v_isnan(x), hn_v_isnan(y)), nan, r);
    hn_vm unit = hn_vm_or(hn_v_eq(x, one), hn_v_eq(y, zero));
    unit = hn_vm_or(unit, hn_vm_and(hn_v_eq(x, hn_v_neg(one)), hn_v_eq(hn_v_abs(y), inf)));
    return hn_v_select(unit, one, r);
}

/* fmod(a, b), exact. The quotient is rounded to a whole number that is the right one or next to it,
 * and then what is left is exact in one operation; where that is not so, beyond 2^22 and without
 * FMA, lanes are computed by the C library. */
static inline hn_vf hn_v_fmod(hn_vf a, hn_vf b) {
    hn_vf sign = hn_v_and(a, hn_v_set1(-0.0f)), zero = hn_v_set1(0.0f);
    hn_vf inf = hn_v_set1(__builtin_inff()), u = hn_v_abs(a), v = hn_v_abs(b);
    hn_vf r = hn_v_fnma(hn_v_floor(hn_v_div(u, v)), v, u);
    r = hn_v_select(hn_v_lt(r, zero), hn_v_add(r, v), r);
    r = hn_v_select(hn_v_ge(r, v), hn_v_sub(r, v), r);
    r = hn_v_or(hn_v_select(hn_v_lt(u, v), u, r), sign);
#ifdef HN_V_FMA
    hn_vm far = hn_v_ge(u, hn_v_mul(v, hn_v_set1(0x1p22f)));
#else
    hn_vm far = hn_v_ge(u, v);
#endif
    far = hn_vm_and(far, hn_vm_and(hn_v_gt(v, zero), hn_v_lt(u, inf)));
    if (!hn_vm_any(far)) return r;
    float from[HN_VL], by[HN_VL], to[HN_VL];
    hn_v_store(from, a);
    hn_v_store(by, b);
    for (int i = 0; i < HN_VL; i++) to[i] = __builtin_fmodf(from[i], by[i]);
    return hn_v_select(far, hn_v_load(to), r);
}

/* a - floor(a / b) * b, which has the sign of b. */
static inline hn_vf hn_v_floor_mod(hn_vf a, hn_vf b) {
    hn_vf r = hn_v_fmod(a, b), zero = hn_v_set1(0.0f);
    hn_vm below = hn_v_lt(r, zero), negative = hn_v_lt(b, zero);
    hn_vm differ = hn_vm_and(hn_vm_or(below, negative), hn_vm_not(hn_vm_and(below, negative)));
    hn_vf y = hn_v_select(differ, hn_v_add(r, b), r);
    return hn_v_select(hn_v_eq(r, zero), hn_v_and(b, hn_v_set1(-0.0f)), y);
}

/* ---- trigonometric and hyperbolic functions ---- */

/* The lanes of x beyond `most`, infinities among them, by f; the others of y. Rare arguments. */
static inline hn_vf hn_v_beyond_(hn_vf x, hn_vf y, float most, double (*f)(double)) {
    if (!hn_vm_any(hn_v_gt(hn_v_abs(x), hn_v_set1(most)))) return y;
    float from[HN_VL], to[HN_VL];
    hn_v_store(from, x);
    hn_v_store(to, y);
    for (int i = 0; i < HN_VL; i++)
        if (__builtin_fabsf(from[i]) > most) to[i] = (float)f((double)from[i]);
    return hn_v_load(to);
}

/* x = n*pi/2 + r, abs(r) <= pi/4, for abs(x) <= HN_V_TURNS_MOST_. pi/2 in three parts, the first
 * two so short that n*them is exact. Beyond, the functions below call the C library. */
#define HN_V_TURNS_MOST_ 8192.0f
static inline hn_vf hn_v_turns_(hn_vf x, hn_vi *n) {
    hn_vf q = hn_v_nearest_(hn_v_mul(x, hn_v_set1(0x1.45f306p-1f)));
    *n = hn_v_to_int(q);
    hn_vf r = hn_v_fnma(q, hn_v_set1(1.5703125f), x);
    r = hn_v_fnma(q, hn_v_set1(0x1.fb4p-12f), r);
    return hn_v_fnma(q, hn_v_set1(0x1.4442d2p-24f), r);
}

/* The sine and cosine of abs(r) <= pi/4. */
static inline hn_vf hn_v_sin_part_(hn_vf r) {
    hn_vf z = hn_v_mul(r, r);
    hn_vf p = hn_v_set1(-1.9515296e-4f);
    p = hn_v_fma(p, z, hn_v_set1(8.3321609e-3f));
    p = hn_v_fma(p, z, hn_v_set1(-1.6666655e-1f));
    return hn_v_fma(hn_v_mul(p, z), r, r);
}
static inline hn_vf hn_v_cos_part_(hn_vf r) {
    hn_vf z = hn_v_mul(r, r);
    hn_vf p = hn_v_set1(2.4433157e-5f);
    p = hn_v_fma(p, z, hn_v_set1(-1.3887316e-3f));
    p = hn_v_fma(p, z, hn_v_set1(4.1666646e-2f));
    p = hn_v_mul(hn_v_mul(p, z), z);
    return hn_v_add(hn_v_fnma(hn_v_set1(0.5f), z, p), hn_v_set1(1.0f));
}

/* Whether bit `bit` of n, 1 or 2, is set. */
static inline hn_vm hn_v_bit_(hn_vi n, int bit) {
    return hn_v_gt(hn_v_from_int(hn_vi_and(n, hn_vi_set1(bit))), hn_v_set1(0.0f));
}

/* The sine `ahead` quarter turns ahead. */
static inline hn_vf hn_v_sin_ahead_(hn_vf x, int ahead) {
    hn_vi n;
    hn_vf r = hn_v_turns_(x, &n);
    n = hn_vi_add(n, hn_vi_set1(ahead));
    hn_vf y = hn_v_select(hn_v_bit_(n, 1), hn_v_cos_part_(r), hn_v_sin_part_(r));
    return hn_v_select(hn_v_bit_(n, 2), hn_v_neg(y), y);
}

/* Error 2e-7, near zeros other than 0 at most 4e-9 absolute. */
static inline hn_vf hn_v_sin(hn_vf x) {
    return hn_v_beyond_(x, hn_v_sin_ahead_(x, 0), HN_V_TURNS_MOST_, sin);
}
static inline hn_vf hn_v_cos(hn_vf x) {
    return hn_v_beyond_(x, hn_v_sin_ahead_(x, 1), HN_V_TURNS_MOST_, cos);
}

/* Error 4e-7, more next to poles and zeros other than 0. */
static inline hn_vf hn_v_tan(hn_vf x) {
    hn_vi n;
    hn_vf r = hn_v_turns_(x, &n), s = hn_v_sin_part_(r), c = hn_v_cos_part_(r);
    hn_vm odd = hn_v_bit_(n, 1);
    hn_vf y = hn_v_div(hn_v_select(odd, c, s), hn_v_select(odd, hn_v_neg(s), c));
    return hn_v_beyond_(x, y, HN_V_TURNS_MOST_, tan);
}

/* Error 3e-7. */
static inline hn_vf hn_v_atan(hn_vf x) {
    hn_vf sign = hn_v_and(x, hn_v_set1(-0.0f)), a = hn_v_abs(x), one = hn_v_set1(1.0f);
    hn_vm above = hn_v_gt(a, one);
    hn_vf t = hn_v_select(above, hn_v_div(one, a), a), z = hn_v_mul(t, t);
    hn_vf p = hn_v_set1(0.00282363896f);
    p = hn_v_fma(p, z, hn_v_set1(-0.0159569029f));
    p = hn_v_fma(p, z, hn_v_set1(0.0425049886f));
    p = hn_v_fma(p, z, hn_v_set1(-0.074890092f));
    p = hn_v_fma(p, z, hn_v_set1(0.106347933f));
    p = hn_v_fma(p, z, hn_v_set1(-0.142027363f));
    p = hn_v_fma(p, z, hn_v_set1(0.199926957f));
    p = hn_v_fma(p, z, hn_v_set1(-0.333331019f));
    t = hn_v_fma(hn_v_mul(p, z), t, t);
    return hn_v_or(hn_v_select(above, hn_v_sub(hn_v_set1(1.57079633f), t), t), sign);
}

/* asin(sqrt(z)) for t = sqrt(z), z from 0 to 1/4. */
static inline hn_vf hn_v_asin_part_(hn_vf t, hn_vf z) {
    hn_vf p = hn_v_set1(0.0419745483f);
    p = hn_v_fma(p, z, hn_v_set1(0.0242404602f));
    p = hn_v_fma(p, z, hn_v_set1(0.0454742387f));
    p = hn_v_fma(p, z, hn_v_set1(0.0749502927f));
    p = hn_v_fma(p, z, hn_v_set1(0.166667730f));
    return hn_v_fma(hn_v_mul(p, z), t, t);
}

/* asin(a), a = abs(x), where a <= 1/2, and what is left of a quarter turn, halved, elsewhere. NaN
 * above 1. */
static inline hn_vf hn_v_asin_half_(hn_vf a, hn_vm small) {
    hn_vf half = hn_v_set1(0.5f), rest = hn_v_fnma(half, a, half);
    hn_vf z = hn_v_select(small, hn_v_mul(a, a), rest);
    return hn_v_asin_part_(hn_v_select(small, a, hn_v_sqrt(rest)), z);
}

/* Error 3e-7; NaN beyond 1. */
static inline hn_vf hn_v_asin(hn_vf x) {
    hn_vf sign = hn_v_and(x, hn_v_set1(-0.0f)), a = hn_v_abs(x);
    hn_vm small = hn_v_le(a, hn_v_set1(0.5f));
    hn_vf y = hn_v_asin_half_(a, small);
    hn_vf large = hn_v_fnma(hn_v_set1(2.0f), y, hn_v_set1(1.57079633f));
    return hn_v_or(hn_v_select(small, y, large), sign);
}

/* Error 4e-7; NaN beyond 1. */
static inline hn_vf hn_v_acos(hn_vf x) {
    hn_vf a = hn_v_abs(x), right = hn_v_set1(1.57079633f);
    hn_vm small = hn_v_le(a, hn_v_set1(0.5f)), below = hn_v_lt(x, hn_v_set1(0.0f));
    hn_vf y = hn_v_asin_half_(a, small), twice = hn_v_add(y, y);
    hn_vf near = hn_v_select(below, hn_v_add(right, y), hn_v_sub(right, y));
    hn_vf far = hn_v_select(below, hn_v_sub(hn_v_set1(3.14159265f), twice), twice);
    return hn_v_select(small, near, far);
}

/* Error 5e-7. e^(x/2) is finite wherever the result is. */
static inline hn_vf hn_v_sinh(hn_vf x) {
    hn_vf sign = hn_v_and(x, hn_v_set1(-0.0f)), a = hn_v_abs(x), half = hn_v_set1(0.5f);
    hn_vf m = hn_v_expm1(hn_v_min(hn_v_set1(10.0f), a));
    hn_vf near = hn_v_mul(half, hn_v_add(m, hn_v_div(m, hn_v_add(m, hn_v_set1(1.0f)))));
    hn_vf e = hn_v_exp(hn_v_mul(half, a)), far = hn_v_mul(hn_v_mul(half, e), e);
    return hn_v_or(hn_v_select(hn_v_gt(a, hn_v_set1(9.5f)), far, near), sign);
}

/* Error 5e-7. */
static inline hn_vf hn_v_cosh(hn_vf x) {
    hn_vf half = hn_v_set1(0.5f), e = hn_v_exp(hn_v_mul(half, hn_v_abs(x)));
    return hn_v_fma(hn_v_mul(half, e), e, hn_v_div(half, hn_v_mul(e, e)));
}

/* Error 4e-7. From 10^4 on, the square root of 1 + x^2 is x. */
static inline hn_vf hn_v_asinh(hn_vf x) {
    hn_vf sign = hn_v_and(x, hn_v_set1(-0.0f)), a = hn_v_abs(x), one = hn_v_set1(1.0f);
    hn_vm large = hn_v_gt(a, hn_v_set1(1e4f));
    hn_vf z = hn_v_mul(a, a), root = hn_v_sqrt(hn_v_add(z, one));
    hn_vf near = hn_v_log1p(hn_v_add(a, hn_v_div(z, hn_v_add(one, root))));
    hn_vf far = hn_v_add(hn_v_log(a), hn_v_set1(0.693147181f));
    return hn_v_or(hn_v_select(large, far, near), sign);
}

/* Error 4e-7; NaN below 1. */
static inline hn_vf hn_v_acosh(hn_vf x) {
    hn_vm large = hn_v_gt(x, hn_v_set1(1e4f));
    hn_vf t = hn_v_sub(x, hn_v_set1(1.0f));
    hn_vf root = hn_v_sqrt(hn_v_mul(t, hn_v_add(t, hn_v_set1(2.0f))));
    hn_vf far = hn_v_add(hn_v_log(x), hn_v_set1(0.693147181f));
    hn_vf y = hn_v_select(large, far, hn_v_log1p(hn_v_add(t, root)));
    return hn_v_select(hn_v_lt(t, hn_v_set1(0.0f)), hn_v_set1(__builtin_nanf("")), y);
}

/* Error 4e-7; NaN beyond 1. */
static inline hn_vf hn_v_atanh(hn_vf x) {
    hn_vf sign = hn_v_and(x, hn_v_set1(-0.0f)), a = hn_v_abs(x);
    hn_vf y = hn_v_log1p(hn_v_div(hn_v_add(a, a), hn_v_sub(hn_v_set1(1.0f), a)));
    return hn_v_or(hn_v_mul(hn_v_set1(0.5f), y), sign);
}

#endif
