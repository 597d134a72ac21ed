/* The definition of fft_f32: the sum, in double, one output at a time. A task is a transform. */
#include <math.h>

#include "kernels/fft_f32/fft_f32.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_fft_f32 *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->count[0] * p->count[1]}};
}

/* Sample i of the transform at x. */
static void sample(const hn_fft_f32 *p, const float *x, const float *window, int64_t i, double *re,
                   double *im) {
    bool other = p->mirrored && i > p->n / 2;
    int64_t at = other ? p->n - i : i;
    double weight = window != NULL ? (double)window[i] : 1;
    *re = *im = 0;
    if (at >= p->given) return;
    *re = weight * (double)x[at * p->x_sample];
    if (p->x_complex) *im = weight * (double)x[at * p->x_sample + 1];
    if (other) *im = -*im;
    if (p->mirrored && (at == 0 || 2 * at == p->n)) *im = 0;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_fft_f32 *p = call->problem;
    double scale = (double)*(const float *)call->ptr[HN_FFT_TABLE];
    for (int64_t t = begin; t < end; t++) {
        int64_t a = t / p->count[1], b = t % p->count[1];
        const float *x = (const float *)call->ptr[HN_FFT_X] + a * p->x_count[0] + b * p->x_count[1];
        float *y = (float *)call->ptr[HN_FFT_Y] + a * p->y_count[0] + b * p->y_count[1];
        for (int64_t k = 0; k < p->bins; k++) {
            double re = 0, im = 0;
            for (int64_t i = 0; i < p->n; i++) {
                double u, v;
                sample(p, x, call->ptr[HN_FFT_WINDOW], i, &u, &v);
                double angle = (p->inverse ? 2 : -2) * M_PI * (double)(k * i % p->n) / (double)p->n;
                re += u * cos(angle) - v * sin(angle);
                im += u * sin(angle) + v * cos(angle);
            }
            y[k * p->y_bin] = (float)(re * scale);
            if (p->y_complex) y[k * p->y_bin + 1] = (float)(im * scale);
        }
    }
}

const hn_kernel hn_fft_f32_ref = {.name = "ref", .order = "double", .work = work, .run = run};
