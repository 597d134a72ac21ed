#include "compress/histogram.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/scratch.h"

enum { BINS = HN_HISTOGRAM_BINS };

typedef struct counter {
    hn_pool *pool;
    hn_histogram_lanes lanes;
    hn_histogram h;
} counter;

static void begin(counter *c, int threads) {
    hn_error err;
    *c = (counter){0};
    assert_int_equal(hn_pool_create(&c->pool, threads, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_histogram_lanes_init(&c->lanes, c->pool, &scratch_mem, &err), HONE_OK);
}

static void end(counter *c) {
    hn_histogram_lanes_deinit(&c->lanes);
    hn_pool_destroy(c->pool);
}

static void add(counter *c, const float *x, int64_t n) {
    hn_extremes e = hn_extremes_of(x, n, c->pool);
    assert_true(e.finite);
    hn_histogram_add(&c->h, x, n, e, &c->lanes);
}

static uint64_t total(const hn_histogram *h) {
    uint64_t n = h->zeros;
    for (int i = 0; i < BINS; i++) n += h->bins[i];
    return n;
}

/* How many of x lie where bin i says. */
static uint64_t within(const hn_histogram *h, int i, const float *x, int n) {
    double width = ldexp(1, h->exponent), from = (double)(h->first + i) * width;
    uint64_t found = 0;
    for (int k = 0; k < n; k++) found += (double)x[k] >= from && (double)x[k] < from + width;
    return found;
}

static float *normal(hn_rng *rng, int n, double scale) {
    float *x = hn_alloc_array(&scratch_mem, (size_t)n, sizeof *x, HN_MEM_OTHER);
    assert_non_null(x);
    for (int i = 0; i < n; i++) x[i] = (float)(scale * hn_rng_normal(rng));
    return x;
}

/* Each part reaches further than the one before, on both sides. */
static void growing_loses_no_counts(void **state) {
    (void)state;
    enum { N = 5000, PARTS = 12 };
    counter c;
    hn_rng rng;
    begin(&c, 1);
    hn_rng_init(&rng, 3);
    double scale = 1e-6;
    for (int part = 0; part < PARTS; part++, scale *= 7) {
        float *x = normal(&rng, N, scale);
        add(&c, x, N);
        assert_int_equal(total(&c.h), (uint64_t)N * (uint64_t)(part + 1));
        assert_int_equal(c.h.n, total(&c.h));
        hn_free(&scratch_mem, x);
    }
    end(&c);
}

static void bins_hold_what_they_say(void **state) {
    (void)state;
    enum { N = 3000 };
    static const double scales[] = {1, 1e30, 1e-30, 3};
    static const double shifts[] = {0, 0, 0, 1000};
    for (int k = 0; k < 4; k++) {
        counter c;
        hn_rng rng;
        begin(&c, 1);
        hn_rng_init(&rng, 5);
        float *x = normal(&rng, N, scales[k]);
        for (int i = 0; i < N; i++) x[i] += (float)shifts[k];
        for (int i = 0; i < N; i += N / 3) add(&c, x + i, N / 3);
        int used = 0;
        for (int i = 0; i < BINS; i++) {
            assert_int_equal(c.h.bins[i], within(&c.h, i, x, N));
            if (c.h.bins[i] > 0) used = i;
        }
        for (int i = 0; i < BINS && c.h.bins[i] == 0; i++) used--;
        assert_in_range(used, BINS / 2 - 2, BINS); /* no coarser than it must be */
        hn_free(&scratch_mem, x);
        end(&c);
    }
}

static void parts_and_threads_make_no_difference(void **state) {
    (void)state;
    enum { N = 300008 };
    hn_rng rng;
    hn_rng_init(&rng, 7);
    float *x = normal(&rng, N, 1);
    for (int i = 0; i < N; i += 3) x[i] = 0;
    x[N - 1] = 11;
    hn_histogram first;
    for (int threads = 1; threads <= 3; threads++) {
        counter c;
        begin(&c, threads);
        add(&c, x, N);
        if (threads == 1) first = c.h;
        assert_memory_equal(&first, &c.h, sizeof first);
        assert_int_equal(c.h.zeros, (N + 2) / 3);
        assert_true(c.h.greatest == 11);
        end(&c);
    }
    counter c;
    begin(&c, 2);
    for (int at = 0, n; at < N; at += n) {
        n = N - at < 70001 ? N - at : 70001;
        add(&c, x + at, n);
    }
    assert_int_equal(c.h.exponent, first.exponent);
    for (int i = 0; i < BINS; i++) {
        int64_t at = c.h.first + i - first.first;
        assert_int_equal(c.h.bins[i], at >= 0 && at < BINS ? first.bins[at] : 0);
    }
    end(&c);
    hn_free(&scratch_mem, x);
}

static void odd_values_have_bins_too(void **state) {
    (void)state;
    static const float sets[][2] = {{0, 0}, {-FLT_MAX, FLT_MAX},    {0x1p-149f, -0x1p-149f},
                                    {1, 1}, {1e6f, 1e6f + 0.0625f}, {-1e30f, 1e-30f}};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        counter c;
        begin(&c, 1);
        for (size_t j = 0; j <= k; j++) { /* and all of them together */
            add(&c, sets[k - j], 2);
            assert_int_equal(total(&c.h), 2 * (j + 1));
        }
        end(&c);
    }
}

static void values_that_are_not_finite_are_found(void **state) {
    (void)state;
    enum { N = 100 };
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    float x[N];
    for (int k = 0; k < 3; k++)
        for (int at = 0; at < N; at++) {
            for (int i = 0; i < N; i++) x[i] = (float)i;
            assert_true(hn_extremes_of(x, N, NULL).finite);
            x[at] = odd[k];
            assert_false(hn_extremes_of(x, N, NULL).finite);
        }
    x[0] = 5;
    hn_extremes one = hn_extremes_of(x, 1, NULL);
    assert_true(one.finite && one.least == 5 && one.greatest == 5);
}

/* Bars have every count but those of 0, where the values lie; outside a range is what is not in it.
 */
static void bars_tell_where_values_lie(void **state) {
    (void)state;
    enum { N = 5000 };
    hn_rng rng;
    hn_rng_init(&rng, 4);
    float *x = normal(&rng, N, 3);
    for (int i = 0; i < 100; i++) x[i] = 0;
    counter c;
    hn_bars b;
    begin(&c, 1);
    hn_histogram_bars(&c.h, &b);
    assert_int_equal(b.n, 0);
    add(&c, x, N);
    hn_histogram_bars(&c.h, &b);
    assert_in_range(b.n, HN_HISTOGRAM_BARS / 2, HN_HISTOGRAM_BARS);
    assert_true(b.from <= (double)c.h.least);
    assert_true(b.from + b.n * b.step > (double)c.h.greatest);
    for (int i = 0; i < b.n; i++) {
        double from = b.from + i * b.step;
        uint64_t found = 0;
        for (int k = 0; k < N; k++)
            found += (double)x[k] != 0 && (double)x[k] >= from && (double)x[k] < from + b.step;
        assert_int_equal(b.v[i], found);
    }
    int outside = 0;
    for (int k = 0; k < N; k++) outside += x[k] < -2 || x[k] >= 4;
    assert_float_equal(hn_histogram_outside(&c.h, (hn_range){-2, 4}), (double)outside / N, 1e-9);
    assert_float_equal(hn_histogram_outside(&c.h, (hn_range){-100, 100}), 0, 0);
    hn_free(&scratch_mem, x);
    end(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(growing_loses_no_counts),
        TEST(bins_hold_what_they_say),
        TEST(parts_and_threads_make_no_difference),
        TEST(odd_values_have_bins_too),
        TEST(values_that_are_not_finite_are_found),
        TEST(bars_tell_where_values_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
