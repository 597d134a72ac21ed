/* A model by its counts alone: what each node computes and moves, without running it. The same on
 * every machine, so that plans for other devices do not depend on the one they are made on. */
#ifndef HN_ADVISE_COUNTS_H
#define HN_ADVISE_COUNTS_H

#include "base/arena.h"
#include "ir/ir.h"

/* A piece of work: a node, or a step of a run. */
typedef struct hn_piece {
    const char *precision; /* of its arithmetic: "f32", "int8" */
    double macs, flops, bytes, weights_bytes;
    bool fuses;    /* engines compute it with the node before it */
    double ms;     /* measured; 0: it was not */
    double lost;   /* of that: what another kernel may save; 0: nothing, or not known */
    double roof;   /* ms at least, where it was measured; 0: not known */
    bool overhead; /* measured: starting it is most of its time */
} hn_piece;

typedef struct hn_counts {
    hn_piece *works;
    int n;
    double macs, params, weights_bytes, file_bytes, activation_bytes, input_bytes;
    double matrix_macs;  /* of products with matrices */
    double window_macs;  /* of convolutions with windows larger than 1 that are not depthwise */
    double replaced;     /* window_macs, once those are a depthwise and a pointwise one */
    double sparse;       /* the share of the weights that are 0 */
    const char *stored;  /* what most weights are stored in: "f32", "bf16", "s8" */
    bool quantized;      /* integers of at most 8 bits */
    bool described;      /* hone made it, and can make a smaller one of its description */
    bool fixed;          /* no axis of an input is symbolic */
    int64_t samples;     /* of a run: the first axis of the first input; 1 if that is symbolic */
    int64_t unsupported; /* nodes that hone cannot run */
    const char *unsupported_op; /* the first of them */
    /* Words for `hone simplify`, "" where the model does not allow it: a batch of `batch`, all axes
     * fixed, rows and columns of images made fewer. */
    const char *set_batch, *set_fixed, *set_smaller;
    int64_t batch;
    double pixels;       /* the share of an image's that set_smaller leaves */
    const char *smaller; /* "224 x 224 to 160 x 160" */
} hn_counts;

/* Everything that the result points to lies in the arena or in m. dims: sizes of n symbols, as for
 * hn_model_inspect. batch: the one that set_batch makes. */
hone_status hn_counts_make(hn_counts *c, hn_model *m, const hone_dim_value *dims, size_t n_dims,
                           int64_t batch, hn_arena *arena, hn_error *err);

#endif
