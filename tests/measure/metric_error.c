#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

static const float y[] = {1, 2, 3, 4, 5, 6};
static const float wanted[] = {1, 2, 5, 4, 4, 3};

static void errors_are_averaged_over_elements(void **state) {
    (void)state;
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, y, 2, 3),
                         .n_targets = 1,
                         .targets = VALUE("target", F32, wanted, 2, 3, 1)};
    /* Differences 0 0 -2, 0 1 3: squares 4 and 10, absolute 2 and 4. */
    hone_metric_value v = metric_value("mse", &b);
    assert_near(v.value, 14.0 / 6);
    assert_near(v.high - v.value, 1.959963984540054 * 1.0); /* 4/3 and 10/3 lie 1 from the mean */
    assert_string_equal(v.interval, "normal");
    assert_near(metric_value("mae", &b).value, 1);
    assert_near(metric_value("psnr", &b).value, 10 * log10(4 * 4 / (14.0 / 6)));
    assert_int_equal(metric_suits("mse", &b), 3);
}

static void bytes_range_over_255(void **state) {
    (void)state;
    const unsigned char pixels[] = {10, 20, 30, 40}, near[] = {11, 20, 30, 38};
    hone_eval_batch b = {.n = 1,
                         .n_outputs = 1,
                         .outputs = VALUE("y", U8, pixels, 1, 2, 2),
                         .n_targets = 1,
                         .targets = VALUE("target", U8, near, 1, 2, 2)};
    assert_near(metric_value("psnr", &b).value, 10 * log10(255.0 * 255 / (5.0 / 4)));
    assert_true(isnan(metric_value("mse", &b).high)); /* one sample */
}

static void what_is_equal_has_no_noise(void **state) {
    (void)state;
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, y, 2, 3),
                         .n_targets = 1,
                         .targets = VALUE("target", F32, y, 2, 3)};
    assert_near(metric_value("mse", &b).value, 0);
    assert_true(isinf(metric_value("psnr", &b).value));
}

static void labels_serve_a_single_number(void **state) {
    (void)state;
    const int64_t labels[] = {1, 4};
    const float one[] = {2, 2};
    hone_eval_batch b = {
        .n = 2, .n_outputs = 1, .outputs = VALUE("y", F32, one, 2, 1), .labels = labels};
    assert_near(metric_value("mse", &b).value, 2.5);
    assert_int_equal(metric_suits("mse", &b), 3);
}

static void targets_of_another_size_are_refused(void **state) {
    (void)state;
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, y, 2, 3),
                         .n_targets = 1,
                         .targets = VALUE("target", F32, wanted, 2, 2)};
    metric_refuses("mse", &b, HONE_E_SHAPE,
                   "output 'y' is f32[2, 3], and no target has as many elements: "
                   "target 'target' is f32[2, 2]");
    assert_int_equal(metric_suits("mse", &b), 0);
    b.n_targets = 0;
    metric_refuses("mae", &b, HONE_E_SHAPE, "the dataset has none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_averaged_over_elements),
        cmocka_unit_test(bytes_range_over_255),
        cmocka_unit_test(what_is_equal_has_no_noise),
        cmocka_unit_test(labels_serve_a_single_number),
        cmocka_unit_test(targets_of_another_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
