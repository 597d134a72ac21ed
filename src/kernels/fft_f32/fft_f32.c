#include "kernels/fft_f32/fft_f32.h"

#include <math.h>

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/fft_f32/fft_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/fft_f32/fft_f32.def"
#undef HN_KERNEL
};

const hn_family hn_fft_f32_family = {
    .name = "fft_f32",
    .help = "discrete Fourier transforms along one axis",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
};

/* ---- stages ---- */

static void add_stage(hn_fft_plan *p, int64_t *left, int radix) {
    p->radix[p->n_stages++] = radix;
    *left /= radix;
}

hn_fft_plan hn_fft_f32_plan(int64_t n) {
    hn_fft_plan p = {.length = n};
    int64_t left = n;
    while (left % 4 == 0) add_stage(&p, &left, 4);
    for (int radix = 2; radix <= HN_FFT_RADIX; radix++)
        while (left % radix == 0) add_stage(&p, &left, radix);
    if (left == 1) return p;
    p = (hn_fft_plan){.length = 1, .chirp = true};
    while (p.length < 2 * n - 1) p.length *= 2;
    for (left = p.length; left % 4 == 0;) add_stage(&p, &left, 4);
    if (left == 2) add_stage(&p, &left, 2);
    return p;
}

int64_t hn_fft_f32_table(int64_t n) {
    hn_fft_plan p = hn_fft_f32_plan(n);
    int64_t floats = 1 + (p.chirp ? 2 * (n + p.length) : 0), left = p.length;
    for (int i = 0; i < p.n_stages; i++) {
        left /= p.radix[i];
        floats += 2 * left * (p.radix[i] - 1) + (p.radix[i] > 5 ? 2 * p.radix[i] : 0);
    }
    return floats;
}

int64_t hn_fft_f32_workspace(int64_t n) {
    hn_fft_plan p = hn_fft_f32_plan(n);
    return p.chirp ? 4 * p.length : 0;
}

/* ---- the table ---- */

/* exp(-2 pi j k / n), 0 <= k < n. */
static void root(int64_t k, int64_t n, double *re, double *im) {
    double angle = -2 * M_PI * (double)k / (double)n;
    *re = cos(angle), *im = sin(angle);
}

static float *put_root(float *to, int64_t k, int64_t n) {
    double re, im;
    root(k, n, &re, &im);
    to[0] = (float)re, to[1] = (float)im;
    return to + 2;
}

/* The transform of x [n][2], n a power of two, by stages of radix 2 from x to y and back; the
 * result is in either. */
static double *transform(double *x, double *y, int64_t n) {
    for (int64_t left = n, done = 1; left > 1; left /= 2, done *= 2) {
        int64_t half = left / 2;
        for (int64_t p = 0; p < half; p++) {
            double re, im;
            root(p, left, &re, &im);
            for (int64_t q = 0; q < done; q++) {
                const double *a = x + 2 * (q + done * p), *b = x + 2 * (q + done * (p + half));
                double *s = y + 2 * (q + done * 2 * p), *d = y + 2 * (q + done * (2 * p + 1));
                double dr = a[0] - b[0], di = a[1] - b[1];
                s[0] = a[0] + b[0], s[1] = a[1] + b[1];
                d[0] = dr * re - di * im, d[1] = dr * im + di * re;
            }
        }
        double *swap = x;
        x = y, y = swap;
    }
    return x;
}

static void fill_chirp(int64_t n, int64_t length, float *table, double *workspace) {
    double *x = workspace;
    for (int64_t i = 0; i < 2 * length; i++) x[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        double re, im;
        root(i * i % (2 * n), 2 * n, &re, &im);
        table[2 * i] = (float)re, table[2 * i + 1] = (float)im;
        x[2 * i] = re, x[2 * i + 1] = -im;
        if (i > 0) x[2 * (length - i)] = re, x[2 * (length - i) + 1] = -im;
    }
    x = transform(x, x + 2 * length, length);
    for (int64_t i = 0; i < 2 * length; i++) table[2 * n + i] = (float)(x[i] / (double)length);
}

void hn_fft_f32_fill(int64_t n, float scale, float *table, double *workspace) {
    hn_fft_plan p = hn_fft_f32_plan(n);
    *table++ = scale;
    int64_t left = p.length;
    for (int i = 0; i < p.n_stages; i++) {
        int radix = p.radix[i];
        int64_t whole = left;
        left /= radix;
        for (int k = 0; radix > 5 && k < radix; k++) table = put_root(table, k, radix);
        for (int64_t m = 0; m < left; m++)
            for (int k = 1; k < radix; k++) table = put_root(table, m * k, whole);
    }
    if (p.chirp) fill_chirp(n, p.length, table, workspace);
}
