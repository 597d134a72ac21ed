#include "measure/distance.h"

#include <math.h>

#define CHUNK 512

static void add(hn_distance *d, double a, double b) {
    bool finite = isfinite(a) && isfinite(b);
    if (!finite) {
        d->broken |= !(a == b || (isnan(a) && isnan(b)));
        return;
    }
    double off = fabs(a - b);
    d->wanted += a * a;
    d->found += b * b;
    d->product += a * b;
    d->noise += off * off;
    d->sum += off;
    d->max = fmax(d->max, off);
    d->largest = fmax(d->largest, fabs(a));
}

void hn_distance_add(hn_distance *d, const hn_tensor *a, const hn_tensor *b) {
    double x[CHUNK], y[CHUNK];
    assert(a->n == b->n);
    for (int64_t at = 0; at < a->n; at += CHUNK) {
        int64_t n = a->n - at < CHUNK ? a->n - at : CHUNK;
        hn_load_f64_n(a->dtype, a->data, at, n, x);
        hn_load_f64_n(b->dtype, b->data, at, n, y);
        for (int64_t i = 0; i < n; i++) add(d, x[i], y[i]);
    }
    d->n += a->n;
}

double hn_distance_sqnr(const hn_distance *d) {
    if (d->broken) return -INFINITY;
    if (d->noise == 0) return INFINITY;
    return d->wanted > 0 ? 10 * log10(d->wanted / d->noise) : -INFINITY;
}

double hn_distance_cosine(const hn_distance *d) {
    if (d->broken || d->wanted == 0 || d->found == 0) return NAN;
    return d->noise == 0 ? 1 : d->product / (sqrt(d->wanted) * sqrt(d->found));
}

static double share(const hn_distance *d, double x) {
    if (d->broken) return INFINITY;
    return d->largest > 0 ? x / d->largest : x; /* A is all zero: the distance itself */
}

double hn_distance_max(const hn_distance *d) { return share(d, d->max); }

double hn_distance_mean(const hn_distance *d) {
    return d->n > 0 ? share(d, d->sum / (double)d->n) : 0;
}
