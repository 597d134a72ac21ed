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

#endif
