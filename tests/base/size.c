#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void arithmetic_says_when_it_does_not_fit(void **state) {
    (void)state;
    size_t s = 7;
    int64_t i = 7;
    assert_true(hn_size_mul(6, 7, &s) && s == 42);
    assert_true(hn_size_mul(SIZE_MAX, 1, &s) && s == SIZE_MAX);
    assert_false(hn_size_mul(SIZE_MAX / 2 + 1, 2, &s));
    assert_true(hn_size_add(SIZE_MAX - 1, 1, &s) && s == SIZE_MAX);
    assert_false(hn_size_add(SIZE_MAX, 1, &s));
    assert_true(hn_i64_mul(-3, 5, &i) && i == -15);
    assert_false(hn_i64_mul(INT64_MIN, -1, &i));
    assert_false(hn_i64_mul(INT64_C(1) << 32, INT64_C(1) << 31, &i));
    assert_true(hn_i64_add(INT64_MAX, INT64_MIN, &i) && i == -1);
    assert_false(hn_i64_add(INT64_MAX, 1, &i));
    assert_false(hn_i64_add(INT64_MIN, -1, &i));
}

static void dims_are_counted(void **state) {
    (void)state;
    int64_t count = -7;
    assert_true(hn_dims_count(NULL, 0, &count) && count == 1);
    assert_true(hn_dims_count((int64_t[]){2, 3, 4}, 3, &count) && count == 24);
    assert_true(hn_dims_count((int64_t[]){INT64_MAX, 1}, 2, &count) && count == INT64_MAX);
    /* A zero wins over an overflow on either side of it. */
    assert_true(hn_dims_count((int64_t[]){0, INT64_MAX, INT64_MAX}, 3, &count) && count == 0);
    assert_true(hn_dims_count((int64_t[]){INT64_MAX, INT64_MAX, 0}, 3, &count) && count == 0);
    count = -7;
    assert_false(hn_dims_count((int64_t[]){INT64_MAX, 2}, 2, &count));
    assert_false(hn_dims_count((int64_t[]){3, -1}, 2, &count));
    assert_false(hn_dims_count((int64_t[]){0, -1}, 2, &count));
    assert_int_equal(count, -7);
}

static void packed_bytes_round_up(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_true(hn_packed_bytes(5, 32, &bytes) && bytes == 20);
    assert_true(hn_packed_bytes(0, 4, &bytes) && bytes == 0);
    assert_true(hn_packed_bytes(5, 4, &bytes) && bytes == 3);
    assert_true(hn_packed_bytes(4, 2, &bytes) && bytes == 1);
    assert_true(hn_packed_bytes(5, 2, &bytes) && bytes == 2);
    assert_true(hn_packed_bytes(INT64_MAX, 4, &bytes) && bytes == (size_t)1 << 62);
    assert_true(hn_packed_bytes(INT64_MAX, 8, &bytes) && bytes == INT64_MAX);
    assert_false(hn_packed_bytes(INT64_MAX, 16, &bytes));
    assert_false(hn_packed_bytes(INT64_MAX / 8, 128, &bytes));
    assert_false(hn_packed_bytes(-1, 8, &bytes));
    assert_false(hn_packed_bytes(1, 0, &bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_says_when_it_does_not_fit),
        cmocka_unit_test(dims_are_counted),
        cmocka_unit_test(packed_bytes_round_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
