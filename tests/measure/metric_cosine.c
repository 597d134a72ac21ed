#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

static const float a[] = {3, 4, 1, 0, 0, 0};
static const float b_[] = {4, 3, -2, 0, 1, 1};

static void angles_are_averaged(void **state) {
    (void)state;
    hone_eval_batch b = {.n = 3,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, a, 3, 2),
                         .n_targets = 1,
                         .targets = VALUE("target", F32, b_, 3, 2)};
    /* 24 / 25, -1, and 0 of a vector without length. */
    hone_metric_value v = metric_value("cosine", &b);
    assert_near(v.value, (0.96 - 1 + 0) / 3);
    assert_true(v.low >= -1 && v.high <= 1);
    assert_int_equal(metric_suits("cosine", &b), 0); /* mse comes first */
}

static void two_outputs_make_pairs(void **state) {
    (void)state;
    const hone_value pair[] = {ENTRY("a", F32, a, 3, 2), ENTRY("b", F32, b_, 3, 2)};
    hone_eval_batch b = {.n = 3, .n_outputs = 2, .outputs = pair};
    metric_ask(0, 1, -1);
    assert_near(metric_value("cosine", &b).value, -0.04 / 3);
    assert_int_equal(metric_suits("cosine", &b), 1);
    metric_ask(-1, -1, -1);
    metric_refuses("cosine", &b, HONE_E_SHAPE, "output 'a' is f32[3, 2], and there is neither");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angles_are_averaged),
        cmocka_unit_test(two_outputs_make_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
