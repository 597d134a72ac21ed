/* How far the values of B are from those of A: as B computes them from its own values, where errors
 * have added up, and as its steps compute them from the values of A, where each has its own error
 * alone. And how far its weights are from A's. */
#ifndef HN_MEASURE_PAIR_ERRORS_H
#define HN_MEASURE_PAIR_ERRORS_H

#include "measure/distance.h"
#include "measure/pairs.h"
#include "measure/program.h"

/* What the models are run on. */
typedef struct hn_sample_source {
    int64_t n;
    /* in[]: a tensor per input of A's graph, NULL for one that has a default. */
    hone_status (*load)(void *ctx, int64_t i, hn_tensor **in, hn_error *err);
    void *ctx;
} hn_sample_source;

typedef struct hn_pair_error {
    hn_distance own, alone;
} hn_pair_error;

/* Bytes of values that are held at once, in three forms: where those of one sample take more, the
 * models run several times for some of the pairs each. */
#define HN_PAIR_ERRORS_BYTES ((size_t)512 << 20)

/* how: of A and of B. errors[]: one per pair, zeroed. progress as in hone_eval_options; may be
 * NULL.
 */
hone_status hn_pair_errors(const hn_pairs *p, const hn_run_options how[2],
                           const hn_sample_source *samples, size_t most_bytes,
                           bool (*progress)(void *ctx, int64_t done, int64_t total), void *ctx,
                           hn_pair_error *errors, hn_error *err);

/* A weight of A's step, and what B has in its place. */
typedef struct hn_weight_error {
    int pair;
    const hn_node *node; /* of A */
    const hn_value *weight;
    hn_distance distance;
} hn_weight_error;
/* In the arena, in the order of the pairs. Weights that were turned, merged or scaled (SmoothQuant)
 * have no partner and are left out. */
hone_status hn_weight_errors(const hn_pairs *p, hn_arena *arena, hn_weight_error **out, int *n,
                             hn_error *err);

#endif
