#include "ops/activation.h"

#include <string.h>
#include <strings.h>

#include "ops/scalar.h"

/* Comparisons are written so that NaN comes out as NaN. */
#define FN(name, expression)                                  \
    static double name(double x, double alpha, double beta) { \
        (void)alpha, (void)beta;                              \
        return expression;                                    \
    }

FN(relu, x < 0 ? 0 : x)
FN(tanh_, tanh(x))
FN(sigmoid, hn_sigmoid(x))
FN(affine, alpha *x + beta)
FN(leaky_relu, x < 0 ? alpha * x : x)
FN(thresholded_relu, x < alpha ? 0 : x)
FN(scaled_tanh, alpha *tanh(beta *x))
FN(elu, x < 0 ? alpha * expm1(x) : x)
FN(selu, beta *(x < 0 ? alpha * expm1(x) : x))
FN(softsign, x / (1 + fabs(x)))
FN(softplus, hn_softplus(x))
FN(clip, x<alpha ? alpha : x> beta ? beta : x)
FN(quick_gelu, x *sigmoid(alpha *x, 0, 0))

static double hard_sigmoid(double x, double alpha, double beta) {
    return clip(alpha * x + beta, 0, 1);
}

static const struct row {
    const char *name;
    int n_params;
    hn_activation a;
} rows[] = {
    {"Affine", 2, {affine, 1, 0, "$alpha * a + $beta"}},
    {"Clip", 2, {clip, -INFINITY, INFINITY, "Clip(a, $alpha, $beta)"}},
    {"Elu", 1, {elu, 1, 0, "Max(a, 0) + $alpha * (Exp(Min(a, 0)) - 1)"}},
    {"HardSigmoid", 2, {hard_sigmoid, 0.2, 0.5, "Clip($alpha * a + $beta, 0, 1)"}},
    {"LeakyRelu", 1, {leaky_relu, 0.01, 0, "Where(a < 0, $alpha * a, a)"}},
    {"QuickGelu", 1, {quick_gelu, 1.702, 0, "a * Sigmoid($alpha * a)"}},
    {"Relu", 0, {relu, 0, 0, "Relu(a)"}},
    {"ScaledTanh", 2, {scaled_tanh, 1, 1, "$alpha * Tanh($beta * a)"}},
    {"Selu",
     2,
     {selu, 1.67326319217681884765625, 1.05070102214813232421875,
      "$beta * (Max(a, 0) + $alpha * (Exp(Min(a, 0)) - 1))"}},
    {"Sigmoid", 0, {sigmoid, 0, 0, "Sigmoid(a)"}},
    {"Softplus", 0, {softplus, 0, 0, "Softplus(a)"}},
    {"Softsign", 0, {softsign, 0, 0, "Softsign(a)"}},
    {"Tanh", 0, {tanh_, 0, 0, "Tanh(a)"}},
    {"ThresholdedRelu", 1, {thresholded_relu, 1, 0, "Where(a < $alpha, 0, a)"}},
};

hn_activation hn_activation_find(hn_str name, int *n_params) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) != name.n || strncasecmp(name.p, rows[i].name, name.n) != 0)
            continue;
        *n_params = rows[i].n_params;
        return rows[i].a;
    }
    *n_params = 0;
    return (hn_activation){0};
}
