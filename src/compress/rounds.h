/* Pruning in rounds: a line `prune` that asks for several, and the line `train` behind it, as the
 * lines that they stand for.
 *
 *     prune sparsity=0.9 rounds=3 ramp=cubic        prune sparsity=0.633
 *     train epochs=2                                train epochs=2
 *                                                   prune sparsity=0.867
 *                                                   train epochs=2
 *                                                   prune sparsity=0.9
 *                                                   train epochs=2
 *
 * After round i of n, with t = i / n, so much is gone of a share s:
 *
 *     linear   s * t
 *     cubic    s * (1 - (1 - t)^3)      much while there is much to spare (Zhu and Gupta 2017)
 *     share    1 - (1 - s)^t            the same share of what is left in each round
 *
 * ticket=K looks for a lottery ticket (Frankle and Carbin 2019): the model is trained first, its
 * weights after step K are remembered, and what each round leaves goes back to them.
 *
 *     prune sparsity=0.5 rounds=2 ramp=share ticket=0      train epochs=2 keep=0
 *     train epochs=2                                       prune sparsity=0.292893
 *                                                          rewind
 *                                                          train epochs=2
 *                                                          prune sparsity=0.5
 *                                                          rewind
 *                                                          train epochs=2
 */
#ifndef HN_COMPRESS_ROUNDS_H
#define HN_COMPRESS_ROUNDS_H

#include "compress/recipe.h"

/* The ramps by their names; NULL: there are no more. */
const char *hn_ramp_word(int i);
/* What is gone of `sparsity` after round i of n. */
double hn_ramp_at(const char *ramp, double sparsity, int64_t i, int64_t n);
/* HONE_E_ARG: no training stands behind such a line, or there are too many rounds. */
hone_status hn_rounds_expand(hn_recipe *r, hn_error *err);

#endif
