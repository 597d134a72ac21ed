#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

#include "formats/digits.h"

static void test_digits(void **state) {
    (void)state;
    hn_dataset *ds = data_open("synthetic:digits,n=20,skip=5,seed=9");
    assert_int_equal(hn_dataset_count(ds), 20);
    assert_true(hn_dataset_has_labels(ds));
    static float x[784];
    uint8_t image[784];
    int label;
    int64_t got;
    data_fill(ds, 3, 1, 3, DIMS(1, 28, 28), x);
    hn_digits_sample(9, 8, image, &label);
    for (int i = 0; i < 784; i++) assert_true(x[i] == (float)(image[i] * (1.0 / 255)));
    assert_int_equal(hn_dataset_labels(ds, 3, 1, &got, NULL), HONE_OK);
    assert_int_equal(got, label);
    hn_dataset_close(ds);
    ds = data_open("synthetic:digits,scale=1");
    assert_int_equal(hn_dataset_count(ds), 1000);
    data_fill(ds, 0, 1, 1, DIMS(784), x);
    hn_digits_sample(1, 0, image, &label);
    for (int i = 0; i < 784; i++) assert_true(x[i] == image[i]); /* scale=1: as drawn */
    hn_dataset_close(ds);
    data_count_down("synthetic:digits");
}

static void test_errors(void **state) {
    (void)state;
    data_expect_error(HONE_E_ARG, "there is no synthetic 'letters'; there is digits",
                      "synthetic:letters");
    data_expect_error(HONE_E_ARG, "synthetic needs a path: synthetic:digits", "synthetic");
    data_expect_error(HONE_E_ARG, "too large", "synthetic:digits,skip=9223372036854775000");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_digits),
        TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
