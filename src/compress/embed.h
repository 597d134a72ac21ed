/* What the transform `embed` does to the first layer of a model: the normalization of its input goes
 * into the weights.
 *
 *     y = W ((x - shift) * scale) + b      becomes      y = W' x + b',   W' = W * scale,
 *                                                                        b' = b - W' shift
 *
 * with a scale and a shift for each channel. A convolution that pads takes the scale and the order of
 * the channels and leaves the shift: the zeros around its input stand for values that are shifted
 * already, and would have to become the shift itself.
 */
#ifndef HN_COMPRESS_EMBED_H
#define HN_COMPRESS_EMBED_H

#include "ir/ir.h"

/* What is done to each value of an input before the model reads it. */
typedef struct hn_normalization {
    int64_t n;           /* of scale and shift: 1, or as many as there are channels */
    const double *scale; /* of what comes in less the shift; in the order of the model's channels */
    const double *shift; /* subtracted from what comes in */
    bool scales, shifts; /* some scale is not 1; some shift is not 0 */
    bool reverses;       /* what comes in has its channels in the other order */
    int axis;            /* of the channels in the input of the model; -1: there is none */
    int64_t channels;    /* along it; 0: not known */
} hn_normalization;

static inline double hn_channel_scale(const hn_normalization *z, int64_t c) {
    return z->scale[z->n == 1 ? 0 : c];
}
static inline double hn_channel_shift(const hn_normalization *z, int64_t c) {
    return z->shift[z->n == 1 ? 0 : c];
}

/* What has gone into a layer, and why the rest has not. */
typedef struct hn_embed_folded {
    const hn_node *layer; /* NULL: none */
    bool scale, shift, order;
    const char *why_scale, *why_shift, *why_order; /* of what is asked for and has not */
    char first[200]; /* what stands where such a layer would have to, for them */
} hn_embed_folded;

/* Puts as much of the normalization of x into the weights of the one layer that reads x as is exact
 * but for rounding. The values have their types. */
hone_status hn_embed_fold(hn_embed_folded *out, const hn_value *x, const hn_normalization *z,
                          hn_error *err);

#endif
