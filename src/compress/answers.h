/* What a model answers on some samples, to compare copies of it with that were changed. */
#ifndef HN_COMPRESS_ANSWERS_H
#define HN_COMPRESS_ANSWERS_H

#include "compress/transform.h"
#include "measure/distance.h"

typedef struct hn_answers {
    int n_batches, n_outputs;
    hn_samples *batches;
    hn_tensor **v; /* [n_batches, n_outputs] */
} hn_answers;

/* Of c->model, on at most so many of the samples of c->feed, spread evenly. Lists are in the arena.
 * a is to be deinited, whatever came of it. */
hone_status hn_answers_ask(hn_answers *a, int64_t most, const hn_transform_ctx *c, hn_arena *arena,
                           hn_error *err);
void hn_answers_deinit(hn_answers *a); /* all zero accepted */

/* How far the outputs of m on the same samples are from these. */
hone_status hn_answers_compare(const hn_answers *a, const hn_model *m, const hn_transform_ctx *c,
                               hn_distance *d, hn_error *err);
/* Noise by signal; what is broken is more than anything. */
double hn_answers_noise(const hn_distance *d);

#endif
