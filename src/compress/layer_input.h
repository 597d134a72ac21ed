/* What a layer multiplies its weights by, over samples: the statistics of its inputs that methods
 * weigh errors of weights with.
 *
 * A layer is seen as a matrix product: an output is the sum over k of a row of inputs by a row of
 * weights, [n, k] of them. Rows of a Conv are its windows, of which some of each sample are looked
 * at: evenly spread, others from one sample to the next.
 */
#ifndef HN_COMPRESS_LAYER_INPUT_H
#define HN_COMPRESS_LAYER_INPUT_H

#include "compress/method.h"
#include "compress/weighted.h"

/* The weight as rows: element k of output channel o is number o * o_stride + k * k_stride of the
 * tensor. `inner` neighbours along k share an index of the sum axis: kernel positions of a Conv. */
typedef struct hn_layer_matrix {
    int64_t n, k, o_stride, k_stride, inner;
} hn_layer_matrix;
/* False: the layer is no such product (depthwise or grouped, transposed, several matrices), or
 * something else uses the weight too. */
bool hn_layer_as_matrix(const hn_weighted *w, hn_layer_matrix *m);

typedef struct hn_layer_input {
    int64_t k, rows;
    double *squares, *magnitudes; /* [k]: sums of x * x and |x| */
    double *gram;                 /* [k, k]: X^T X, its lower triangle; NULL: not asked for */
} hn_layer_input;
/* of[i]: what layer i of those gets, each a matrix. c->samples of the feed are run through m, at
 * most `samples`. */
hone_status hn_layer_inputs(hn_layer_input *of, const hn_weighted *layers, int n, bool gram,
                            const hn_model *m, const hn_method_ctx *c, int64_t samples,
                            hn_error *err);
void hn_layer_input_deinit(hn_layer_input *in, hn_allocator *alloc); /* all zero accepted */

#endif
