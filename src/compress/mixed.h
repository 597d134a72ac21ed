/* Mixed precision: which type each layer gets, so that a limit holds.
 *
 *     1  harm: each layer alone in each type, the rest in the base, f32 or a type: the error of the
 *        model's outputs on a few samples, as noise by signal, beyond that of the base. It adds up
 *        over layers, as far as errors are small. Where that is too many runs, the error of the
 *        layer's own outputs stands for it, which one pass over samples gives for all layers and
 *        types (estimate.h).
 *     2  cost: the bits of its weights, or its time in a plan of this machine in which all layers
 *        have the type.
 *     3  front: from all layers in the type of least harm to the cheapest set of types (budget.h)
 *     4  the first point of the front within the limits on size and time; or, with a way to judge
 *        models, the last that is good enough, found by halving
 *
 * So whether a first or last layer keeps its floats is found out, not assumed.
 */
#ifndef HN_COMPRESS_MIXED_H
#define HN_COMPRESS_MIXED_H

#include "compress/layer_type.h"
#include "compress/quantize.h"
#include "compress/rounded.h"

typedef enum hn_mixed_cost { HN_MIXED_BITS, HN_MIXED_TIME } hn_mixed_cost;

/* Where harm comes from. */
typedef enum hn_mixed_harm {
    HN_MIXED_BY_COST, /* measured, unless that is more than 256 models to run */
    HN_MIXED_MEASURED,
    HN_MIXED_ESTIMATED,
} hn_mixed_harm;

/* How good a model is: higher is better. */
typedef hone_status hn_mixed_score(void *ctx, const hn_model *m, double *score, hn_error *err);

/* Bytes of the file that m becomes, whose layers have the types of x. m is the caller's and may be
 * edited. */
typedef struct hn_mixed hn_mixed;
typedef hone_status hn_mixed_size(void *ctx, hn_model *m, const hn_mixed *x, int64_t *bytes,
                                  hn_error *err);

typedef struct hn_mixed_options {
    const hn_layer_type *base; /* what all layers have to begin with; NULL: f32 */
    int n_types;               /* beside the base */
    const hn_layer_type *const *types;
    const hn_scheme *scheme;           /* target and the like; layers its rules name keep their
                                          types; what holds for all is for nodes
                                          without weights */
    const hn_calibration *calibration; /* of all values that static types ask for; or NULL */
    const hn_feed *feed;
    const hn_run_options *how;
    int64_t samples; /* to find harm with, at most; 0: 32. Where layers are
                        many it is fewer: runs are bounded */
    hn_mixed_harm harm;
    hn_mixed_cost cost;
    const hn_rounded *rounded;  /* weights as methods leave them for the types; NULL: as they are */
    double bits_per_weight, ms; /* limits; 0: none. Time is that of the layers alone */
    int64_t bytes;              /* likewise, of the file */
    hn_mixed_size *size;        /* NULL: that of the model as it is */
    void *size_ctx;
    hn_mixed_score *score; /* NULL: models are not judged */
    void *score_ctx;
    double least; /* a model is good enough from this score on */
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* may be NULL; false: HONE_E_LIMIT */
    void *progress_ctx;
} hn_mixed_options;

/* A layer in a type. */
typedef struct hn_mixed_figure {
    double harm;     /* NaN: it cannot have the type */
    double estimate; /* noise by signal of its own outputs; likewise */
    double bits;     /* of all its weights, with scales and zero points */
    double ms;       /* NaN: not measured */
} hn_mixed_figure;

typedef struct hn_mixed_layer {
    const char *name, *op;
    int64_t weights;
    hn_mixed_figure *figures; /* by type: the base, then those of the options */
    int type;                 /* that was chosen */
} hn_mixed_layer;

/* A set of types on the front. */
typedef struct hn_mixed_point {
    int layer, to; /* the move that leads to it; layer -1: the begin */
    double harm, ms, bits_per_weight;
    int64_t bytes; /* of the file; 0: not looked at */
    double score;  /* NaN: not judged */
    bool chosen;
} hn_mixed_point;

struct hn_mixed {
    hn_arena arena;
    int n_layers;
    hn_mixed_layer *layers;
    int n_points; /* gentlest first */
    hn_mixed_point *points;
    bool estimated; /* harm is the estimate, and not measured */
    int64_t tried;  /* models that ran */
    int n_rules;
    hn_scheme_rule *rules; /* that give each layer its type; behind those of the scheme */
};

/* Names of all values that some set of types may want the range of: what calibration is to watch.
 * In the arena. */
hone_status hn_mixed_watches(const hn_model *m, hn_arena *arena, const char *const **names, int *n,
                             hn_error *err);
/* m: a simplified model, with types; only read. out is to be deinited, whatever came of it.
 * HONE_E_NOT_FOUND: no set of types is within the limits; the cheapest is chosen then. */
hone_status hn_mixed_choose(hn_mixed *out, const hn_model *m, const hn_mixed_options *o,
                            hn_allocator *alloc, hn_error *err);
void hn_mixed_deinit(hn_mixed *x); /* all zero accepted */

#endif
