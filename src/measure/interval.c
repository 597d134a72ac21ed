#include "measure/interval.h"

#include <math.h>
#include <stdlib.h>

#define Z 1.959963984540054 /* 97.5 % of the normal distribution lie below */

hn_interval hn_interval_share(int64_t part, int64_t whole) {
    if (whole <= 0) return (hn_interval){NAN, NAN};
    double n = (double)whole, p = (double)part / n, z2 = Z * Z;
    double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = Z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
    /* Rounding must not put the ends on the wrong side. */
    return (hn_interval){part == 0 ? 0 : middle - half, part == whole ? 1 : middle + half};
}

void hn_ratio_add(hn_ratio *r, double part, double weight) {
    r->n++;
    r->part += part;
    r->weight += weight;
    r->part2 += part * part;
    r->cross += part * weight;
    r->weight2 += weight * weight;
}

double hn_ratio_value(const hn_ratio *r) { return r->weight > 0 ? r->part / r->weight : NAN; }

hn_interval hn_ratio_interval(const hn_ratio *r) {
    double mean = hn_ratio_value(r), n = (double)r->n;
    if (r->n < 2 || isnan(mean)) return (hn_interval){NAN, NAN};
    /* The sum of (part - mean weight)^2, which rounding may leave below 0. */
    double off = r->part2 - 2 * mean * r->cross + mean * mean * r->weight2;
    double half = Z * sqrt(fmax(off, 0) * n / (n - 1)) / r->weight;
    return (hn_interval){mean - half, mean + half};
}

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

int hn_bootstrap_times(uint64_t seed, int64_t sample, int replicate) {
    /* Shares of 2^32 for at most 0, 1, 2, ... times: sums of e^-1 / k!. */
    static const uint32_t upto[] = {1580030169, 3160060337, 3950075422, 4213413783,
                                    4279248374, 4292415292, 4294609778, 4294923276};
    uint64_t key = mix(seed + 0x9e3779b97f4a7c15u * ((uint64_t)sample + 1));
    uint32_t u = (uint32_t)(mix(key + (uint64_t)replicate) >> 32);
    int k = 0;
    while (k < (int)(sizeof upto / sizeof *upto) && u >= upto[k]) k++;
    return k;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

hn_interval hn_bootstrap_interval(double values[HN_REPLICATES]) {
    int n = 0;
    for (int i = 0; i < HN_REPLICATES; i++)
        if (!isnan(values[i])) values[n++] = values[i];
    if (n < 2) return (hn_interval){NAN, NAN};
    qsort(values, (size_t)n, sizeof *values, by_value);
    /* Samples that are all alike show no spread, but that does not mean there is none. */
    if (values[0] == values[n - 1]) return (hn_interval){NAN, NAN};
    int tail = n / 40; /* 2.5 % */
    return (hn_interval){values[tail], values[n - 1 - tail]};
}
