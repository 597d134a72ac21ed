#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/metric.h"

/* Two images, squares of side 10, classes 0 and 1.
 *
 *   image 0   boxes: A class 0 at (0, 0), B class 0 at (20, 0)
 *             found: 0.9 class 0 exactly A; 0.8 class 0 moved by 2 from B, which is 8 / 12 of the
 *             union; 0.3 class 0 exactly A again
 *   image 1   box: C class 1 at (0, 0)
 *             found: 0.6 class 0 nowhere; 0.5 class 1 exactly C
 *
 * Class 0 by score: 0.9 right, 0.8 right up to 0.65, 0.6 wrong, 0.3 wrong, of two boxes. Up to 0.65
 * precision is 1 up to recall 1: AP 1. Above it is 1 up to recall 0.5, 51 of the 101 places. Class
 * 1: AP 1. So map50 = 1, map75 = (51/101 + 1) / 2, and map averages 4 thresholds of one with 6 of
 * the other. */
#define LOW (51.0 / 101)

static const float boxes[] = {0,  0, 10, 10, /**/ 22, 0, 32, 10, /**/ 0, 0, 10, 10,
                              50, 0, 60, 10, /**/ 0,  0, 10, 10, /**/ 0, 0, 0,  0};
static const float scores[] = {0.9f, 0.8f, 0.3f, 0.6f, 0.5f, 0};
static const int64_t classes[] = {0, 0, 0, 0, 1, 0};
static const float wanted[] = {0, 0, 10, 10, 0, /**/ 20, 0, 30, 10, 0,
                               0, 0, 10, 10, 1, /**/ 0,  0, 0,  0,  -1};

static void precision_is_averaged_over_recall(void **state) {
    (void)state;
    const hone_value y[] = {ENTRY("scores", F32, scores, 2, 3), ENTRY("boxes", F32, boxes, 2, 3, 4),
                            ENTRY("classes", S64, classes, 2, 3)};
    hone_evaluation e;
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 3,
                         .outputs = y,
                         .n_targets = 1,
                         .targets = VALUE("target_boxes", F32, wanted, 2, 2, 5)};
    assert_near(metric_value("map50", &b).value, 1);
    assert_near(metric_value("map75", &b).value, (LOW + 1) / 2);
    assert_near(metric_tables("map", &b, &e).value, (4 + 6 * (LOW + 1) / 2) / 10);
    assert_int_equal(e.n_class_rows, 2);
    assert_int_equal(e.class_rows[0].samples, 2);
    assert_near(e.class_rows[0].ap, (4 + 6 * LOW) / 10);
    assert_near(e.class_rows[1].ap50, 1);
    assert_int_equal(metric_suits("map", &b), 7);
}

static void the_same_in_other_arrangements(void **state) {
    (void)state;
    float joined[2 * 3 * 6], by_class[2 * 3 * 2] = {0}, corners[2 * 2 * 4];
    int32_t ids[4];
    for (int i = 0; i < 6; i++) {
        memcpy(joined + 6 * i, boxes + 4 * i, 4 * sizeof *boxes);
        joined[6 * i + 4] = scores[i];
        joined[6 * i + 5] = (float)classes[i];
        by_class[2 * i + classes[i]] = scores[i];
    }
    for (int i = 0; i < 4; i++) {
        memcpy(corners + 4 * i, wanted + 5 * i, 4 * sizeof *wanted);
        ids[i] = (int32_t)wanted[5 * i + 4];
    }
    const hone_value targets[] = {ENTRY("target_classes", S32, ids, 2, 2),
                                  ENTRY("target_boxes", F32, corners, 2, 2, 4)};
    hone_eval_batch b = {.n = 2,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, joined, 2, 3, 6),
                         .n_targets = 2,
                         .targets = targets};
    assert_near(metric_value("map", &b).value, (4 + 6 * (LOW + 1) / 2) / 10);
    const hone_value named[] = {ENTRY("p", F32, by_class, 2, 3, 2),
                                ENTRY("q", F32, boxes, 2, 3, 4)};
    b.n_outputs = 2;
    b.outputs = named;
    metric_ask(1, 0, -1);
    assert_near(metric_value("map", &b).value, (4 + 6 * (LOW + 1) / 2) / 10);
    metric_ask(-1, -1, -1);
    metric_refuses("map", &b, HONE_E_SHAPE, "output 'p' is f32[2, 3, 2]; map wants boxes");
}

/* A box is found once: of two detections the worse is wrong, also where it overlaps more. */
static void a_box_is_taken_by_the_best_score(void **state) {
    (void)state;
    const float found[] = {1, 0, 11, 10, 0.9f, 0, /**/ 0, 0, 10, 10, 0.8f, 0};
    const float box[] = {0, 0, 10, 10, 0};
    hone_eval_batch b = {.n = 1,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, found, 1, 2, 6),
                         .n_targets = 1,
                         .targets = VALUE("target_boxes", F32, box, 1, 1, 5)};
    /* 9 / 11 of the union: right up to 0.80; above, the second is right, at a precision of 1/2. */
    assert_near(metric_value("map", &b).value, (7 + 3 * 0.5) / 10);
}

static void nothing_found_is_nothing(void **state) {
    (void)state;
    const float none[] = {0, 0, 0, 0, 0, 0}, box[] = {0, 0, 10, 10, 0}, no_box[] = {0, 0, 0, 0, -1};
    hone_eval_batch b = {.n = 1,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, none, 1, 1, 6),
                         .n_targets = 1,
                         .targets = VALUE("target_boxes", F32, box, 1, 1, 5)};
    assert_near(metric_value("map", &b).value, 0);
    b.targets = VALUE("target_boxes", F32, no_box, 1, 1, 5);
    assert_true(isnan(metric_value("map", &b).value));
}

static void hostile_numbers_are_survived(void **state) {
    (void)state;
    const float odd[] = {NAN, -INFINITY, INFINITY, 1e38f, 0.5f, 0, /**/ 0, 0,    1,
                         1,   NAN,       1e30f,    10,    10,   0, 0,      0.7f, 0};
    const float box[] = {-INFINITY, -1e38f, INFINITY, 1e38f, 0};
    const float large[] = {0, 0, 1, 1, 1e9f};
    hone_eval_batch b = {.n = 1,
                         .n_outputs = 1,
                         .outputs = VALUE("y", F32, odd, 1, 3, 6),
                         .n_targets = 1,
                         .targets = VALUE("target_boxes", F32, box, 1, 1, 5)};
    assert_near(metric_value("map", &b).value, 0);
    b.targets = VALUE("target_boxes", F32, large, 1, 1, 5);
    metric_refuses("map", &b, HONE_E_ARG, "sample 0 has a box of class 1000000000");
    b.n_targets = 0;
    metric_refuses("map", &b, HONE_E_ARG, "the dataset has none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precision_is_averaged_over_recall),
        cmocka_unit_test(the_same_in_other_arrangements),
        cmocka_unit_test(a_box_is_taken_by_the_best_score),
        cmocka_unit_test(nothing_found_is_nothing),
        cmocka_unit_test(hostile_numbers_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
