#include "ops/scalar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* libm is within one unit of the last place; hn_exp must be close to it. */
static void exp_is_accurate(void **state) {
    (void)state;
    for (double x = -740; x < 709; x += 0.37) {
        double want = exp(x), found = hn_exp(x);
        double unit = nextafter(want, INFINITY) - want;
        if (!(fabs(found - want) <= 3 * unit))
            fail_msg("exp(%g) is %.17g, not %.17g", x, found, want);
    }
    assert_true(hn_exp(0) == 1);
    assert_true(hn_exp(INFINITY) == INFINITY);
    assert_true(hn_exp(1000) == INFINITY);
    assert_true(hn_exp(-INFINITY) == 0);
    assert_true(isnan(hn_exp(NAN)));
}

/* The same bits on every machine. */
static void exp_has_these_bits(void **state) {
    (void)state;
    uint64_t hash = UINT64_C(14695981039346656037), bits;
    for (double x = -30; x < 30; x += 0.015625) {
        double y = hn_exp(x);
        memcpy(&bits, &y, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(1099511628211);
    }
    assert_int_equal(hash, UINT64_C(0x81ddc93099520598));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_accurate),
        cmocka_unit_test(exp_has_these_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
