/* How far a layer's own outputs are off when it gets a type: sensitivity without a run for each
 * layer and type.
 *
 *     noise    sum over rows d of (rounded W - W) of d H d^T        H = X^T X, over samples
 *              + what the inputs are rounded by, as if at random: the sum of squared weights times
 *                scale^2 / 12, for each input in integers; f16 and bf16: as far off as the weights
 *     signal   sum over rows w of W of w H w^T
 *
 * noise / signal is what mixed.h measures, but of the layer's outputs and not of the model's: how
 * much of it the layers behind let through is left out. For types that round weights alone it is
 * exact. Samples are run once for all layers and types, as long as their X^T X fit into memory.
 *
 * Layers that are no matrix products (layer_input.h) count as if their inputs were all alike: by
 * the error of their weights. So do the weights of a recurrent layer's state.
 */
#ifndef HN_COMPRESS_ESTIMATE_H
#define HN_COMPRESS_ESTIMATE_H

#include "compress/calibration.h"
#include "compress/layer_input.h"

/* A layer in a type. */
typedef struct hn_estimate {
    double error; /* noise by signal; NaN: it cannot have the type */
    double bits;  /* of its weights, with scales and zero points */
} hn_estimate;

/* out[i * n_types + t]: layer i of those, which are of m, in type t. The scheme of a layer is left
 * out. calibration: ranges of inputs that static types want; NULL: none, and inputs in integers
 * count as if they reached 4 times the size of the largest channel. c: feed, samples, how,
 * scheme and memory; c->samples of the feed are looked at, at most `samples`. */
hone_status hn_estimate_layers(hn_estimate *out, const hn_weighted *layers, int n,
                               const hn_layer_scheme *types, int n_types,
                               const hn_calibration *calibration, const hn_model *m,
                               const hn_transform_ctx *c, int64_t samples, hn_error *err);

#endif
