/* Eigenvectors and matrices of low rank: what defines them, at sizes around those of the pieces, and
 * where a matrix has little to find: zeros, one row, rows that repeat. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "base/dense.h"
#include "base/least.h"
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

static double *room(int64_t n) {
    double *p = hn_alloc_zero(&mem, (size_t)n * sizeof *p, HN_MEM_OTHER);
    assert_non_null(p);
    return p;
}

static double *noise(int64_t n, uint64_t seed) {
    hn_rng rng;
    double *p = room(n);
    hn_rng_init(&rng, seed);
    for (int64_t i = 0; i < n; i++) p[i] = hn_rng_normal(&rng);
    return p;
}

/* Only the lower triangle is to be read. */
static double *symmetric(int64_t n, uint64_t seed) {
    double *h = noise(n * n, seed);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) h[i * n + j] = NAN;
    return h;
}

static double at(const double *lower, int64_t n, int64_t i, int64_t j) {
    return i >= j ? lower[i * n + j] : lower[j * n + i];
}

/* The rows of v have size 1 and stand upright on each other. */
static void is_orthonormal(const double *v, int64_t rows, int64_t n) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++) sum += v[i * n + k] * v[j * n + k];
            if (!(fabs(sum - (i == j)) < 1e-13 * (double)(n + 8)))
                fail_msg("rows %d and %d of %d: %g", (int)i, (int)j, (int)n, sum);
        }
}

static const int64_t sizes[] = {1, 2, 3, 7, 31, 32, 33, 97, 130};
#define N_SIZES (sizeof sizes / sizeof *sizes)

static void vectors_belong_to_their_values(void **state) {
    (void)state;
    hn_error err;
    for (size_t t = 0; t < N_SIZES; t++) {
        int64_t n = sizes[t];
        double *h = symmetric(n, 5 + t), *v = room(n * n), *values = room(n);
        memcpy(v, h, (size_t)(n * n) * sizeof *v);
        if (hn_eigen(v, n, values, pool, &mem, &err) != HONE_OK) fail_msg("%s", err.text);
        is_orthonormal(v, n, n);
        for (int64_t i = 0; i < n; i++) {
            assert_true(i == 0 || values[i] <= values[i - 1]);
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t k = 0; k < n; k++) sum += at(h, n, j, k) * v[i * n + k];
                double apart = fabs(sum - values[i] * v[i * n + j]);
                if (!(apart < 1e-12 * (double)(n + 8)))
                    fail_msg("vector %d of %d: %g", (int)i, (int)n, apart);
            }
        }
        hn_free(&mem, h);
        hn_free(&mem, v);
        hn_free(&mem, values);
    }
}

/* A matrix that is known: h = 3 I + u u^T has n - 1 values that are equal. Numbers of any size. */
static void values_that_repeat_and_any_scale(void **state) {
    (void)state;
    const double scales[] = {1, 1e-290, 1e290};
    hn_error err;
    int64_t n = 40;
    for (int s = 0; s < 3; s++) {
        double *u = noise(n, 3), *h = room(n * n), *values = room(n), square = 0;
        for (int64_t i = 0; i < n; i++) square += u[i] * u[i];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                h[i * n + j] = scales[s] * (u[i] * u[j] + (i == j ? 3 : 0));
        assert_int_equal(hn_eigen(h, n, values, pool, &mem, &err), HONE_OK);
        is_orthonormal(h, n, n);
        assert_true(fabs(values[0] / scales[s] - 3 - square) < 1e-12 * square);
        for (int64_t i = 1; i < n; i++) assert_true(fabs(values[i] / scales[s] - 3) < 1e-12);
        hn_free(&mem, u);
        hn_free(&mem, h);
        hn_free(&mem, values);
    }
}

static void zeros_have_vectors_too(void **state) {
    (void)state;
    hn_error err;
    int64_t n = 37;
    double *h = room(n * n), *values = room(n);
    assert_int_equal(hn_eigen(h, n, values, pool, &mem, &err), HONE_OK);
    is_orthonormal(h, n, n);
    for (int64_t i = 0; i < n; i++) assert_true(fabs(values[i]) <= 0);
    hn_free(&mem, h);
    hn_free(&mem, values);
    assert_int_equal(hn_eigen(NULL, 0, NULL, pool, &mem, &err), HONE_OK);
}

static void eigen_refuses_what_is_not_finite(void **state) {
    (void)state;
    hn_error err;
    double h[4] = {1, 2, NAN, 4}, values[2];
    assert_int_equal(hn_eigen(h, 2, values, NULL, &mem, &err), HONE_E_ARG);
    assert_string_equal(err.text,
                        "a matrix of 2 rows has nan at row 1, column 0, wanted a finite "
                        "number");
}

/* ---- low rank ---- */

/* The squared error of the first `rank` terms, weighted by h; NULL: the identity. */
static double error_of(const hn_low_rank *l, const double *w, const double *h, int64_t rank) {
    int64_t n = l->n, k = l->k;
    double *d = room(n * k), sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++) {
            double v = w[i * k + j];
            for (int64_t r = 0; r < rank; r++) v -= l->first[r * n + i] * l->second[r * k + j];
            d[i * k + j] = v;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t q = 0; q < k; q++)
                sum += d[i * k + j] * (h != NULL ? at(h, k, j, q) : j == q) * d[i * k + q];
    hn_free(&mem, d);
    return sum;
}

static double *gram(int64_t k, uint64_t seed) {
    int64_t rows = 2 * k + 5;
    double *x = noise(rows * k, seed), *h = room(k * k);
    for (int64_t r = 0; r < rows; r++) /* columns of very unlike sizes */
        for (int64_t i = 0; i < k; i++) x[r * k + i] *= exp2((double)(i % 5) - 2);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j <= i; j++) h[i * k + j] += x[r * k + i] * x[r * k + j];
    hn_free(&mem, x);
    return h;
}

/* All terms are the matrix; of fewer, the squares of the others are the error. Wide and tall
 * matrices, which are cut by their outputs and their inputs, with and without samples. */
static void terms_add_up(void **state) {
    (void)state;
    const int64_t shapes[][2] = {{1, 1}, {1, 20}, {20, 1}, {9, 33}, {33, 9}, {24, 24}, {65, 40}};
    hn_error err;
    for (size_t t = 0; t < sizeof shapes / sizeof *shapes; t++)
        for (int weighted = 0; weighted < 2; weighted++) {
            int64_t n = shapes[t][0], k = shapes[t][1], rank = hn_least(n, k);
            double *w = noise(n * k, t), *h = weighted ? gram(k, t + 50) : NULL;
            hn_low_rank l, zero = {.n = n, .k = k};
            if (hn_low_rank_of(&l, w, n, k, h, pool, &mem, &err) != HONE_OK)
                fail_msg("%s", err.text);
            assert_int_equal(l.rank, rank);
            double all = error_of(&zero, w, h, 0), left = 0;
            assert_true(error_of(&l, w, NULL, rank) < 1e-18 * (double)(n * k));
            for (int64_t r = rank; r >= 0; r--) {
                double error = error_of(&l, w, h, r);
                if (!(fabs(error - left) < 1e-10 * all))
                    fail_msg("%d x %d, rank %d: error %g, squares %g", (int)n, (int)k, (int)r,
                             error, left);
                if (r > 0) left += l.squares[r - 1];
            }
            hn_low_rank_deinit(&l, &mem);
            hn_free(&mem, w);
            hn_free(&mem, h);
        }
}

/* Cut by the samples, the outputs are off by less than when cut by the weights alone. */
static void samples_lower_the_error(void **state) {
    (void)state;
    const int64_t shapes[][2] = {{20, 50}, {50, 20}};
    hn_error err;
    for (int t = 0; t < 2; t++) {
        int64_t n = shapes[t][0], k = shapes[t][1];
        double *w = noise(n * k, 8), *h = gram(k, 9);
        hn_low_rank with, without;
        assert_int_equal(hn_low_rank_of(&with, w, n, k, h, NULL, &mem, &err), HONE_OK);
        assert_int_equal(hn_low_rank_of(&without, w, n, k, NULL, NULL, &mem, &err), HONE_OK);
        for (int64_t r = 2; r < 20; r += 6)
            assert_true(error_of(&with, w, h, r) < 0.95 * error_of(&without, w, h, r));
        hn_low_rank_deinit(&with, &mem);
        hn_low_rank_deinit(&without, &mem);
        hn_free(&mem, w);
        hn_free(&mem, h);
    }
}

static void a_rank_that_is_known_is_found(void **state) {
    (void)state;
    hn_error err;
    int64_t n = 30, k = 45, rank = 4;
    double *a = noise(n * rank, 1), *b = noise(k * rank, 2), *w = room(n * k);
    hn_low_rank l;
    for (int64_t i = 0; i < n * k; i++)
        for (int64_t r = 0; r < rank; r++) w[i] += a[i / k * rank + r] * b[i % k * rank + r];
    assert_int_equal(hn_low_rank_of(&l, w, n, k, NULL, pool, &mem, &err), HONE_OK);
    assert_int_equal(hn_low_rank_within(&l, 1e-14), rank);
    assert_int_equal(hn_low_rank_within(&l, 1), 0);
    assert_true(hn_low_rank_within(&l, 0.5) < rank);
    is_orthonormal(l.first, l.rank, n);
    hn_low_rank_deinit(&l, &mem);
    memset(w, 0, (size_t)(n * k) * sizeof *w);
    assert_int_equal(hn_low_rank_of(&l, w, n, k, NULL, pool, &mem, &err), HONE_OK);
    assert_int_equal(hn_low_rank_within(&l, 0), 0);
    hn_low_rank_deinit(&l, &mem);
    w[77] = INFINITY;
    assert_int_equal(hn_low_rank_of(&l, w, n, k, NULL, pool, &mem, &err), HONE_E_ARG);
    assert_string_equal(err.text,
                        "a matrix of 30 by 45 has inf at row 1, column 32, wanted a "
                        "finite number");
    hn_free(&mem, a);
    hn_free(&mem, b);
    hn_free(&mem, w);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    hn_error err;
    for (int t = 0; t < 2; t++) {
        int64_t n = t ? 210 : 130, k = t ? 130 : 210;
        double *w = noise(n * k, 4), *h = gram(k, 6);
        hn_low_rank a, b;
        assert_int_equal(hn_low_rank_of(&a, w, n, k, h, NULL, &mem, &err), HONE_OK);
        assert_int_equal(hn_low_rank_of(&b, w, n, k, h, pool, &mem, &err), HONE_OK);
        assert_memory_equal(a.first, b.first, (size_t)(a.rank * n) * sizeof(double));
        assert_memory_equal(a.second, b.second, (size_t)(a.rank * k) * sizeof(double));
        assert_memory_equal(a.squares, b.squares, (size_t)a.rank * sizeof(double));
        hn_low_rank_deinit(&a, &mem);
        hn_low_rank_deinit(&b, &mem);
        hn_free(&mem, w);
        hn_free(&mem, h);
    }
}

static void low_rank_runs_out_of_memory(void **state) {
    (void)state;
    hn_error err;
    for (int t = 0; t < 4; t++) {
        int64_t n = t % 2 ? 9 : 5, k = t % 2 ? 5 : 9;
        double *w = noise(n * k, 4), *h = t / 2 ? gram(k, 6) : NULL;
        hone_status status = HONE_E_NOMEM;
        hn_low_rank l;
        for (int after = 0; status != HONE_OK; after++) {
            assert_int_equal(status, HONE_E_NOMEM);
            atomic_store(&mem.fail_after, after);
            status = hn_low_rank_of(&l, w, n, k, h, NULL, &mem, &err);
            atomic_store(&mem.fail_after, -1);
        }
        hn_low_rank_deinit(&l, &mem);
        hn_free(&mem, w);
        hn_free(&mem, h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_belong_to_their_values),
        cmocka_unit_test(values_that_repeat_and_any_scale),
        cmocka_unit_test(zeros_have_vectors_too),
        cmocka_unit_test(eigen_refuses_what_is_not_finite),
        cmocka_unit_test(terms_add_up),
        cmocka_unit_test(samples_lower_the_error),
        cmocka_unit_test(a_rank_that_is_known_is_found),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(low_rank_runs_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
