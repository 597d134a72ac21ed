/* Functions of a double that several operators hold. Written so that nothing cancels or
 * overflows on the way to a small result. */
#ifndef HN_OPS_SCALAR_H
#define HN_OPS_SCALAR_H

#include <math.h>

/* 1 / (1 + exp(-x)) */
static inline double hn_sigmoid(double x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

/* log(1 + exp(x)); NaN passes. */
static inline double hn_softplus(double x) { return (x < 0 ? 0 : x) + log1p(exp(-fabs(x))); }

/* x * Phi(x), Phi(x) = (1 + erf(x / sqrt(2))) / 2 = erfc(-x / sqrt(2)) / 2 */
static inline double hn_gelu(double x) { return 0.5 * x * erfc(-x * M_SQRT1_2); }

/* x * (1 + tanh(u)) / 2, u = sqrt(2 / pi) * (x + 0.044715 x^3); (1 + tanh(u)) / 2 is sigmoid(2u).
 */
static inline double hn_gelu_tanh(double x) {
    double u = M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x);
    return x * hn_sigmoid(2 * u);
}

/* exp(x) from additions and multiplications alone, so the same bits on every machine; within 2e-16
 * of the true value, relatively. x = k ln 2 + r with |r| <= ln(2) / 2, and exp(r) is its series. */
double hn_exp(double x);

#endif
