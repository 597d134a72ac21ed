/* A layer as a chain of layers that compute about the same with fewer weights.
 *
 *     x ─▶ L ─▶ y      becomes      x ─▶ L/0 ─▶ L/1 ─▶ y
 *
 * A link of a matrix is a matrix. A link of a convolution is a convolution that has some of the axes
 * of the window, with their strides and pads, and is of size 1 along the others; together the links
 * have each axis once. The bias is that of the last link. So the chain computes what one layer of
 * the old shape does, whose weight hn_chain_multiply gives.
 */
#ifndef HN_COMPRESS_CHAIN_H
#define HN_COMPRESS_CHAIN_H

#include "compress/layer_input.h"

enum { HN_CHAIN_LINKS = 3 };

typedef struct hn_link {
    int64_t n, k;  /* outputs, inputs */
    bool own;      /* a depthwise convolution: as many outputs for each input, k is 1 */
    int64_t taps;  /* of the window along its axes */
    unsigned axes; /* bit i: it has axis i of the window */
    float *weight; /* [n, k, taps]; NULL: it is not made yet */
} hn_link;

/* A layer that may become a chain: a product with a matrix, or a convolution in one group or as many
 * as it has channels. */
typedef struct hn_chained {
    const hn_weighted *w;
    hn_layer_matrix m;
    int rank; /* spatial axes; 0: a matrix */
    bool depthwise;
    int64_t inputs; /* channels */
    int64_t kernel[HONE_MAX_RANK], stride[HONE_MAX_RANK];
    unsigned axes; /* all of them */
} hn_chained;
/* False: it is no such layer, and *why says why. */
bool hn_chained_of(hn_chained *c, const hn_weighted *w, const char **why);

typedef struct hn_chain {
    int n;
    hn_link v[HN_CHAIN_LINKS];
} hn_chain;

int64_t hn_chain_weights(const hn_chain *chain);
/* Multiplications for one place of the output; what strides leave out counts, borders do not. */
int64_t hn_chain_macs(const hn_chain *chain, const hn_chained *of);
/* Rows of memory for the weights of its links, still to be filled in. */
hone_status hn_chain_create(hn_chain *chain, hn_allocator *alloc, hn_error *err);
void hn_chain_deinit(hn_chain *chain, hn_allocator *alloc); /* all zero accepted */
/* The weight of the one layer that computes the same: to [m.n, m.k]. */
hone_status hn_chain_multiply(const hn_chain *chain, const hn_chained *of, double *to,
                              hn_allocator *alloc, hn_error *err);

/* Where a number per output can be added at no cost: the bias of the node, or the constant vector
 * that the one node behind a MatMul adds. False: nowhere. */
bool hn_chained_has_bias(const hn_chained *of);
/* Puts the links in the place of the layer's node, which is gone afterwards, with nodes NAME/0,
 * NAME/1 ...; shift [m.n] is added to the outputs, NULL: nothing is. */
hone_status hn_chain_write(const hn_chain *chain, const hn_chained *of, const double *shift,
                           hn_error *err);

#endif
