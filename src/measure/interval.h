/* Intervals that hold the true value with 95 % confidence, were the samples drawn at random. */
#ifndef HN_MEASURE_INTERVAL_H
#define HN_MEASURE_INTERVAL_H

#include <stdint.h>

typedef struct hn_interval {
    double low, high;
} hn_interval;

/* Of a share, part of whole, by Wilson: right for few samples and for shares near 0 and 1 too. */
hn_interval hn_interval_share(int64_t part, int64_t whole);

/* A mean, or the quotient of two sums: each sample brings a part and its weight, its elements or
 * tokens. The interval is by normal approximation (for the quotient linearised), NaN for fewer than
 * two samples. */
typedef struct hn_ratio {
    int64_t n;
    double part, weight;
    double part2, cross, weight2; /* sums of part^2, part weight, weight^2 */
} hn_ratio;
void hn_ratio_add(hn_ratio *r, double part, double weight);
double hn_ratio_value(const hn_ratio *r); /* NaN without weight */
hn_interval hn_ratio_interval(const hn_ratio *r);

/* Where no formula serves: the bootstrap. Every replicate counts each sample a random number of
 * times, Poisson distributed with mean 1, which depends on the seed, the sample and the replicate
 * alone. */
#define HN_REPLICATES 400
int hn_bootstrap_times(uint64_t seed, int64_t sample, int replicate);
/* Of the values of all replicates, which are sorted; NaNs are left out. NaN if they do not differ.
 */
hn_interval hn_bootstrap_interval(double values[HN_REPLICATES]);

#endif
