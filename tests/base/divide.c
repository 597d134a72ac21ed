/* Quotients and remainders are those of C, whether 32 bits hold both numbers or not. */
#include "base/divide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t values[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 64,
                                 1000,
                                 INT32_MAX,
                                 UINT32_MAX - (int64_t)1,
                                 UINT32_MAX,
                                 UINT32_MAX + (int64_t)1,
                                 (int64_t)1 << 40,
                                 INT64_MAX / 2};
enum { COUNT = sizeof values / sizeof *values };

static void as_in_c(void **state) {
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        for (int j = 1; j < COUNT; j++) {
            const int64_t a = values[i], b = values[j];
            int64_t rest = a;
            assert_int_equal(hn_over(a, b), a / b);
            assert_int_equal(hn_over(-a, b), -a / b);
            assert_int_equal(hn_rest(a, b), a % b);
            assert_int_equal(hn_ceil_over(a, b), a / b + (a % b != 0));
            assert_int_equal(hn_digit(&rest, b), a % b);
            assert_int_equal(rest, a / b);
        }
    }
}

static void takes_places_apart(void **state) {
    (void)state;
    const int64_t rows = 5, columns = 7;
    for (int64_t i = 0; i < 3 * rows * columns; i++) {
        int64_t image = i;
        const int64_t x = hn_digit(&image, columns), y = hn_digit(&image, rows);
        assert_in_range(x, 0, columns - 1);
        assert_in_range(y, 0, rows - 1);
        assert_int_equal((image * rows + y) * columns + x, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_in_c),
        cmocka_unit_test(takes_places_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
