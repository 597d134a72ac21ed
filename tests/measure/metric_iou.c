#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

static const unsigned char masks[] = {0, 0, 1, 255, /**/ 1, 1, 2, 0};

static const int64_t answers[] = {0, 1, 1, 2, /**/ 1, 1, 2, 0};

static void unions_are_taken_over_all_samples(void **state) {
    (void)state;
    hone_evaluation e;
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", S64, answers, 2, 2, 2),
                         .n_targets = 1,
                         .targets = VALUE("target_mask", U8, masks, 2, 2, 2)};
    /* 0: wanted 3, answered 2, both 2. 1: wanted 3, answered 4, both 3. 2: 1, 1, 1. The pixel of
     * 255 does not count. */
    assert_near(metric_tables("miou", &b, &e).value, (2.0 / 3 + 3.0 / 4 + 1) / 3);
    assert_int_equal(e.n_class_rows, 3);
    assert_near(e.class_rows[0].iou, 2.0 / 3);
    assert_int_equal(e.class_rows[1].answers, 4);
    assert_near(metric_value("pixels", &b).value, 6.0 / 7);
    assert_string_equal(metric_value("miou", &b).interval, "bootstrap");
    assert_int_equal(metric_suits("miou", &b), 3);
}

static void scores_name_the_highest_class(void **state) {
    (void)state;
    float scores[2 * 3 * 4] = {0};
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < 4; p++) scores[(i * 3 + answers[i * 4 + p]) * 4 + p] = 1;
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, scores, 2, 3, 2, 2),
                         .n_targets = 1,
                         .targets = VALUE("target_mask", U8, masks, 2, 1, 2, 2)};
    assert_near(metric_value("miou", &b).value, (2.0 / 3 + 3.0 / 4 + 1) / 3);
}

static void masks_that_do_not_fit_are_refused(void **state) {
    (void)state;
    float scores[2 * 2 * 4] = {0};
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, scores, 2, 2, 2, 2),
                         .n_targets = 1,
                         .targets = VALUE("target_mask", U8, masks, 2, 2, 2)};
    metric_refuses("miou", &b, HONE_E_ARG, "sample 1: pixel 2 is of class 2");
    b.targets = VALUE("target_mask", U8, masks, 2, 1, 2);
    metric_refuses("miou", &b, HONE_E_SHAPE,
                   "output 'y' is f32[2, 2, 2, 2], which does not go with a mask of classes: "
                   "target 'target_mask' is u8[2, 1, 2]");
    assert_int_equal(metric_suits("miou", &b), 0);
    b.n_targets = 0;
    metric_refuses("miou", &b, HONE_E_SHAPE, "the dataset has none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_are_taken_over_all_samples),
        cmocka_unit_test(scores_name_the_highest_class),
        cmocka_unit_test(masks_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
