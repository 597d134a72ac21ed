#include "base/dense.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "base/rng.h"

#include <cmocka.h>

static hn_allocator mem;
static hn_pool *pool;

static int setup(void **state) {
    (void)state;
    hn_error err;
    hn_allocator_init(&mem);
    return hn_pool_create(&pool, 3, &mem, &err) != HONE_OK;
}

static int teardown(void **state) {
    (void)state;
    hn_pool_destroy(pool);
    return atomic_load(&mem.blocks) != 0;
}

static double *zeros(int64_t n) {
    double *p = hn_alloc_zero(&mem, (size_t)(n * n) * sizeof *p, HN_MEM_OTHER);
    assert_non_null(p);
    return p;
}

static float *noise(int64_t n, uint64_t seed) {
    hn_rng rng;
    hn_rng_init(&rng, seed);
    float *p = hn_alloc(&mem, (size_t)n * sizeof *p, HN_MEM_OTHER);
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++) p[i] = (float)hn_rng_normal(&rng);
    return p;
}

static double *gram_of(int64_t n, int64_t rows, hn_pool *by) {
    hn_error err;
    float *x = noise(rows * n, (uint64_t)(n * 1000 + rows));
    double *h = zeros(n);
    if (hn_gram_add(h, n, x, rows, by, &mem, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_free(&mem, x);
    return h;
}

static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 31, 63, 64, 65, 67, 130, 201};
#define N_SIZES (sizeof sizes / sizeof *sizes)

/* Sizes that strips do and do not divide, with and without a pool: the same bits. */
static void cross_is_the_sum_of_products(void **state) {
    (void)state;
    hn_error err;
    for (size_t t = 0; t < N_SIZES; t++) {
        int64_t n = sizes[t], m = sizes[N_SIZES - 1 - t], rows = 300;
        float *x = noise(rows * n, 1), *y = noise(rows * m, 2);
        double *h[2];
        for (int k = 0; k < 2; k++) {
            h[k] = hn_alloc_zero(&mem, (size_t)(n * m) * sizeof **h, HN_MEM_OTHER);
            assert_non_null(h[k]);
            assert_int_equal(hn_cross_add(h[k], n, x, m, y, rows, k ? pool : NULL, &mem, &err),
                             HONE_OK);
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) {
                double want = 0, size = 0;
                for (int64_t r = 0; r < rows; r++) {
                    double term = (double)x[r * n + i] * (double)y[r * m + j];
                    want += term, size += fabs(term);
                }
                assert_true(fabs(h[0][i * m + j] - want) <= HN_GRAM_ROWS * FLT_EPSILON / 2 * size);
            }
        assert_memory_equal(h[0], h[1], (size_t)(n * m) * sizeof **h);
        hn_free(&mem, h[0]);
        hn_free(&mem, h[1]);
        hn_free(&mem, x);
        hn_free(&mem, y);
    }
}

/* Two halves of the rows add up; the upper triangle is not written. */
static void gram_is_the_sum_of_products(void **state) {
    (void)state;
    const int64_t row_counts[] = {1, 5, 256, 257, 700};
    hn_error err;
    for (size_t t = 0; t < N_SIZES; t++)
        for (size_t q = 0; q < 5; q++) {
            int64_t n = sizes[t], rows = row_counts[q], half = rows / 2;
            float *x = noise(rows * n, t);
            double *h = zeros(n);
            for (int64_t i = 0; i < n * n; i++) h[i] = 1;
            assert_int_equal(hn_gram_add(h, n, x, half, pool, &mem, &err), HONE_OK);
            assert_int_equal(hn_gram_add(h, n, x + half * n, rows - half, NULL, &mem, &err),
                             HONE_OK);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) {
                    double want = 1, size = 0;
                    for (int64_t r = 0; r < rows && j <= i; r++) {
                        double term = (double)x[r * n + i] * (double)x[r * n + j];
                        want += term, size += fabs(term);
                    }
                    assert_true(fabs(h[i * n + j] - want) <= HN_GRAM_ROWS * FLT_EPSILON / 2 * size);
                }
            hn_free(&mem, h);
            hn_free(&mem, x);
        }
}

static void a_triangle_multiplies_back(void **state) {
    (void)state;
    hn_error err;
    for (size_t t = 0; t < N_SIZES; t++) {
        int64_t n = sizes[t];
        double *h = gram_of(n, 2 * n + 3, NULL), *l = zeros(n), *inverse = zeros(n);
        memset(inverse, 0xff, (size_t)(n * n) * sizeof *inverse);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) l[i * n + j] = j <= i ? h[i * n + j] : NAN;
        if (hn_cholesky(l, n, pool, &err) != HONE_OK) fail_msg("%s", err.text);
        hn_triangle_invert(l, n, inverse, pool);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double back = 0, one = 0;
                for (int64_t k = 0; k <= (i < j ? i : j); k++) back += l[i * n + k] * l[j * n + k];
                for (int64_t k = 0; k <= i; k++) one += l[i * n + k] * inverse[k * n + j];
                if (j <= i) {
                    double size = sqrt(h[i * n + i] * h[j * n + j]);
                    assert_true(fabs(back - h[i * n + j]) <= 1e-14 * (double)n * size);
                }
                assert_true(fabs(one - (i == j)) <= 1e-11);
                if (j > i) assert_true(inverse[i * n + j] >= 0 && inverse[i * n + j] <= 0);
            }
        hn_free(&mem, h);
        hn_free(&mem, l);
        hn_free(&mem, inverse);
    }
}

static void threads_change_nothing(void **state) {
    (void)state;
    hn_error err;
    int64_t n = 333;
    size_t bytes = (size_t)(n * n) * sizeof(double);
    double *a = gram_of(n, 900, NULL), *b = gram_of(n, 900, pool);
    assert_memory_equal(a, b, bytes);
    assert_int_equal(hn_cholesky(a, n, NULL, &err), HONE_OK);
    assert_int_equal(hn_cholesky(b, n, pool, &err), HONE_OK);
    assert_memory_equal(a, b, bytes);
    double *c = zeros(n), *d = zeros(n);
    hn_triangle_invert(a, n, c, NULL);
    hn_triangle_invert(b, n, d, pool);
    assert_memory_equal(c, d, bytes);
    hn_free(&mem, a);
    hn_free(&mem, b);
    hn_free(&mem, c);
    hn_free(&mem, d);
}

/* Fewer rows than columns: singular until it is damped. */
static void what_is_not_positive_definite(void **state) {
    (void)state;
    hn_error err;
    double *h = gram_of(9, 4, NULL), *none = zeros(3);
    double mean = 0;
    for (int i = 0; i < 9; i++) mean += h[i * 10] / 9;
    double first = h[0], below = h[9];
    hn_damp(h, 9, 0.5);
    assert_true(fabs(h[0] - first - mean / 2) < 1e-12);
    assert_true(h[9] >= below && h[9] <= below);
    assert_int_equal(hn_cholesky(h, 9, pool, &err), HONE_OK);
    hn_free(&mem, h);

    assert_int_equal(hn_cholesky(none, 3, NULL, &err), HONE_E_ARG);
    assert_string_equal(err.text,
                        "a matrix of 3 rows is not positive definite: pivot 0 is 0, "
                        "wanted more than 0");
    hn_damp(none, 3, 0.01);
    assert_int_equal(hn_cholesky(none, 3, NULL, &err), HONE_OK);
    none[8] = INFINITY;
    assert_int_equal(hn_cholesky(none, 3, NULL, &err), HONE_E_ARG);
    hn_free(&mem, none);
}

static void memory_runs_out(void **state) {
    (void)state;
    hn_error err;
    float x[3] = {1, 2, 3};
    double h[9] = {0};
    atomic_store(&mem.fail_after, 0);
    hone_status status = hn_gram_add(h, 3, x, 1, NULL, &mem, &err);
    atomic_store(&mem.fail_after, -1);
    assert_int_equal(status, HONE_E_NOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gram_is_the_sum_of_products),
        cmocka_unit_test(cross_is_the_sum_of_products),
        cmocka_unit_test(a_triangle_multiplies_back),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_is_not_positive_definite),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
