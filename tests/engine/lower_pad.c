/* Pad through the engine and through the plain executor: every mode, borders longer than the image,
 * cut edges, other types; and what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* From x to y; then from what a convolution made, whose channels are last. */
static void pad(const char *mode, const char *y, const char *pads, const char *steps) {
    char text[640];
    snprintf(text, sizeof text,
             "m (float[2,3,4,5] x) => (float[%s] y) <int64[8] p = {%s}, float v = {1.5}> {"
             " y = Pad <mode = \"%s\"> (x, p%s) }",
             y, pads, mode, mode[0] == 'c' ? ", v" : "");
    engine_agrees(text, steps);
    snprintf(text, sizeof text,
             "m (float[2,6,4,5] x, float[6,6,1,1] w0, float[3,6,1,1] w) => (float[%s] y)"
             " <int64[8] p = {%s}> { a = Conv (x, w0) c = Conv (a, w) z = Pad <mode = \"%s\"> (c, "
             "p) y = Tanh (z) }",
             y, pads, mode);
    if (steps[0] == '\0') engine_agrees(text, "conv_f32 Conv, conv_f32 Conv, map_f32 Tanh");
}

static void modes(void **state) {
    (void)state;
    static const char *const all[] = {"constant", "edge", "reflect", "wrap"};
    for (int i = 0; i < 4; i++) {
        pad(all[i], "2,3,6,8", "0, 0, 1, 2, 0, 0, 1, 1", "");
        pad(all[i], "2,3,4,8", "0, 0, 0, 0, 0, 0, 0, 3", "");
        pad(all[i], "3,5,5,6", "1, 0, 1, 1, 0, 2, 0, 0", "");
        pad(all[i], "2,3,4,4", "0, 0, -1, 1, 0, 0, 1, -2", "");
        /* Borders longer than the image: the runs turn back, or begin again. */
        pad(all[i], "2,3,20,24", "0, 0, 9, 8, 0, 0, 7, 11", "");
    }
}

static void other_forms(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,3,4,5] x) => (float[2,3,7,5] y)"
        " <int64[2] p = {2, 1}, int64[1] a = {-2}> { y = Pad (x, p, , a) }",
        "");
    engine_agrees(
        "m (uint8[2,3,4] x) => (uint8[2,3,9] y) <int64[6] p = {0, 0, 2, 0, 0, 3}> {"
        " y = Pad <mode = \"reflect\"> (x, p) }",
        "");
    engine_agrees(
        "m (double[3] x, double v) => (double[6] y) <int64[2] p = {2, 1}> {"
        " y = Pad (x, p, v) }",
        "");
    engine_agrees(
        "m (float[1,3] x) => (float[5,3] y) <int64[4] p = {3, 0, 1, 0}> {"
        " y = Pad <mode = \"reflect\"> (x, p) }",
        "");
}

static void declined(void **state) {
    (void)state;
    pad("reflect", "2,3,4,45", "0, 0, 0, 40, 0, 0, 0, 0", "reference Pad");
    engine_agrees(
        "m (float[4] x) => (float[1] y) <int64[2] p = {-6, 3}, float v = {2}> {"
        " y = Pad (x, p, v) }",
        "reference Pad");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
