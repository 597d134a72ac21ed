#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

/* Four samples of seven classes: labels at places 1, 2, 5 and 7. */
static const float scores[] = {9, 1, 2, 3, 4, 5, 6, /**/ 8, 9, 1, 2, 3, 4, 5,
                               5, 9, 8, 7, 6, 1, 2, /**/ 0, 1, 2, 3, 4, 5, 6};
static const int64_t labels[] = {0, 0, 0, 0};

static void places_are_counted(void **state) {
    (void)state;
    hone_eval_batch b = {
        .n = 4, .n_outputs = 1, .outputs = VALUE("y", F32, scores, 4, 7), .labels = labels};
    hone_metric_value v = metric_value("top1", &b);
    assert_near(v.value, 0.25);
    assert_int_equal(v.part, 1);
    assert_string_equal(v.interval, "wilson");
    assert_near(metric_value("top5", &b).value, 0.75);
    assert_int_equal(metric_suits("top1", &b), 3);
}

static void an_integer_is_the_class_itself(void **state) {
    (void)state;
    const int64_t answers[] = {2, 0, 300, -1}, wanted[] = {2, 1, 300, 0};
    hone_eval_batch b = {
        .n = 4, .n_outputs = 1, .outputs = VALUE("y", S64, answers, 4, 1), .labels = wanted};
    assert_near(metric_value("top1", &b).value, 0.5);
    assert_true(isnan(metric_value("top5", &b).value));
    assert_int_equal(metric_suits("top1", &b), 1);
}

static void what_cannot_be_scored_is_refused(void **state) {
    (void)state;
    const int64_t wrong[] = {0, 7, 0, 0};
    hone_eval_batch b = {
        .n = 4, .n_outputs = 1, .outputs = VALUE("y", F32, scores, 4, 7), .labels = wrong};
    metric_refuses("top1", &b, HONE_E_ARG, "sample 1 has label 7, but output 'y' has 7 classes");
    b.labels = NULL;
    metric_refuses("top1", &b, HONE_E_ARG, "no labels");
    assert_int_equal(metric_suits("top1", &b), 0);
    b.labels = labels;
    b.outputs = VALUE("y", C64, scores, 4, 3);
    metric_refuses("top1", &b, HONE_E_TYPE, "output 'y' is of type c64, which has no order");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_counted),
        cmocka_unit_test(an_integer_is_the_class_itself),
        cmocka_unit_test(what_cannot_be_scored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
