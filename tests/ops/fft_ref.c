/* Transforms of every length up to 64 and some larger ones against the defining sum. */
#include "ops/fft_ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MOST 1024

static void check(hn_eval *e, int64_t n, bool inverse) {
    static hn_complex x[MOST], y[MOST], tmp[MOST];
    hn_fft f;
    hn_rng rng;
    hn_rng_init(&rng, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) x[i] = (hn_complex){hn_rng_f64(&rng) - 0.5, hn_rng_f64(&rng)};
    assert_int_equal(hn_fft_init(&f, e, n, inverse, NULL), HONE_OK);
    hn_fft_run(&f, x, y, tmp);
    for (int64_t k = 0; k < n; k++) {
        hn_complex sum = {0, 0};
        for (int64_t i = 0; i < n; i++) {
            double angle = (inverse ? 2 : -2) * M_PI * (double)(k * i % n) / (double)n;
            sum.re += x[i].re * cos(angle) - x[i].im * sin(angle);
            sum.im += x[i].re * sin(angle) + x[i].im * cos(angle);
        }
        double scale = inverse ? (double)n : 1;
        assert_true(fabs(y[k].re - sum.re / scale) < 1e-12);
        assert_true(fabs(y[k].im - sum.im / scale) < 1e-12);
    }
}

static void every_length(void **state) {
    (void)state;
    hn_arena scratch;
    hn_arena_init(&scratch, hn_allocator_default(), HN_MEM_SCRATCH);
    hn_eval e = {.scratch = &scratch};
    for (int64_t n = 1; n <= 64; n++) {
        check(&e, n, false);
        check(&e, n, true);
    }
    const int64_t large[] = {243, 343, 397, 512, 720, 1001, 1024};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) check(&e, large[i], i % 2 == 0);
    hn_arena_deinit(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_length)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
