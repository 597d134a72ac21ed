/* The functions that recurrent cells and fused operators name in an attribute. */
#ifndef HN_OPS_ACTIVATION_H
#define HN_OPS_ACTIVATION_H

#include "base/error.h"

typedef struct hn_activation {
    double (*fn)(double x, double alpha, double beta);
    double alpha, beta;
} hn_activation;

/* The function of that name (letter case does not matter) with ONNX's default parameters; NULL fn
 * means there is none, and *n_params how many of alpha and beta it uses. */
hn_activation hn_activation_find(const char *name, int *n_params);

static inline double hn_activate(const hn_activation *a, double x) {
    return a->fn(x, a->alpha, a->beta);
}

#endif
