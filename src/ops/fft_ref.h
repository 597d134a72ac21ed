/* The discrete Fourier transform of n complex numbers, any n:
 *
 *     y[k] = sum over i of x[i] * exp(-2 pi j k i / n)        inverse: exp(+ ...) / n
 *
 * By the prime factors of n: the parts x[i], i = r mod p, are transformed and joined, which costs
 * n * (sum of the prime factors). The powers of the root are computed one by one, not by repeated
 * multiplication, so the error stays near that of the sums. */
#ifndef HN_OPS_FFT_REF_H
#define HN_OPS_FFT_REF_H

#include "ops/op.h"

typedef struct hn_complex {
    double re, im;
} hn_complex;

typedef struct hn_fft {
    int64_t n;
    bool inverse;
    const hn_complex *roots; /* [n] exp(-+ 2 pi j k / n) */
} hn_fft;

/* The table of roots is in scratch. n >= 1. */
hone_status hn_fft_init(hn_fft *f, hn_eval *e, int64_t n, bool inverse, hn_error *err);
/* x[n] to y[n]. tmp has room for n. None overlap. */
void hn_fft_run(const hn_fft *f, const hn_complex *x, hn_complex *y, hn_complex *tmp);

#endif
