/* Ranges of known distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/histogram.h"
#include "support/scratch.h"

enum { N = 200000 };

static const hn_qtype u8 = {.dtype = HONE_DTYPE_U8, .bits = 8},
                      s8 = {.dtype = HONE_DTYPE_S8, .bits = 8, .symmetric = true},
                      s4 = {.dtype = HONE_DTYPE_S8, .bits = 4, .symmetric = true},
                      u4 = {.dtype = HONE_DTYPE_U8, .bits = 4},
                      u16 = {.dtype = HONE_DTYPE_U16, .bits = 16};

static float *normal(double mean, double deviation) {
    float *x = hn_alloc_array(&scratch_mem, N, sizeof *x, HN_MEM_OTHER);
    hn_rng rng;
    assert_non_null(x);
    hn_rng_init(&rng, 11);
    for (int i = 0; i < N; i++) x[i] = (float)(mean + deviation * hn_rng_normal(&rng));
    return x;
}

static hn_histogram count(const float *x) {
    static hn_histogram h;
    hn_histogram_lanes lanes;
    hn_error err;
    h = (hn_histogram){0};
    assert_int_equal(hn_histogram_lanes_init(&lanes, NULL, &scratch_mem, &err), HONE_OK);
    hn_histogram_add(&h, x, N, hn_extremes_of(x, N, NULL), &lanes);
    hn_histogram_lanes_deinit(&lanes);
    return h;
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double error_of(const float *x, const hn_qtype *t, hn_range r) {
    hn_grid_point p = hn_grid_of_range(t, r);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double d = (double)x[i] - (double)hn_grid_value(p, hn_grid_code(t, p, (double)x[i]));
        sum += d * d;
    }
    return sum / N;
}

#define NEAR(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

static void percentiles_are_those_of_the_sorted_values(void **state) {
    (void)state;
    static const double percents[] = {90, 99, 99.9, 99.99};
    float *x = normal(0.3, 1);
    hn_histogram h = count(x);
    double width = ldexp(1, h.exponent);
    qsort(x, N, sizeof *x, ascending);
    for (int k = 0; k < 4; k++) {
        int out = (int)lrint(N * (1 - percents[k] / 100) / 2);
        hn_range r = hn_histogram_percentile(&h, &u8, percents[k]);
        NEAR(r.min, x[out], width);
        NEAR(r.max, x[N - 1 - out], width);
    }
    for (int i = 0; i < N; i++) x[i] = fabsf(x[i]);
    qsort(x, N, sizeof *x, ascending);
    hn_histogram folded = count(x);
    for (int k = 0; k < 4; k++) {
        int in = (int)lrint(N * percents[k] / 100) - 1;
        hn_range r = hn_histogram_percentile(&h, &s8, percents[k]);
        NEAR(r.max, fmin(x[in], h.greatest), width);
        NEAR(r.min, fmax(-x[in], h.least), width);
        /* Nothing is below 0: all that is left out is above. */
        r = hn_histogram_percentile(&folded, &u8, percents[k]);
        NEAR(r.max, x[in], width);
        assert_true(r.min == 0);
    }
    hn_range all = hn_histogram_percentile(&h, &u8, 100);
    assert_true(all.min == (double)h.least && all.max == (double)h.greatest);
    hn_free(&scratch_mem, x);
}

/* Half of what a Relu gives is 0, which every grid has: the range is that of the rest. */
static void zeros_do_not_count(void **state) {
    (void)state;
    float *x = normal(0, 1);
    for (int i = 0; i < N; i++) x[i] = fabsf(x[i]) + 0.01f;
    hn_histogram all = count(x);
    for (int i = 0; i < N; i++)
        if (i % 100 != 0) x[i] = 0;
    hn_histogram few = count(x);
    hn_range a = hn_histogram_percentile(&all, &u8, 99), b = hn_histogram_percentile(&few, &u8, 99);
    NEAR(a.max, b.max, 0.15);
    a = hn_histogram_entropy(&few, &u8);
    assert_true(a.max > 2 && a.min == 0);
    a = hn_histogram_mse(&few, &u8);
    assert_true(a.max > 2 && a.min == 0);
    hn_free(&scratch_mem, x);
}

static void an_outlier_is_clipped(void **state) {
    (void)state;
    float *x = normal(0, 1);
    x[N / 2] = 25;
    hn_histogram h = count(x);
    const hn_qtype *const types[] = {&u8, &s8, &u4, &s4};
    for (int k = 0; k < 4; k++) {
        hn_range e = hn_histogram_entropy(&h, types[k]), m = hn_histogram_mse(&h, types[k]);
        assert_true(e.max > 2.5 && e.max < 8 && e.min < -2.5 && e.min >= -8);
        /* With 8 bits, one value off by 20 harms the squares more than steps twice as wide. */
        if (types[k]->bits == 4) assert_true(m.max < 4 && m.min > -4);
        hn_range p = hn_histogram_percentile(&h, types[k], 99.99);
        assert_true(p.max < 5 && p.min > -5);
    }
    hn_free(&scratch_mem, x);
}

/* Without outliers there is little to gain from clipping. */
static void what_is_spread_evenly_is_not_clipped(void **state) {
    (void)state;
    float *x = normal(0, 1);
    for (int i = 0; i < N; i++) x[i] = (float)(i * 3.0 / (N - 1)) - 1;
    hn_histogram h = count(x);
    hn_range e = hn_histogram_entropy(&h, &u8), m = hn_histogram_mse(&h, &u8);
    NEAR(e.min, -1, 0.03);
    NEAR(e.max, 2, 0.03);
    NEAR(m.min, -1, 0.03);
    NEAR(m.max, 2, 0.03);
    hn_free(&scratch_mem, x);
}

/* Whole multiples of a step leave most bins empty; as few as the grid has levels, all are kept. */
static void what_lies_on_a_grid_is_not_clipped(void **state) {
    (void)state;
    float *x = normal(-40, 30);
    for (int i = 0; i < N; i++) x[i] = 0.5847029f * rintf(fmaxf(fminf(x[i], 38), -211));
    hn_histogram h = count(x);
    hn_range e = hn_histogram_entropy(&h, &u8);
    NEAR(e.min, h.least, 0.6);
    NEAR(e.max, h.greatest, 0.6);
    hn_free(&scratch_mem, x);
}

/* Of uniform quantizers of a normal distribution the best reach 2.5 deviations with 4 bits and
 * about 4 with 8; what is found is within 1 % of the best that trying finds. */
static void least_squares_are_found(void **state) {
    (void)state;
    float *x = normal(0, 1);
    hn_histogram h = count(x);
    const hn_qtype *const types[] = {&s4, &u4, &s8, &u8};
    for (int k = 0; k < 4; k++) {
        hn_range r = hn_histogram_mse(&h, types[k]);
        double found = error_of(x, types[k], r), best = INFINITY;
        for (double end = 1.5; end < 5; end += 0.05)
            best = fmin(best, error_of(x, types[k], (hn_range){-end, end}));
        assert_true(found <= 1.01 * best);
        if (types[k] == &s4) assert_true(r.max > 2.4 && r.max < 2.6);
        if (types[k] == &s8) assert_true(r.max > 3.6 && r.max < 4.4);
    }
    /* The two sides of a skewed one are found each for itself. */
    for (int i = 0; i < N; i++)
        if (x[i] > 0) x[i] = x[i] * x[i] * x[i];
    hn_histogram skew = count(x);
    hn_range r = hn_histogram_mse(&skew, &u8);
    double found = error_of(x, &u8, r), best = INFINITY;
    for (double lo = 0.5; lo < 5; lo += 0.5)
        for (double hi = 4; hi < 90; hi += 2)
            best = fmin(best, error_of(x, &u8, (hn_range){-lo, hi}));
    assert_true(found <= 1.01 * best);
    hn_free(&scratch_mem, x);
}

static void fine_grids_take_all(void **state) {
    (void)state;
    float *x = normal(1, 1);
    hn_histogram h = count(x);
    hn_range r = hn_histogram_mse(&h, &u16);
    assert_true(r.min == (double)h.least && r.max == (double)h.greatest);
    r = hn_histogram_entropy(&h, &u16);
    assert_true(r.min == (double)h.least && r.max == (double)h.greatest);
    hn_free(&scratch_mem, x);
}

static void one_value_is_a_range(void **state) {
    (void)state;
    static const float values[] = {0, 3, -3, 1e30f, 1e-30f};
    const hn_qtype *const types[] = {&u8, &s8, &s4};
    float *x = normal(0, 1);
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < N; i++) x[i] = values[k];
        hn_histogram h = count(x);
        double v = (double)values[k], min = fmin(v, 0), max = fmax(v, 0);
        for (int t = 0; t < 3; t++) {
            const hn_range found[] = {hn_histogram_percentile(&h, types[t], 99),
                                      hn_histogram_entropy(&h, types[t]),
                                      hn_histogram_mse(&h, types[t])};
            for (int m = 0; m < 3; m++) {
                NEAR(found[m].min, min, fabs(v) / 100);
                NEAR(found[m].max, max, fabs(v) / 100);
            }
        }
    }
    hn_free(&scratch_mem, x);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(percentiles_are_those_of_the_sorted_values),
        TEST(zeros_do_not_count),
        TEST(an_outlier_is_clipped),
        TEST(what_is_spread_evenly_is_not_clipped),
        TEST(what_lies_on_a_grid_is_not_clipped),
        TEST(least_squares_are_found),
        TEST(fine_grids_take_all),
        TEST(one_value_is_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
