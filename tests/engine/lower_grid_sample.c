/* GridSample through the engine and through the plain executor: modes and paddings, layouts, and
 * what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define STEP "grid_sample_f32 GridSample"

static void modes(void **state) {
    (void)state;
    static const char *const modes_of[] = {"nearest", "linear", "cubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    for (int i = 0; i < 18; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "m (float[2,3,6,7] x, float[2,5,4,2] g) => (float[2,3,5,4] y) {"
                 " y = GridSample <mode = \"%s\", padding_mode = \"%s\", align_corners = %d>"
                 " (x, g) }",
                 modes_of[i % 3], paddings[i / 3 % 3], i / 9);
        engine_agrees(text, STEP);
        snprintf(text, sizeof text,
                 "m (float[2,5,4,6,7] x, float[2,3,5,4,3] g) => (float[2,5,3,5,4] y) {"
                 " y = GridSample <mode = \"%s\", padding_mode = \"%s\", align_corners = %d>"
                 " (x, g) }",
                 modes_of[i % 3], paddings[i / 3 % 3], i / 9);
        engine_agrees(text, STEP);
        snprintf(text, sizeof text,
                 "m (float[2,5,9] x, float[2,6,1] g) => (float[2,5,6] y) {"
                 " y = GridSample <mode = \"%s\", padding_mode = \"%s\", align_corners = %d>"
                 " (x, g) }",
                 modes_of[i % 3], paddings[i / 3 % 3], i / 9);
        engine_agrees(text, STEP);
    }
}

/* After a convolution channels are last: they stay so, and the next one needs no copy. */
static void channels_last(void **state) {
    (void)state;
    int copies = engine_agrees(
        "m (float[1,16,12,12] x, float[1,9,9,2] g, float[16,16,3,3] w1, float[16,16,3,3] w2)"
        " => (float[1,16,9,9] y) {"
        " f = Conv <pads = [1, 1, 1, 1]> (x, w1)"
        " a = GridSample (f, g)"
        " y = Conv <pads = [1, 1, 1, 1]> (a, w2) }",
        NULL);
    assert_true(copies <= 2); /* x and y */
}

static void references(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,2,3,4,5,2] x, float[1,4,6,5,2,4] g) => (float[1,2,4,6,5,2] y) {"
        " y = GridSample (x, g) }",
        "reference GridSample");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(channels_last),
        cmocka_unit_test(references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
