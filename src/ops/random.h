/* Random numbers many at a time, in loops that compilers make vectors of. */
#ifndef HN_OPS_RANDOM_H
#define HN_OPS_RANDOM_H

#include "base/rng.h"

#define HN_RANDOM_BLOCK 512
/* HN_RANDOM_BLOCK numbers of N(0, 1): not those of hn_rng_normal, but the same on every machine. */
void hn_random_normals(hn_rng *rng, double *v);
/* The next n, at most HN_RANDOM_BLOCK, numbers of hn_rng_f64. */
void hn_random_uniforms(hn_rng *rng, double *u, int64_t n);

#endif
