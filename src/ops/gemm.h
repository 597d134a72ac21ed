/* Gemm, for the operators that are Gemm and more. */
#ifndef HN_OPS_GEMM_H
#define HN_OPS_GEMM_H

#include "ops/activation.h"
#include "ops/op.h"

/* Inputs A, B, C?; attributes alpha, beta, transA, transB. act: applied to the result before it is
 * rounded (floats only), or NULL. */
hone_status hn_gemm_run(hn_eval *e, const hn_activation *act, hn_error *err);
hone_status hn_gemm_infer(hn_infer *c, hn_error *err);
void hn_gemm_cost(const hn_infer *c, hn_cost *cost);

/* ---- C, broadcast one way to Y [M, N] ---- */

/* Input i, when its shape is known, broadcasts to y. */
hone_status hn_gemm_want_bias(const hn_infer *c, int i, const hn_shape *y, hn_error *err);

typedef struct hn_gemm_bias {
    const hn_tensor *t; /* NULL: none */
    int64_t row, col;   /* strides, 0 where it is repeated */
} hn_gemm_bias;

hn_gemm_bias hn_gemm_bias_of(const hn_tensor *t); /* NULL accepted */
static inline int64_t hn_gemm_bias_at(const hn_gemm_bias *b, int64_t row, int64_t col) {
    return row * b->row + col * b->col;
}

#endif
