/* How far the outputs of two models are apart over many runs: the error of each, and how alike they
 * are in what they are used for (likeness.h). */
#ifndef HN_MEASURE_OUTPUT_ERRORS_H
#define HN_MEASURE_OUTPUT_ERRORS_H

#include "measure/distance.h"
#include "measure/likeness.h"

/* What a run was given and what came of it. Lists are as long as the first model's graph has inputs
 * (NULL: it has a default) and outputs. */
typedef struct hn_output_run {
    const hn_tensor **in, **out[2];
} hn_output_run;

typedef struct hn_output_runs {
    const hn_graph *graph; /* of the first model, whose outputs the second has too */
    int64_t samples, batch;
    /* Runs both models on one batch and points to its values. They stay until the next call. */
    hone_status (*run)(void *ctx, int64_t run, hn_output_run *values, hn_error *err);
    void *ctx;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* may be NULL */
    void *progress_ctx;
    int64_t total; /* for `progress`, which what follows may use too */
} hn_output_runs;

/* Fills in the outputs, the samples and the agreement; texts and lists lie in the arena or in the
 * graph. */
hone_status hn_output_errors(const hn_output_runs *runs, hn_allocator *alloc, hn_arena *arena,
                             hone_comparison *c, hn_error *err);

#endif
