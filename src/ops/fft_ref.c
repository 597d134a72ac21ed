#include "ops/fft_ref.h"

#include <math.h>

hone_status hn_fft_init(hn_fft *f, hn_eval *e, int64_t n, bool inverse, hn_error *err) {
    hn_complex *roots = hn_scratch(e, n, sizeof *roots);
    if (roots == NULL) return HN_NOMEM(err);
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * M_PI * (double)k / (double)n;
        roots[k] = (hn_complex){cos(angle), inverse ? sin(angle) : -sin(angle)};
    }
    *f = (hn_fft){.n = n, .inverse = inverse, .roots = roots};
    return HONE_OK;
}

static int64_t smallest_factor(int64_t n) {
    for (int64_t p = 2; p <= n / p; p++)
        if (n % p == 0) return p;
    return n;
}

/* The transform of the n numbers x[0], x[stride] ...: n is a divisor of f->n, and the recursion as
 * deep as that has prime factors. With part r [m] the transform of the numbers r mod p,
 *     y[k] = sum over r of root^(k r) * part r [k mod m].  */
static void transform(const hn_fft *f, const hn_complex *x, int64_t stride, int64_t n,
                      hn_complex *y, hn_complex *tmp) {
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    int64_t p = smallest_factor(n), m = n / p, step = f->n / n;
    for (int64_t r = 0; r < p; r++)
        transform(f, x + r * stride, stride * p, m, tmp + r * m, y + r * m);
    for (int64_t k = 0; k < n; k++) {
        hn_complex sum = {0, 0};
        /* k r mod n, without the product. */
        for (int64_t r = 0, power = 0; r < p; r++) {
            hn_complex a = tmp[r * m + k % m], w = f->roots[power * step];
            sum.re += a.re * w.re - a.im * w.im;
            sum.im += a.re * w.im + a.im * w.re;
            power = power < n - k ? power + k : power - (n - k);
        }
        y[k] = sum;
    }
}

void hn_fft_run(const hn_fft *f, const hn_complex *x, hn_complex *y, hn_complex *tmp) {
    transform(f, x, 1, f->n, y, tmp);
    for (int64_t k = 0; f->inverse && k < f->n; k++) {
        y[k].re /= (double)f->n;
        y[k].im /= (double)f->n;
    }
}
