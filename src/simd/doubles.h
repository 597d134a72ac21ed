/* Functions of doubles in plain C, which compilers make vectors of: loops that call them should have
 * a constant length. Relative error 4e-16, next to zeros of the function absolute.
 */
#ifndef HN_SIMD_DOUBLES_H
#define HN_SIMD_DOUBLES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "simd/part.h"

HN_INLINE uint64_t hn_d_bits(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

HN_INLINE double hn_d_of_bits(uint64_t bits) {
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* a*b + c, rounded once where every CPU has an instruction for that. */
HN_INLINE double hn_d_fma(double a, double b, double c) {
#if defined(__aarch64__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* m ? a : b. By masks where compilers, asked in words of C, turn comparisons round and then see to
 * NaN: GCC 12 for NEON. */
HN_INLINE double hn_d_select(bool m, double a, double b) {
#if defined(__aarch64__)
    uint64_t mask = 0 - (uint64_t)m;
    return hn_d_of_bits((hn_d_bits(a) & mask) | (hn_d_bits(b) & ~mask));
#else
    return m ? a : b;
#endif
}

/* a = n*ln2 + r. e^r - 1 to full precision by its series, and half of 2^n twice over in scale[]:
 * 2^n itself may not be a double. */
HN_INLINE double hn_d_expm1_part(double a, double scale[2]) {
    double big = hn_d_fma(a, 0x1.71547652b82fep0, 0x1.8p52), n = big - 0x1.8p52;
    double r = hn_d_fma(n, -0x1.cf79abc9e3b39p-40, hn_d_fma(n, -0x1.62e42fefap-1, a));
    uint64_t k = hn_d_bits(big) - hn_d_bits(0x1.8p52), half = (uint64_t)((int64_t)k >> 1);
    scale[0] = hn_d_of_bits((half + 1023) << 52);
    scale[1] = hn_d_of_bits((k - half + 1023) << 52);
    double p = 1.0 / 6227020800;
    p = hn_d_fma(p, r, 1.0 / 479001600);
    p = hn_d_fma(p, r, 1.0 / 39916800);
    p = hn_d_fma(p, r, 1.0 / 3628800);
    p = hn_d_fma(p, r, 1.0 / 362880);
    p = hn_d_fma(p, r, 1.0 / 40320);
    p = hn_d_fma(p, r, 1.0 / 5040);
    p = hn_d_fma(p, r, 1.0 / 720);
    p = hn_d_fma(p, r, 1.0 / 120);
    p = hn_d_fma(p, r, 1.0 / 24);
    p = hn_d_fma(p, r, 1.0 / 6);
    p = hn_d_fma(p, r, 0.5);
    return hn_d_fma(r * r, p, r);
}

HN_INLINE double hn_d_exp(double a) {
    double scale[2];
    a = hn_d_select(a < -746, -746, a);
    a = hn_d_select(a > 710, 710, a);
    double p = hn_d_expm1_part(a, scale);
    return (1 + p) * scale[0] * scale[1];
}

HN_INLINE double hn_d_tanh(double a) {
    double scale[2], size = fabs(a), x = -2 * hn_d_select(size > 20, 20, size);
    double p = hn_d_expm1_part(x, scale), two_n = scale[0] * scale[1];
    double e = p * two_n + (two_n - 1); /* e^x - 1 */
    return copysign(-e / (e + 2), a);
}

HN_INLINE double hn_d_sigmoid(double a) {
    double e = hn_d_exp(-fabs(a));
    return hn_d_select(a < 0, e, 1) / (1 + e);
}

/* log(1 + f) = 2 s + s z p(z), where s = f / (2 + f) and z = s^2: the series of the inverse
 * hyperbolic tangent, as fdlibm has it. */
HN_INLINE double hn_d_log_series(double z) {
    double p = 0x1.2f112df3e5244p-3;
    p = hn_d_fma(p, z, 0x1.39a09d078c69fp-3);
    p = hn_d_fma(p, z, 0x1.7466496cb03dep-3);
    p = hn_d_fma(p, z, 0x1.c71c51d8e78afp-3);
    p = hn_d_fma(p, z, 0x1.2492494229359p-2);
    p = hn_d_fma(p, z, 0x1.999999997fa04p-2);
    p = hn_d_fma(p, z, 0x1.5555555555593p-1);
    return p;
}

/* a = 2^k * m, m from sqrt(1/2) to sqrt(2); log(m) by the series of its inverse hyperbolic tangent,
 * as fdlibm does it. */
HN_INLINE double hn_d_log(double a) {
    double x = hn_d_select(a < 0x1p-1022, a * 0x1p54, a);
    uint64_t bits = hn_d_bits(x) - 0x3fe6a09e667f3bcd;
    int64_t steps = (int64_t)bits >> 52;
    double k = hn_d_of_bits((uint64_t)steps + 0x4338000000000000) - 0x1.8p52;
    k -= hn_d_select(a < 0x1p-1022, 54, 0);
    double f = hn_d_of_bits(hn_d_bits(x) - ((uint64_t)steps << 52)) - 1;
    double s = f / (2 + f), z = s * s, h = 0.5 * f * f;
    double y = k * 0x1.62e42feep-1 -
               ((h - (s * (h + hn_d_log_series(z) * z) + k * 0x1.a39ef35793c76p-33)) - f);
    y = hn_d_select(a == (double)INFINITY, a, y);
    y = hn_d_select(a == 0, -(double)INFINITY, y);
    return hn_d_select(a < 0, (double)NAN, hn_d_select(a != a, a, y));
}

/* a^b, relative error 1e-15, or NaN where that takes more care: a is negative, denormal or not
 * finite, or the result is very large or small. Only where sums of products are rounded once. The
 * logarithm has two parts, and so has its product with b. */
#if defined(__FMA__) || defined(__aarch64__)
#define HN_D_POW
HN_INLINE double hn_d_log_parts(double a, double *rest) {
    uint64_t bits = hn_d_bits(a) - 0x3fe6a09e667f3bcd;
    int64_t steps = (int64_t)bits >> 52;
    double k = hn_d_of_bits((uint64_t)steps + 0x4338000000000000) - 0x1.8p52;
    double f = hn_d_of_bits(hn_d_bits(a) - ((uint64_t)steps << 52)) - 1;
    /* s = f / (2 + f) in two parts; log(1 + f) = 2 s + s^3 p. */
    double d = 2 + f, d_rest = f - (d - 2), s = f / d;
    double s_rest = (__builtin_fma(-s, d, f) - s * d_rest) / d, z = s * s;
    double whole = k * 0x1.62e42feep-1, near = 2 * s, sum = whole + near;
    double more =
        (whole - sum) + near + 2 * s_rest + s * z * hn_d_log_series(z) + k * 0x1.a39ef35793c76p-33;
    double log = sum + more;
    *rest = sum - log + more;
    return log;
}

HN_INLINE double hn_d_pow(double a, double b) {
    double rest, log = hn_d_log_parts(a, &rest), x = b * log, y = hn_d_exp(x);
    y += y * (__builtin_fma(b, log, -x) + b * rest);
    bool known = (a >= 0x1p-1022) & (a < (double)INFINITY) & (fabs(x) < 700);
    return hn_d_select(known, y, (double)NAN);
}
#endif

#endif
