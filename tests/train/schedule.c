#include "train/schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static double rate(const char *name, hn_schedule_options o, int64_t step) {
    const hn_schedule *s;
    hn_error err;
    assert_int_equal(hn_schedule_find(name, &s, &err), HONE_OK);
    return hn_schedule_rate(s, &o, step);
}

static void shapes(void **state) {
    (void)state;
    hn_schedule_options o = {.rate = 2, .steps = 100, .factor = 0.1};
    assert_true(rate("constant", o, 0) == 2 && rate("constant", o, 99) == 2);
    for (int64_t i = 0; i < 100; i++)
        assert_true(fabs(rate("cosine", o, i) - (1 + cos(M_PI * (double)i / 100))) < 1e-12);
    assert_true(rate("step", o, 33) == 2);
    assert_true(fabs(rate("step", o, 34) - 0.2) < 1e-15);
    assert_true(fabs(rate("step", o, 68) - 0.02) < 1e-15);
    assert_true(fabs(rate("one-cycle", o, 0) - 0.08) < 1e-12);
    assert_true(fabs(rate("one-cycle", o, 30) - 2) < 1e-12);
    assert_true(rate("one-cycle", o, 99) < 0.01);
}

static void warm_up(void **state) {
    (void)state;
    hn_schedule_options o = {.rate = 1, .steps = 20, .warmup = 9};
    for (int64_t i = 0; i < 9; i++)
        assert_true(fabs(rate("cosine", o, i) - (double)(i + 1) / 10) < 1e-12);
    assert_true(rate("cosine", o, 9) == 1);
}

static void unknown(void **state) {
    (void)state;
    const hn_schedule *s;
    hn_error err;
    assert_int_equal(hn_schedule_find("linear", &s, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "constant, cosine, one-cycle, step"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(warm_up),
                                       cmocka_unit_test(unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
