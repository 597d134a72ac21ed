/* Activations that kernels apply to what they have just computed, while it is in registers. */
#ifndef HN_KERNELS_ACT_H
#define HN_KERNELS_ACT_H

/* Name, formula. NaN passes through every one of them. */
#define HN_ACT_LIST(X)                                        \
    X(NONE, "x")                                              \
    X(CLIP, "min(max(x, a), b)") /* Relu: a = 0, b = inf */   \
    X(LEAKY, "x < 0 ? a*x : x")                               \
    X(SIGMOID, "1/(1+exp(-x))")                               \
    X(TANH, "tanh(x)")                                        \
    X(SILU, "x/(1+exp(-a*x))")                                \
    X(HARD_SIGMOID, "min(max(a*x+b, 0), 1)")                  \
    X(HARD_SWISH, "x*min(max(x/6+1/2, 0), 1)")                \
    X(GELU, "x/2*(1+erf(x/sqrt(2)))")                         \
    X(GELU_TANH, "x/2*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3)))") \
    X(ELU, "x < 0 ? a*(exp(x)-1) : x")                        \
    X(MISH, "x*tanh(log(1+exp(x)))")

typedef enum hn_act_kind {
#define HN_X(name, formula) HN_ACT_##name,
    HN_ACT_LIST(HN_X)
#undef HN_X
        HN_ACT_COUNT_
} hn_act_kind;

typedef struct hn_act {
    hn_act_kind kind;
    float a, b;
} hn_act;

#endif
