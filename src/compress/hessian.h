/* What the inputs of a layer say about its weights, for methods that change some and let the others
 * make up for it (GPTQ, SparseGPT; after Hassibi and Stork 1993).
 *
 * With H = X^T X of the layer's inputs, damped, and M the inverse of its Cholesky triangle
 * (H^-1 = M^T M, M lower), columns go from the last to the first:
 *
 *     q[k]  = what w[k] becomes
 *     e     = (w[k] - q[k]) / M[k][k]
 *     w[j] -= e * M[k][j]                 for all j < k
 *
 * for each row of weights alone. Blocks of columns keep what is touched in the cache. Columns may
 * have any order; `place` counts in it.
 */
#ifndef HN_COMPRESS_HESSIAN_H
#define HN_COMPRESS_HESSIAN_H

#include "compress/layer_input.h"

enum { HN_HESSIAN_BLOCK = 128 }; /* columns */

typedef struct hn_hessian {
    const hn_value *of; /* the input; NULL: none */
    hn_layer_input in;
    int64_t *order;  /* the column at each place */
    double *inverse; /* M, by place */
} hn_hessian;
void hn_hessian_deinit(hn_hessian *h, hn_allocator *alloc); /* all zero accepted */

/* The column at each place, of k. */
typedef void hn_hessian_order_fn(const void *ctx, int64_t k, int64_t *order);

/* Of the layer's inputs in c->model, unless h has them already. order NULL: those columns last whose
 * inputs are largest, so that they go first. */
hone_status hn_hessian_find(hn_hessian *h, const hn_weighted *w, const hn_layer_matrix *m,
                            hn_hessian_order_fn *order, const void *order_ctx,
                            const hn_transform_ctx *c, hn_error *err);

/* What the weight at a place becomes, which by now is w. */
typedef double hn_settle_fn(void *ctx, int64_t row, int64_t place, double w);
/* Settles the places [first, last) of a row, from the last on, in errors[] what each says to the
 * places before; those before `first` hear of it by hn_hessian_spread. */
void hn_hessian_settle(const hn_hessian *h, int64_t row, int64_t first, int64_t last, double *w,
                       double *errors, hn_settle_fn *settle, void *ctx);
void hn_hessian_spread(const hn_hessian *h, int64_t first, int64_t last, double *w,
                       const double *errors);

#endif
