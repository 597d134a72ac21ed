/* The activations in double precision: what every kernel is measured against. */
#ifndef HN_KERNELS_ACT_REF_H
#define HN_KERNELS_ACT_REF_H

#include <math.h>

#include "kernels/act.h"

static inline double hn_act_ref(const hn_act *act, double x) {
    double a = (double)act->a, b = (double)act->b;
    switch (act->kind) {
        case HN_ACT_CLIP: x = x < a ? a : x; return x > b ? b : x;
        case HN_ACT_LEAKY: return x < 0 ? a * x : x;
        case HN_ACT_SIGMOID: return 1 / (1 + exp(-x));
        case HN_ACT_TANH: return tanh(x);
        case HN_ACT_SILU: return x / (1 + exp(-a * x));
        case HN_ACT_HARD_SIGMOID: x = a * x + b; return x < 0 ? 0 : x > 1 ? 1 : x;
        case HN_ACT_HARD_SWISH: return x * (x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + 0.5);
        case HN_ACT_GELU: return x / 2 * (1 + erf(x * 0.70710678118654752440));
        case HN_ACT_GELU_TANH:
            return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
        case HN_ACT_ELU: return x < 0 ? a * expm1(x) : x;
        case HN_ACT_MISH: return x * tanh(x > 30 ? x : log1p(exp(x)));
        case HN_ACT_NONE:
        case HN_ACT_COUNT_: break;
    }
    return x;
}

#endif
