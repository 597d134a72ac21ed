/* The activations over the vector vocabulary (include simd/avx512.h or another first; without one
 * this is portable code).
 *
 * hn_v_act folds to the code of one activation when `kind` is a constant, so the choice belongs
 * outside the loops:
 *
 *   HN_INLINE void loop(..., hn_act_kind kind);       calls hn_v_act(x, kind, a, b)
 *
 *   switch (act->kind) {
 *   #define HN_X(name, formula) case HN_ACT_##name: loop(..., HN_ACT_##name); break;
 *       HN_ACT_LIST(HN_X)
 *   #undef HN_X
 *   }
 *
 * Error: 1e-6 of the largest output, and relative to each output where simd/math.h says so.
 */
#ifndef HN_KERNELS_ACT_SIMD_H
#define HN_KERNELS_ACT_SIMD_H

#include "kernels/act.h"
#include "simd/math.h"
#include "simd/part.h"

/* a and b: the activation's constants in every lane, as hn_act has them. */
HN_INLINE hn_vf hn_v_act(hn_vf x, hn_act_kind kind, hn_vf a, hn_vf b) {
    hn_vf zero = hn_v_set1(0.0f), one = hn_v_set1(1.0f);
    switch (kind) {
        case HN_ACT_CLIP: return hn_v_min(b, hn_v_max(a, x));
        case HN_ACT_LEAKY: return hn_v_select(hn_v_lt(x, zero), hn_v_mul(a, x), x);
        case HN_ACT_SIGMOID: return hn_v_sigmoid(x);
        case HN_ACT_TANH: return hn_v_tanh(x);
        case HN_ACT_SILU: return hn_v_gate(x, hn_v_mul(a, x));
        case HN_ACT_HARD_SIGMOID: return hn_v_min(one, hn_v_max(zero, hn_v_fma(a, x, b)));
        case HN_ACT_HARD_SWISH: {
            /* Times 1/6 last: the sum is exact where the gate closes. */
            hn_vf gate = hn_v_max(zero, hn_v_add(x, hn_v_set1(3.0f)));
            return hn_v_mul(hn_v_mul(x, hn_v_set1(1.0f / 6.0f)), hn_v_min(hn_v_set1(6.0f), gate));
        }
        case HN_ACT_GELU: return hn_v_mul(x, hn_v_normal_share(x));
        case HN_ACT_GELU_TANH: {
            /* (1 + tanh(u))/2 is sigmoid(2u). */
            hn_vf x2 = hn_v_mul(x, x);
            hn_vf u =
                hn_v_fma(hn_v_set1(2 * 0.79788456f * 0.044715f), x2, hn_v_set1(2 * 0.79788456f));
            return hn_v_gate(x, hn_v_mul(x, u));
        }
        case HN_ACT_ELU: return hn_v_select(hn_v_lt(x, zero), hn_v_mul(a, hn_v_expm1(x)), x);
        case HN_ACT_MISH: {
            /* tanh(log(1 + w)), w = e^x, is t/(t + 2), t = w*(w + 2); 1 from x = 20 on. */
            hn_vf w = hn_v_exp(hn_v_min(hn_v_set1(20.0f), x)), two = hn_v_set1(2.0f);
            hn_vf t = hn_v_mul(w, hn_v_add(w, two));
            return hn_v_mul(x, hn_v_mul(t, hn_v_recip(hn_v_add(t, two))));
        }
        case HN_ACT_NONE:
        case HN_ACT_COUNT_: break;
    }
    return x;
}

#endif
