#include "measure/distance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static hn_distance between(int n, const float *a, const float *b) {
    hn_tensor x, y;
    hn_distance d = {0};
    int64_t dims[] = {n};
    assert_int_equal(hn_tensor_borrow(&x, HONE_DTYPE_F32, 1, dims, a, NULL), HONE_OK);
    assert_int_equal(hn_tensor_borrow(&y, HONE_DTYPE_F32, 1, dims, b, NULL), HONE_OK);
    hn_distance_add(&d, &x, &y);
    return d;
}

static void near(double found, double wanted) {
    if (!(fabs(found - wanted) < 1e-9)) fail_msg("%g, expected %g", found, wanted);
}

static void a_tenth_is_twenty_decibels(void **state) {
    (void)state;
    hn_distance d = between(2, (float[]){30, 40}, (float[]){30, 45});
    near(hn_distance_sqnr(&d), 20);
    near(hn_distance_max(&d), 5 / 40.);
    near(hn_distance_mean(&d), 2.5 / 40);
    near(hn_distance_cosine(&d), (30 * 30 + 40 * 45) / (50 * sqrt(30 * 30 + 45 * 45)));
}

static void sums_go_on(void **state) {
    (void)state;
    float a[1500], b[1500];
    for (int i = 0; i < 1500; i++) b[i] = (a[i] = (float)(i % 7)) + (i == 1400);
    hn_distance d = between(1500, a, b);
    hn_tensor x;
    assert_int_equal(hn_tensor_borrow(&x, HONE_DTYPE_F32, 1, (int64_t[]){1500}, a, NULL), HONE_OK);
    near(d.noise, 1);
    hn_distance_add(&d, &x, &x);
    near(d.noise, 1);
    assert_int_equal(d.n, 3000);
}

static void what_is_equal_is_exact(void **state) {
    (void)state;
    hn_distance d = between(3, (float[]){1, INFINITY, NAN}, (float[]){1, INFINITY, NAN});
    assert_true(hn_distance_sqnr(&d) == INFINITY && hn_distance_cosine(&d) == 1);
    assert_true(hn_distance_max(&d) == 0 && hn_distance_mean(&d) == 0);
}

static void one_side_not_finite_is_broken(void **state) {
    (void)state;
    hn_distance d = between(2, (float[]){1, 2}, (float[]){1, NAN});
    assert_true(hn_distance_sqnr(&d) == -INFINITY && hn_distance_max(&d) == INFINITY);
    assert_true(isnan(hn_distance_cosine(&d)));
}

static void nothing_wanted_is_broken_too(void **state) {
    (void)state;
    hn_distance d = between(2, (float[]){0, 0}, (float[]){0, 3});
    assert_true(hn_distance_sqnr(&d) == -INFINITY && hn_distance_max(&d) == 3);
    assert_true(isnan(hn_distance_cosine(&d)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenth_is_twenty_decibels),
        cmocka_unit_test(sums_go_on),
        cmocka_unit_test(what_is_equal_is_exact),
        cmocka_unit_test(one_side_not_finite_is_broken),
        cmocka_unit_test(nothing_wanted_is_broken_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
