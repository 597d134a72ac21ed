/* Seeded random numbers, the same on every machine (xoshiro256** seeded by splitmix64; no libm in
 * the uniform paths). */
#ifndef HN_BASE_RNG_H
#define HN_BASE_RNG_H

#include <stdint.h>

typedef struct hn_rng {
    uint64_t s[4];
} hn_rng;

void hn_rng_init(hn_rng *rng, uint64_t seed);
uint64_t hn_rng_u64(hn_rng *rng);
void hn_rng_u64_n(hn_rng *rng, uint64_t *words, int64_t n); /* the next n, faster */
uint64_t hn_rng_below(hn_rng *rng, uint64_t n);             /* uniform in [0, n), unbiased; n > 0 */
double hn_rng_f64(hn_rng *rng);                             /* uniform in [0, 1), 53 bits */
double hn_rng_normal(hn_rng *rng);                          /* N(0, 1) */

#endif
