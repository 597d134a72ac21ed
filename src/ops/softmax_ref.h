/* The sums under every softmax: taken relative to the largest element, so that no exp overflows. */
#ifndef HN_OPS_SOFTMAX_REF_H
#define HN_OPS_SOFTMAX_REF_H

#include "ops/groups.h"

/* For the groups of x from `first` on, `width` of them (at most HN_BLOCK): peak[i], the largest
 * element, NaN if there is one, -inf if there is none; and sum[i], the sum of exp(x - peak[i]).
 * sum NULL: not wanted. */
void hn_softmax_sums(const hn_groups *g, const hn_tensor *x, int64_t first, int64_t width,
                     double *peak, double *sum);

/* Softmax of one row, in place; where all are -inf (nothing may be looked at) all become 0. */
void hn_softmax_row(double *x, int64_t n);

#endif
