/* What the errors of pairs and weights come to: a list, worst first, and one line that says where
 * it breaks. */
#ifndef HN_MEASURE_BREAKS_H
#define HN_MEASURE_BREAKS_H

#include "measure/pair_errors.h"

/* Fills in tensors, the counts of values, breaks_at and verdict; texts and lists lie in the arena
 * or in the models. errors: one per pair. */
hone_status hn_breaks(const hn_pairs *p, const hn_pair_error *errors,
                      const hn_weight_error *weights, int n_weights, hn_arena *arena,
                      hone_comparison *c, hn_error *err);

#endif
