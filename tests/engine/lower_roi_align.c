/* RoiAlign through the engine and through the plain executor: both kinds of coordinates, averages
 * and largest values, layouts, regions that no image holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define STEP "roi_align_f32 RoiAlign"

static void align(const char *attrs, const char *steps) {
    char text[512];
    snprintf(text, sizeof text,
             "m (float[2,5,12,10] x) => (float[3,5,4,3] y)"
             " <float[3,4] r = {1, 2, 30, 40, -8, 3, 17, 20, 5, 60, 90, 70},"
             " int64[3] b = {0, 1, 1}> {"
             " y = RoiAlign <output_height = 4, output_width = 3, spatial_scale = 0.25%s>"
             " (x, r, b) }",
             attrs);
    engine_agrees(text, steps);
}

static void modes(void **state) {
    (void)state;
    align("", STEP);
    align(", sampling_ratio = 2", STEP);
    align(", coordinate_transformation_mode = \"output_half_pixel\"", STEP);
    align(", coordinate_transformation_mode = \"output_half_pixel\", sampling_ratio = 3", STEP);
    align(", mode = \"max\"", STEP);
    align(", mode = \"max\", sampling_ratio = 2", STEP);
}

/* After a convolution channels are last, and are read where they are: x, what the second one reads
 * and y are all that is copied. */
static void channels_last(void **state) {
    (void)state;
    int copies = engine_agrees(
        "m (float[1,16,12,12] x, float[16,16,3,3] w1, float[16,16,3,3] w2) => (float[2,16,7,7] y)"
        " <float[2,4] r = {1, 2, 8, 9, 0, 0, 11, 5}, int64[2] b = {0, 0}> {"
        " f = Conv <pads = [1, 1, 1, 1]> (x, w1)"
        " a = RoiAlign <output_height = 7, output_width = 7, sampling_ratio = 2> (f, r, b)"
        " y = Conv <pads = [1, 1, 1, 1]> (a, w2) }",
        NULL);
    assert_true(copies <= 3);
}

static void no_such_image(void **state) {
    (void)state;
    engine_refuses(
        "m (float[2,3,6,6] x, float[2,4] r, int64[2] b) => (float[2,3,2,2] y) {"
        " y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }",
        (int64_t[]){1, 2}, (int64_t[]){1, 0}, "batch index 2 of region 1 is outside [0, 2)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(channels_last),
        cmocka_unit_test(no_such_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
