/* Gradients of weights over samples, without training: for scores that go by them. */
#ifndef HN_COMPRESS_GRADIENTS_H
#define HN_COMPRESS_GRADIENTS_H

#include "compress/transform.h"

/* One batch's gradient by a constant of the model, n numbers. */
typedef void hn_gradient_fn(void *ctx, const char *name, const float *gradient, int64_t n);
/* Calls `take` for each f32 constant that training would change, batch after batch of c->feed's
 * samples. The loss is that of `hone train`. HONE_E_ARG: the samples have neither labels nor targets.
 */
hone_status hn_gradients(hn_transform_ctx *c, hn_gradient_fn *take, void *ctx, hn_error *err);

#endif
