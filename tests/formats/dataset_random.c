#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

static void test_values(void **state) {
    (void)state;
    hn_dataset *ds = data_open("random,n=50,seed=3");
    int field = -1;
    float whole[200], part[8];
    double sum = 0, squares = 0;
    assert_int_equal(hn_dataset_count(ds), 50);
    assert_false(hn_dataset_has_labels(ds));
    assert_int_equal(hn_dataset_field_at(ds, 0)->rank, -1);
    assert_int_equal(hn_dataset_find(ds, "anything", 2, 3, &field, NULL), HONE_OK);
    assert_int_equal(field, 2);
    assert_int_equal(hn_dataset_field_at(ds, field)->rank, -1);
    data_fill(ds, 0, 50, 2, DIMS(2, 2), whole);
    for (int i = 0; i < 200; i++) {
        sum += whole[i];
        squares += whole[i] * whole[i];
    }
    assert_true(sum / 200 > -0.3 && sum / 200 < 0.3 && squares / 200 > 0.6 && squares / 200 < 1.5);
    data_fill(ds, 7, 2, 1, DIMS(4), part); /* the same sample in any batch */
    assert_memory_equal(part, whole + 28, sizeof part);
    assert_memory_not_equal(part, part + 4, 16);
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 1, .dims = DIMS(4)};
    assert_int_equal(hn_dataset_fill(ds, 1, 7, 1, &want, part + 4, NULL), HONE_OK);
    assert_memory_not_equal(part, part + 4, 16); /* another input, other values */

    unsigned char bits[8] = {0};
    want = (hn_dataset_want){.dtype = HONE_DTYPE_U4, .rank = 1, .dims = DIMS(16)};
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, bits, NULL), HONE_OK);
    int ones = 0;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(bits[i] & 0xee, 0);
        ones += (bits[i] & 1) + (bits[i] >> 4);
    }
    assert_true(ones > 0 && ones < 16);
    want.dtype = HONE_DTYPE_STRING;
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, bits, NULL), HONE_E_TYPE);
    hn_dataset_close(ds);
    ds = data_open("random");
    assert_int_equal(hn_dataset_count(ds), 100);
    hn_dataset_close(ds);
}

static void test_errors(void **state) {
    (void)state;
    data_expect_error(HONE_E_ARG, "random takes no path, but 'x' is given", "random:x");
    data_expect_error(HONE_E_ARG,
                      "key 'scale' is not supported for random, which takes n, skip, seed",
                      "random,scale=2");
    data_expect_error(HONE_E_ARG, "too large", "random,skip=9223372036854775807");
    data_count_down("random,n=5");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_values),
        TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
