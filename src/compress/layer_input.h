/* What a layer multiplies its weights by, over samples: the statistics of its inputs that methods
 * weigh errors of weights with.
 *
 * A layer is seen as a matrix product: an output is the sum over k of a row of inputs by a row of
 * weights, [n, k] of them. Rows of a Conv are its windows, in as many groups as it has; of a
 * product they are the lines of its input. Some of each sample are looked at: evenly spread, others
 * from one sample to the next.
 */
#ifndef HN_COMPRESS_LAYER_INPUT_H
#define HN_COMPRESS_LAYER_INPUT_H

#include "compress/grid.h"
#include "compress/transform.h"
#include "compress/weighted.h"

/* The weight as rows: element k of output channel o is number o * o_stride + k * k_stride of the
 * tensor. `inner` neighbours along k share an index of the sum axis: kernel positions of a Conv.
 * Row o is multiplied by the inputs of group o / (n / groups). */
typedef struct hn_layer_matrix {
    int64_t n, k, o_stride, k_stride, inner, groups;
} hn_layer_matrix;
/* False: the layer is no such product (transposed, several matrices, the weights of a state), or
 * something else uses the weight too. */
bool hn_layer_as_matrix(const hn_weighted *w, hn_layer_matrix *m);

/* What a layer gives at the rows that are looked at, less its bias. */
typedef struct hn_layer_output {
    int64_t rows;
    float *y; /* [rows, n] */
} hn_layer_output;
/* of[i]: what layer i of those, each a matrix with a bias that is a constant vector or none, gives
 * in m, which may be another model with values of the same names. */
hone_status hn_layer_outputs(hn_layer_output *of, const hn_weighted *layers, int n,
                             const hn_model *m, const hn_transform_ctx *c, int64_t samples,
                             hn_error *err);
void hn_layer_output_deinit(hn_layer_output *out, hn_allocator *alloc); /* all zero accepted */

typedef struct hn_layer_input {
    int64_t groups, k, rows;
    double *squares, *magnitudes; /* [groups, k]: sums of x * x and |x| */
    double *sums;                 /* [groups, k]: of x */
    double *gram;                 /* [groups, k, k]: X^T X, its lower triangle; or NULL */
    double *cross;                /* [n, k]: Y^T X; or NULL */
} hn_layer_input;

typedef struct hn_layer_look {
    int64_t samples; /* at most; no more than the method's */
    bool gram;
    const hn_layer_output *outputs; /* of the same samples: Y, for each layer; or NULL */
} hn_layer_look;
/* of[i]: what layer i of those, each a matrix, gets in m. */
hone_status hn_layer_inputs(hn_layer_input *of, const hn_weighted *layers, int n,
                            const hn_layer_look *look, const hn_model *m, const hn_transform_ctx *c,
                            hn_error *err);
void hn_layer_input_deinit(hn_layer_input *in, hn_allocator *alloc); /* all zero accepted */

/* What the layer's outputs are off by over the rows, squared and added up, when its weight is `is`
 * and not `was`: the sum over rows d of the difference of d X^T X d^T. is NULL: zeros. */
hone_status hn_layer_error(double *sum, const hn_layer_matrix *m, const hn_layer_input *in,
                           const hn_tensor *is, const hn_tensor *was, hn_pool *pool,
                           hn_allocator *alloc, hn_error *err);
/* The grid of a layer's weight in c->grids: the one chosen before, or that of the least error, with
 * errors weighted by the inputs; under 8 bits that cuts off the largest weights. A depthwise layer
 * has no groups, but a scale per channel. */
hone_status hn_layer_choose_grid(const hn_grid **out, const hn_weighted *w,
                                 const hn_layer_input *in, const hn_transform_ctx *c,
                                 hn_error *err);

#endif
