/* Scaling and shifting the output channels of a node by changing its constant weights. */
#ifndef HN_PASSES_AFFINE_H
#define HN_PASSES_AFFINE_H

#include "passes/pass.h"

/* n is a Conv, ConvTranspose or Gemm whose weights, and bias if there is one, are constants, the
 * weights perhaps dequantized from one: *channels is the size of axis 1 of its output. */
bool hn_affine_fits(const hn_node *n, int64_t *channels);

/* Makes n, of which root is the only user, compute
 *     scale[k] * y[:, k] + shift[k]
 * in place of its output y, and puts that in the place of root's. Does nothing when a weight would
 * leave the range of its type, or the weights have other users and a copy of them is more than the
 * model may grow by. */
hone_status hn_affine_fold(hn_pass_ctx *c, hn_node *root, hn_node *n, const double *scale,
                           const double *shift, hn_error *err);

/* Multiplies the constants that are input[k] of node[k], all n of them or, when one would leave the
 * range of its type or a copy of a shared one is more than the model may grow by, none: *done. */
#define HN_MOST_SCALED 2
hone_status hn_affine_scale(hn_pass_ctx *c, hn_node *const *node, const int *input, int n,
                            double scale, bool *done, hn_error *err);

#endif
