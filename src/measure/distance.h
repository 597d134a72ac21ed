/* How far numbers are from those they should be, summed over tensors as they come. */
#ifndef HN_MEASURE_DISTANCE_H
#define HN_MEASURE_DISTANCE_H

#include "ir/tensor.h"

typedef struct hn_distance {
    double wanted, found, product, noise; /* sums of a*a, b*b, a*b, (a-b)*(a-b) */
    double sum, max;                      /* of |a-b| */
    double largest;                       /* |a| */
    int64_t n;
    bool broken; /* something is not finite on one side only */
} hn_distance;

/* b from a, tensors of numbers with as many elements each. */
void hn_distance_add(hn_distance *d, const hn_tensor *a, const hn_tensor *b);
double hn_distance_sqnr(const hn_distance *d);   /* dB; infinite: equal; minus infinite: broken */
double hn_distance_cosine(const hn_distance *d); /* NaN: one side is all zero */
double hn_distance_max(const hn_distance *d);    /* as a share of the largest |a| */
double hn_distance_mean(const hn_distance *d);

#endif
