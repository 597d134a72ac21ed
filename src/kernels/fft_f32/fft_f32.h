/* fft_f32: discrete Fourier transforms along one axis, of any length n.
 *
 *   y[t][k] = scale * sum over i < n of x[t][i] * window[i] * exp(-+ 2 pi j k i / n)    k < bins
 *
 * The exponent's sign is + if `inverse`. Samples from `given` on are 0; with `mirrored`, x is the
 * first half of a spectrum, n / 2 + 1 entries, of which those from `given` on are 0: entry i >= n /
 * 2 + 1 is then the conjugate of entry n - i, and the imaginary parts of entry 0 and, for an even
 * n, of entry n / 2 count as 0.
 *
 * Transforms are numbered by two axes. Numbers are complex, real part first and the imaginary part
 * next to it, or real, as x_complex and y_complex say; the imaginary part of a real output is
 * dropped. Strides are in floats. y overlaps nothing.
 *
 * The operand `table` holds the scale and what else depends on n alone: hn_fft_f32_fill computes
 * it. There is at least one transform, and n is 1 or more.
 *
 * Error: 2e-7 * log2(n) of the largest output of a transform; twice that for lengths that have a
 * prime factor above HN_FFT_RADIX.
 */
#ifndef HN_KERNELS_FFT_F32_H
#define HN_KERNELS_FFT_F32_H

#include "kernels/kernel.h"

enum {
    HN_FFT_RADIX = 31,        /* the largest prime factor that is a stage of its own */
    HN_FFT_STAGES = 40,       /* the most there are */
    HN_FFT_LONGEST = 1 << 24, /* the longest transform */
};

typedef struct hn_fft_f32 {
    int64_t n, given, bins;
    int64_t count[2], x_count[2], y_count[2]; /* the axes of transforms, and their strides */
    int64_t x_sample, y_bin;
    bool x_complex, y_complex, inverse, mirrored;
} hn_fft_f32;

/* Operands. */
enum {
    HN_FFT_X,
    HN_FFT_WINDOW, /* [n], may be absent: all ones */
    HN_FFT_TABLE,
    HN_FFT_Y,
    HN_FFT_OPERANDS_
};

/* How a transform of length n is computed: by stages, each dividing the length that is left by its
 * radix. Where n has a large prime factor, as a convolution with a chirp (Bluestein): the stages
 * are then those of a longer transform, a power of two.
 *
 * The table begins with the scale. Then it holds for each stage, with m what is left of the length
 * after it:
 *
 *   roots [radix][2]             exp(-2 pi j k / radix), only of radices above 5
 *   turns [m][radix - 1][2]      exp(-2 pi j p k / (radix * m)), k from 1 on
 *
 * and behind those of all stages, for a chirp:
 *
 *   chirp [n][2]                 exp(-pi j i^2 / n)
 *   filter [length][2]           the transform of its conjugate, continued periodically, / length
 */
typedef struct hn_fft_plan {
    int64_t length;
    int n_stages;
    bool chirp;
    int radix[HN_FFT_STAGES];
} hn_fft_plan;

/* 1 <= n <= HN_FFT_LONGEST. */
hn_fft_plan hn_fft_f32_plan(int64_t n);
/* Floats of the table, and doubles that hn_fft_f32_fill needs to work in. */
int64_t hn_fft_f32_table(int64_t n);
int64_t hn_fft_f32_workspace(int64_t n);
void hn_fft_f32_fill(int64_t n, float scale, float *table, double *workspace);

extern const hn_family hn_fft_f32_family;

#endif
