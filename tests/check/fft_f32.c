/* Cases of fft_f32: every radix and their products, lengths with large prime factors, real and
 * complex numbers, halves of spectra, windows, signals that are cut or filled up, and numbers of
 * transforms around every vector length. */
#include "kernels/fft_f32/fft_f32.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum {
    REAL = 1, /* input */
    HALF = 2, /* only the first half of the spectrum, given or computed */
    INVERSE = 4,
    WINDOW = 8,
    COLUMNS = 16, /* transforms lie next to each other */
    SHORT = 32,   /* the signal is shorter than the transform */
    BENCH = 64,
};

static void add(check_list *list, int64_t n, int64_t outer, int64_t inner, int flags) {
    bool mirrored = (flags & (HALF | INVERSE)) == (HALF | INVERSE);
    hn_fft_f32 p = {.n = n,
                    .given = mirrored ? n / 2 + 1 : n,
                    .bins = flags & HALF && !mirrored ? n / 2 + 1 : n,
                    .count = {outer, inner},
                    .x_complex = !(flags & REAL),
                    .y_complex = !mirrored,
                    .inverse = (flags & INVERSE) != 0,
                    .mirrored = mirrored};
    if (flags & SHORT) p.given = (p.given + 1) / 2;
    int64_t x = p.x_complex ? 2 : 1, y = p.y_complex ? 2 : 1;
    if (flags & COLUMNS) { /* [outer][sample][inner] */
        p.x_sample = inner * x, p.y_bin = inner * y;
        p.x_count[0] = p.given * p.x_sample, p.x_count[1] = x;
        p.y_count[0] = p.bins * p.y_bin, p.y_count[1] = y;
    } else {
        int64_t gap = n % 2;
        p.x_sample = x + gap, p.y_bin = y + gap;
        p.x_count[0] = inner * p.given * p.x_sample, p.x_count[1] = p.given * p.x_sample;
        p.y_count[0] = inner * p.bins * p.y_bin, p.y_count[1] = p.bins * p.y_bin;
    }
    check_case *c = check_add(list, "%lldx%lldx%lld_%d", (long long)outer, (long long)inner,
                              (long long)n, flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_F32, outer * p.x_count[0]);
    check_operand_add(c, flags & WINDOW ? CHECK_IN : CHECK_ABSENT, CHECK_F32, n);
    check_operand_add(c, CHECK_IN, CHECK_F32, hn_fft_f32_table(n));
    check_operand_add(c, CHECK_OUT, CHECK_F32, outer * p.y_count[0]);
    c->only_random = true; /* an infinity is everywhere in a sum, but not in each of its parts */
    c->bench = (flags & BENCH) != 0;
    c->flops = 5 * (double)(outer * inner * n) * __builtin_log2((double)n);
}

static void cases(check_list *list) {
    static const int ways[] = {0,
                               REAL,
                               REAL | HALF,
                               INVERSE,
                               HALF | INVERSE,
                               REAL | INVERSE,
                               WINDOW | REAL,
                               SHORT,
                               COLUMNS,
                               COLUMNS | REAL | HALF,
                               COLUMNS | SHORT | HALF | INVERSE};
    enum { WAYS = sizeof ways / sizeof *ways };
    static const int64_t others[] = {64, 67, 74, 93, 100, 101, 128, 150, 155, 217};
    for (int64_t n = 1; n <= 40; n++)
        for (int w = 0; w < 3; w++)
            add(list, n, 1 + n % 3, 1 + n * 7 % 19, ways[(n + 4 * w) % WAYS]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int w = 0; w < WAYS; w++) add(list, others[i], 1, w % 2 == 1 ? 17 : w + 1, ways[w]);
    add(list, 400, 1, 20, REAL | HALF | WINDOW);
    add(list, 512, 1, 100, REAL | HALF | WINDOW | BENCH);
    add(list, 400, 1, 100, REAL | HALF | WINDOW | BENCH);
    add(list, 1 << 16, 1, 1, BENCH);
    add(list, 1021, 1, 16, BENCH);
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    (void)kind;
    if (operand != HN_FFT_TABLE) return false;
    hn_fft_f32 p;
    memcpy(&p, c->problem, sizeof p);
    double *workspace = malloc((size_t)hn_fft_f32_workspace(p.n) * sizeof *workspace + 1);
    if (workspace != NULL) hn_fft_f32_fill(p.n, 0.5f + (float)hn_rng_f64(rng), data, workspace);
    free(workspace);
    return workspace != NULL;
}

/* Errors are relative to the largest bin. */
static double whole(const hn_kernel *k) {
    (void)k;
    return 3e-6;
}

const check_family check_fft_f32 = {
    .family = &hn_fft_f32_family, .cases = cases, .fill = fill, .whole = whole};
