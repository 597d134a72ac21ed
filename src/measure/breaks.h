/* What the errors of pairs and weights come to: a list, worst first, and one line that says where
 * it breaks. */
#ifndef HN_MEASURE_BREAKS_H
#define HN_MEASURE_BREAKS_H

#include "measure/pair_errors.h"

/* Measures the pairs as hn_pair_errors does, and their weights. Fills in tensors, the counts of
 * values, breaks_at and verdict; texts and lists lie in the arena or in the models. */
hone_status hn_breaks(const hn_pairs *p, const hn_run_options how[2],
                      const hn_sample_source *samples,
                      bool (*progress)(void *ctx, int64_t done, int64_t total), void *ctx,
                      hn_arena *arena, hone_comparison *c, hn_error *err);

#endif
