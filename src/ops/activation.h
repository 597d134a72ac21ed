/* The functions that recurrent cells and fused operators name in an attribute. */
#ifndef HN_OPS_ACTIVATION_H
#define HN_OPS_ACTIVATION_H

#include "ir/tensor.h"

typedef struct hn_activation hn_activation;
struct hn_activation {
    double (*fn)(double x, double alpha, double beta);
    double alpha, beta;
    const char *text; /* the same as an expression (grad.h) of a = x, $alpha and $beta */
};

/* The function of that name (letter case does not matter) with ONNX's default parameters; fn is
 * NULL when there is none. *n_params: how many of alpha and beta it uses. */
hn_activation hn_activation_find(hn_str name, int *n_params);

static inline double hn_activate(const hn_activation *a, double x) {
    return a->fn(x, a->alpha, a->beta);
}

#endif
