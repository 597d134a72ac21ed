/* The activations for results that are as exact as bf16, on CPUs with arithmetic of f16: include
 * simd/neon.h first, in files for neoni8mm.
 *
 * Those that are x times a share of it (SiLU, Gelu) compute the share in f16, eight at a time, which
 * has three bits more than bf16; the others are those of hn_v_act. A share is a long chain of
 * instructions, of which the CPU does not look far enough ahead to begin the next one: so several are
 * computed step by step beside each other.
 *
 * Error: 1e-3 of abs(x) for the former. Infinities and NaN give what the formulas say.
 */
#ifndef HN_KERNELS_ACT_BF16_H
#define HN_KERNELS_ACT_BF16_H
#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC) && defined(HN_SIMD_NEON_H)

#include <stdbool.h>

#include "kernels/act_simd.h"

#ifdef __clang__
#define HN_ACT_EACH_ _Pragma("clang loop unroll(full)") for (int i = 0; i < n; i++)
#else
#define HN_ACT_EACH_ _Pragma("GCC unroll 8") for (int i = 0; i < n; i++)
#endif

enum { HN_ACT_BF16_MOST = 4 }; /* pairs of vectors at a time */

/* 1/(1 + 2^-z), and 0 where z is below -14; of n vectors, in place. */
HN_INLINE void hn_v_shares_f16_(float16x8_t *z, const int n) {
    const float16x8_t big = vdupq_n_f16(1536), end = vdupq_n_f16(14), low = vdupq_n_f16(-14);
    float16x8_t t[HN_ACT_BF16_MOST], f[HN_ACT_BF16_MOST], p[HN_ACT_BF16_MOST];
    uint16x8_t some[HN_ACT_BF16_MOST];
    HN_ACT_EACH_ some[i] = vcgtq_f16(z[i], low);
    HN_ACT_EACH_ z[i] = vmaxq_f16(low, z[i]);
    HN_ACT_EACH_ z[i] = vminq_f16(end, z[i]);
    HN_ACT_EACH_ t[i] = vsubq_f16(big, z[i]); /* big + n, so that its last bits are those of n */
    HN_ACT_EACH_ f[i] = vsubq_f16(big, t[i]);
    HN_ACT_EACH_ f[i] = vsubq_f16(f[i], z[i]);
    /* 2^f, abs(f) <= 1/2; error 7.5e-5 before it is rounded. */
    HN_ACT_EACH_ p[i] = vfmaq_f16(vdupq_n_f16(0.24261114f), vdupq_n_f16(0.0551716685f), f[i]);
    HN_ACT_EACH_ p[i] = vfmaq_f16(vdupq_n_f16(0.693260968f), p[i], f[i]);
    HN_ACT_EACH_ p[i] = vfmaq_f16(vdupq_n_f16(0.999928057f), p[i], f[i]);
    HN_ACT_EACH_ t[i] = vreinterpretq_f16_s16(vshlq_n_s16(vreinterpretq_s16_f16(t[i]), 10));
    HN_ACT_EACH_ p[i] =
        vreinterpretq_f16_s16(vaddq_s16(vreinterpretq_s16_f16(p[i]), vreinterpretq_s16_f16(t[i])));
    HN_ACT_EACH_ p[i] = vaddq_f16(vdupq_n_f16(1), p[i]);
    /* 1/p: FRECPE has 8 bits, and a step of Newton squares its error. */
    HN_ACT_EACH_ z[i] = vrecpeq_f16(p[i]);
    HN_ACT_EACH_ p[i] = vrecpsq_f16(p[i], z[i]);
    HN_ACT_EACH_ z[i] = vmulq_f16(z[i], p[i]);
    HN_ACT_EACH_ z[i] = vreinterpretq_f16_u16(vandq_u16(some[i], vreinterpretq_u16_f16(z[i])));
}

/* z of the share of the normal distribution below x, and of what GELU_TANH has for it: nearly a
 * polynomial, and one. It ends where the share does. */
HN_INLINE void hn_v_normals_f16_(float16x8_t *x, const int n, const bool normal) {
    const float16x8_t end = vdupq_n_f16(4.5f), low = vdupq_n_f16(-4.5f);
    float16x8_t t[HN_ACT_BF16_MOST], z[HN_ACT_BF16_MOST];
    HN_ACT_EACH_ x[i] = vmaxq_f16(low, x[i]);
    HN_ACT_EACH_ x[i] = vminq_f16(end, x[i]);
    HN_ACT_EACH_ t[i] = vmulq_f16(x[i], x[i]);
    HN_ACT_EACH_ z[i] = vdupq_n_f16(normal ? 0.106178686f : 0.102943240f);
    if (normal) HN_ACT_EACH_ z[i] = vfmaq_f16(z[i], vdupq_n_f16(-0.000911635114f), t[i]);
    HN_ACT_EACH_ z[i] = vfmaq_f16(vdupq_n_f16(normal ? 2.30172634f : 2.30220820f), z[i], t[i]);
    HN_ACT_EACH_ x[i] = vmulq_f16(z[i], x[i]);
}

/* Of n pairs of vectors, n <= HN_ACT_BF16_MOST, in place. */
HN_INLINE void hn_v_act_bf16(hn_vf *x, const int n, hn_act_kind kind, hn_vf a, hn_vf b) {
    float16x8_t z[HN_ACT_BF16_MOST];
    if (kind != HN_ACT_SILU && kind != HN_ACT_GELU && kind != HN_ACT_GELU_TANH) {
        HN_ACT_EACH_ x[2 * i] = hn_v_act(x[2 * i], kind, a, b);
        HN_ACT_EACH_ x[2 * i + 1] = hn_v_act(x[2 * i + 1], kind, a, b);
        return;
    }
    hn_vf factor = hn_v_mul(a, hn_v_set1(0x1.715476p0f)); /* 1/(1 + e^-ax) is of powers of 2 */
    if (kind == HN_ACT_SILU) {
        HN_ACT_EACH_ z[i] = vcombine_f16(vcvt_f16_f32(hn_v_mul(x[2 * i], factor)),
                                         vcvt_f16_f32(hn_v_mul(x[2 * i + 1], factor)));
    } else {
        HN_ACT_EACH_ z[i] = vcombine_f16(vcvt_f16_f32(x[2 * i]), vcvt_f16_f32(x[2 * i + 1]));
        hn_v_normals_f16_(z, n, kind == HN_ACT_GELU);
    }
    hn_v_shares_f16_(z, n);
    HN_ACT_EACH_ x[2 * i] = hn_v_mul(x[2 * i], vcvt_f32_f16(vget_low_f16(z[i])));
    HN_ACT_EACH_ x[2 * i + 1] = hn_v_mul(x[2 * i + 1], vcvt_high_f32_f16(z[i]));
}

#endif
#endif
