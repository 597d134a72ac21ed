/* A layer as numbers, and the chains of lower rank that it can become.
 *
 *     form        chain                                      of
 *     channel     all of the window to r, 1x1 to n           any; a matrix: two products
 *     spatial     k x 1 to r, 1 x k to n                     convolutions of images
 *     tucker      1x1 to r1, all of the window to r2, 1x1    convolutions
 *     separable   k x 1, 1 x k, each channel by itself       depthwise convolutions of images
 *
 * With samples, `channel` leaves the least error of the layer's outputs that its rank can (SVD of the
 * weight times the Cholesky factor of X^T X, as SVD-LLM does); so does the last link of `tucker`. The
 * others are cut by the weights alone. Where the layer has a bias, the mean of the error goes there,
 * and inputs count from their mean.
 */
#ifndef HN_COMPRESS_FACTOR_H
#define HN_COMPRESS_FACTOR_H

#include "base/dense.h"
#include "compress/chain.h"
#include "compress/shrinking.h"

typedef struct hn_factored {
    hn_chained of;
    double *weight; /* [m.n, m.k] */
    /* Of each group, both triangles: X^T X, with X less the mean where a bias takes that; NULL: no
     * samples. */
    double *gram;
    double *mean;  /* [groups, m.k]; NULL: no bias takes it, or there are no samples */
    double signal; /* the squared outputs, or weights */
    hn_pool *pool;
    hn_allocator *alloc;
} hn_factored;

/* in: with X^T X; NULL: no samples. */
hone_status hn_factored_create(hn_factored *f, const hn_chained *of, const hn_layer_input *in,
                               hn_pool *pool, hn_allocator *alloc, hn_error *err);
void hn_factored_deinit(hn_factored *f); /* all zero accepted */

/* What `is` [m.n, m.k] in the place of the weight leaves of the squared outputs, or weights, as a
 * share of them; the mean is taken out where a bias can. HONE_E_NOMEM alone. */
hone_status hn_factored_error(const hn_factored *f, const double *is, double *share, hn_error *err);
/* Puts a chain in the place of the layer, and the mean of the error into its bias; tells of it. */
hone_status hn_factored_replace(hn_transform_ctx *c, const hn_factored *f, const hn_chain *chain,
                                const hn_shrunk_layer *row, hn_error *err);
/* A row for a layer, with what all rows have. */
hn_shrunk_layer hn_factored_row(const char *transform, const hn_weighted *w);

/* What a form takes the weight apart into. */
typedef struct hn_factors {
    hn_low_rank v[2];
    hn_low_rank *channels; /* of separable */
    int64_t n_channels;
} hn_factors;

typedef struct hn_factor_form {
    const char *name;
    bool (*fits)(const hn_factored *f);
    hone_status (*take_apart)(hn_factors *p, const hn_factored *f, hn_error *err);
    /* The ranks that leave at most this share of the squares of what was taken apart, without the
     * weights. */
    void (*cut)(hn_chain *out, const hn_factors *p, const hn_factored *f, double share);
    /* Fills the weights of a chain in whose ranks are at most the full ones. */
    hone_status (*fill)(hn_chain *chain, const hn_factors *p, const hn_factored *f, hn_error *err);
    bool optimal; /* what the squares say is the error of the outputs */
} hn_factor_form;
extern const hn_factor_form *const hn_factor_forms[];       /* ends with NULL */
void hn_factors_deinit(hn_factors *p, hn_allocator *alloc); /* all zero accepted */

#endif
