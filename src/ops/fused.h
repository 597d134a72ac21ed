/* References of operators that exist both plain (ai.onnx) and with more folded in (com.microsoft).
 */
#ifndef HN_OPS_FUSED_H
#define HN_OPS_FUSED_H

#include "ops/activation.h"
#include "ops/op.h"

/* What follows the sums, before they are rounded. */
typedef struct hn_epilogue {
    const hn_tensor *add; /* of the output's shape, or NULL */
    hn_activation act;    /* fn NULL: none */
} hn_epilogue;

/* Inputs X, W, B?: activation(conv + B + add). */
hone_status hn_conv_fused(hn_eval *e, const hn_epilogue *then, hn_error *err);
/* Inputs A, B, C?: activation(alpha * A' * B' + beta * C); `add` is not used. */
hone_status hn_gemm_fused(hn_eval *e, const hn_epilogue *then, hn_error *err);
hone_status hn_gemm_infer(hn_infer *c, hn_error *err);
void hn_gemm_cost(const hn_infer *c, hn_cost *cost);

#endif
