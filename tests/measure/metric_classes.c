#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

/* Answers 0 0 1 1 1 2 for labels 0 0 0 1 2 2; class 3 never occurs. */
static const float scores[] = {9, 1, 1, 1, /**/ 9, 1, 1, 1, /**/ 1, 9, 1, 1, /**/
                               1, 9, 1, 1, /**/ 1, 9, 9, 1, /**/ 1, 1, 9, 1};
static const int64_t labels[] = {0, 0, 0, 1, 2, 2};

static hone_eval_batch six(void) {
    static const hone_value y[] = {ENTRY("y", F32, scores, 6, 4)};
    return (hone_eval_batch){.n = 6, .n_outputs = 1, .outputs = y, .labels = labels};
}

/* precision 1, 1/3, 1; recall 2/3, 1, 1/2; F1 4/5, 1/2, 2/3. */
static void classes_are_averaged(void **state) {
    (void)state;
    hone_eval_batch b = six();
    assert_near(metric_value("precision", &b).value, (1 + 1.0 / 3 + 1) / 3);
    assert_near(metric_value("recall", &b).value, (2.0 / 3 + 1 + 0.5) / 3);
    assert_near(metric_value("f1", &b).value, (0.8 + 0.5 + 2.0 / 3) / 3);
    assert_string_equal(metric_value("f1", &b).interval, "bootstrap");
    assert_near(metric_value("precision_micro", &b).value, 4.0 / 6);
    assert_near(metric_value("recall_micro", &b).value, 4.0 / 6);
    assert_near(metric_value("f1_micro", &b).value, 4.0 / 6);
    assert_string_equal(metric_value("f1_micro", &b).interval, "wilson");
}

static void tables_say_what_became_of_each_class(void **state) {
    (void)state;
    hone_eval_batch b = six();
    hone_evaluation e;
    metric_tables("f1", &b, &e);
    static const int64_t confusion[] = {2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0};
    assert_int_equal(e.classes, 4);
    assert_memory_equal(e.confusion, confusion, sizeof confusion);
    assert_int_equal(e.n_class_rows, 4);
    assert_int_equal(e.class_rows[1].samples, 1);
    assert_int_equal(e.class_rows[1].answers, 3);
    assert_int_equal(e.class_rows[1].correct, 1);
    assert_near(e.class_rows[0].recall, 2.0 / 3);
    assert_near(e.class_rows[1].precision, 1.0 / 3);
    assert_near(e.class_rows[2].f1, 2.0 / 3);
    assert_true(isnan(e.class_rows[2].iou));
}

static void classes_may_be_named(void **state) {
    (void)state;
    const int32_t answers[] = {0, 0, 1, 1, 1, 2};
    hone_eval_batch b = six();
    hone_evaluation e;
    b.outputs = VALUE("y", S32, answers, 6);
    assert_near(metric_tables("f1", &b, &e).value, (0.8 + 0.5 + 2.0 / 3) / 3);
    assert_int_equal(e.classes, 3);
}

static void what_cannot_be_scored_is_refused(void **state) {
    (void)state;
    const int64_t wrong[] = {0, 0, 0, 1, 2, 4};
    const int32_t answers[] = {0, 0, 1, 1, -1, 2};
    hone_eval_batch b = six();
    b.labels = wrong;
    metric_refuses("f1", &b, HONE_E_ARG, "sample 5 has label 4, but output 'y' has 4 classes");
    b = six();
    b.outputs = VALUE("y", S32, answers, 6);
    metric_refuses("f1", &b, HONE_E_ARG, "output 'y' says class -1 for sample 4");
    b.labels = NULL;
    metric_refuses("f1", &b, HONE_E_ARG, "no labels");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_averaged),
        cmocka_unit_test(tables_say_what_became_of_each_class),
        cmocka_unit_test(classes_may_be_named),
        cmocka_unit_test(what_cannot_be_scored_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
