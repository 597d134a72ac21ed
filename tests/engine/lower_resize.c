/* Resize through the engine and through the plain executor: modes and coordinates, layouts, what
 * follows it, and what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define STEP "resize_f32 Resize"
#define DOUBLES "resize_f64 Resize"

/* From x to y by these sizes. */
static void resize(const char *x, const char *y, const char *attrs, const char *sizes,
                   const char *steps) {
    char text[512];
    snprintf(text, sizeof text,
             "m (float[%s] x) => (float[%s] y) <int64[4] s = {%s}> {"
             " y = Resize <%s> (x, , , s) }",
             x, y, sizes, attrs);
    engine_agrees(text, steps);
}

static void modes(void **state) {
    (void)state;
    static const char *const places[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners", "asymmetric"};
    static const char *const others[] = {"mode = \"nearest\", nearest_mode = \"floor\"",
                                         "mode = \"nearest\"",
                                         "mode = \"linear\"",
                                         "mode = \"cubic\"",
                                         "mode = \"cubic\", exclude_outside = 1",
                                         "mode = \"linear\", antialias = 1",
                                         "mode = \"cubic\", antialias = 1"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            char attrs[200];
            snprintf(attrs, sizeof attrs, "coordinate_transformation_mode = \"%s\", %s", places[i],
                     others[k]);
            resize("2,3,5,7", "2,3,10,14", attrs, "2, 3, 10, 14", STEP);
            resize("1,3,9,8", "1,3,4,11", attrs, "1, 3, 4, 11", STEP);
        }
}

/* A part of the image, and what is outside of it. */
static void crops(void **state) {
    (void)state;
    static const char *const modes_of[] = {"nearest", "linear", "cubic"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (float[1,2,6,5] x) => (float[1,2,7,9] y)"
                 " <float[8] roi = {0, 0, 0.2, -0.4, 1, 1, 1.3, 0.9}, int64[4] s = {1, 2, 7, 9}> {"
                 " y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\","
                 " mode = \"%s\", extrapolation_value = 3.5> (x, roi, , s) }",
                 modes_of[i]);
        engine_agrees(text, STEP);
    }
}

static void axes(void **state) {
    (void)state;
    const char *linear = "mode = \"linear\"";
    resize("1,3,5,7", "1,3,5,13", linear, "1, 3, 5, 13", STEP);
    resize("1,3,5,7", "1,3,11,7", linear, "1, 3, 11, 7", STEP);
    resize("2,5,6,7", "2,11,9,7", linear, "2, 11, 9, 7", STEP);
    resize("2,5,6,7", "2,5,6,7", linear, "2, 5, 6, 7", "");
    engine_agrees(
        "m (float[3,4,9] x) => (float[3,4,18] y) <float[3] s = {1, 1, 2}> {"
        " y = Resize <mode = \"linear\"> (x, , s) }",
        STEP);
    engine_agrees(
        "m (float[2,3,4,5,6] x) => (float[2,3,4,10,12] y) <float[2] s = {2, 2}> {"
        " y = Resize <axes = [3, 4]> (x, , s) }",
        STEP);
}

/* After a convolution channels are last: they stay so, and the sum needs no copy. */
static void channels_last(void **state) {
    (void)state;
    static const char *const modes_of[] = {"nearest", "linear"};
    for (int i = 0; i < 2; i++) {
        char text[640];
        snprintf(text, sizeof text,
                 "m (float[2,3,5,6] x, float[2,3,10,12] z, float[20,3,1,1] w, float[20,3,1,1] wz)"
                 " => (float[2,20,10,12] y) <float[4] s = {1, 1, 2, 2}> {"
                 " a = Conv (x, w) b = Resize <mode = \"%s\"> (a, , s) c = Conv (z, wz)"
                 " y = Add (b, c) }",
                 modes_of[i]);
        engine_agrees(text, "conv_f32 Conv, " STEP ", conv_f32 Conv+Add");
    }
    engine_agrees(
        "m (float[1,9,4,4] x) => (float[1,9,6,8] y) <int64[4] s = {1, 9, 6, 8}> {"
        " a = AveragePool <kernel_shape = [4, 4]> (x) y = Resize <mode = \"linear\"> (a, , , s) }",
        "pool_f32 AveragePool, " STEP);
}

/* More than two axes take several steps; what shrinks comes first. */
static void several_steps(void **state) {
    (void)state;
    static const char *const modes_of[] = {"nearest", "linear", "cubic"};
    static const struct {
        const char *y, *sizes, *steps;
    } cases[] = {{"2,3,9,7,10", "2, 3, 9, 7, 10", STEP ", " STEP},
                 {"2,3,2,3,10", "2, 3, 2, 3, 10", STEP ", " STEP},
                 {"2,3,2,11,3", "2, 3, 2, 11, 3", STEP ", " STEP},
                 {"2,6,9,7,3", "2, 6, 9, 7, 3", STEP ", " STEP ", " STEP},
                 {"5,6,9,8,7", "5, 6, 9, 8, 7", STEP ", " STEP ", " STEP}};
    for (int m = 0; m < 3; m++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char text[512];
            snprintf(text, sizeof text,
                     "m (float[2,3,4,5,6] x) => (float[%s] y) <int64[5] s = {%s}> {"
                     " y = Resize <mode = \"%s\"> (x, , , s) }",
                     cases[i].y, cases[i].sizes, modes_of[m]);
            engine_agrees(text, cases[i].steps);
        }
    resize("2,3,5,7", "4,3,10,14", "mode = \"nearest\"", "4, 3, 10, 14", STEP ", " STEP);
    engine_agrees(
        "m (float[1,2,6,5,4] x) => (float[1,2,7,9,5] y)"
        " <float[10] roi = {0, 0, 0.2, -0.4, 0.1, 1, 1, 1.3, 0.9, 1.2},"
        " int64[5] s = {1, 2, 7, 9, 5}> {"
        " y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\","
        " mode = \"linear\", extrapolation_value = 3.5> (x, roi, , s) }",
        STEP ", " STEP);
}

/* Integers and doubles: all modes, planar and with the channels last, axes that shrink and grow.
 * Integers are those of the plain executor, halves included. */
static void numbers(void **state) {
    (void)state;
    static const char *const types[] = {"uint8", "int8", "uint16", "int16", "int32", "double"};
    static const char *const modes_of[] = {"nearest", "linear", "cubic"};
    static const struct {
        const char *x, *y, *sizes, *steps;
    } cases[] = {{"2,3,9,40", "2,3,12,70", "2, 3, 12, 70", DOUBLES},
                 {"2,3,9,40", "2,3,4,17", "2, 3, 4, 17", DOUBLES},
                 {"2,3,9,40", "2,3,13,17", "2, 3, 13, 17", DOUBLES ", " DOUBLES},
                 {"2,9,40,3", "2,4,70,3", "2, 4, 70, 3", DOUBLES},
                 {"2,4,9,7", "2,8,5,13", "2, 8, 5, 13", DOUBLES ", " DOUBLES}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int m = 0; m < 3; m++)
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char text[640];
                snprintf(text, sizeof text,
                         "m (%s[%s] any) => (%s[%s] y) <int64[4] s = {%s}> {"
                         " y = Resize <mode = \"%s\"> (any, , , s) }",
                         types[t], cases[i].x, types[t], cases[i].y, cases[i].sizes, modes_of[m]);
                engine_agrees(text, cases[i].steps);
            }
    engine_agrees(
        "m (uint8[1,2,6,5] any) => (uint8[1,2,7,9] y)"
        " <float[8] roi = {0, 0, 0.2, -0.4, 1, 1, 1.3, 0.9}, int64[4] s = {1, 2, 7, 9}> {"
        " y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\","
        " mode = \"linear\", extrapolation_value = 300.5> (any, roi, , s) }",
        DOUBLES);
}

/* Written straight into its place in a concatenation. */
static void concatenated(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,20,5,6] x, float[2,4,10,12] z, float[8,20,1,1] w, float[5,4,1,1] wz)"
        " => (float[2,13,10,12] y) <float[4] s = {1, 1, 2, 2}> {"
        " a = Conv (x, w) b = Resize <mode = \"linear\"> (a, , s) c = Conv (z, wz)"
        " d = Concat <axis = 1> (c, b) e = Tanh (d)"
        " y = MaxPool <kernel_shape = [1, 1]> (e) }",
        "conv_f32 Conv, " STEP ", conv_f32 Conv, map_f32 Tanh, pool_f32 MaxPool");
}

/* Elements of any type, where each is repeated: copies, which are not named. */
static void repeated(void **state) {
    (void)state;
    static const char *const types[] = {"uint8", "int8", "double"};
    for (int i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (%s[2,3,4,5] x) => (%s[2,3,8,15] y) <float[4] s = {1, 1, 2, 3}> {"
                 " t = Transpose <perm = [0, 2, 3, 1]> (x) u = Transpose <perm = [0, 3, 1, 2]> (t)"
                 " y = Resize <coordinate_transformation_mode = \"asymmetric\","
                 " nearest_mode = \"floor\"> (u, , s) }",
                 types[i], types[i]);
        engine_agrees(text, "");
    }
    engine_agrees(
        "m (uint8[1,2,3,3] x) => (uint8[1,2,6,6] y) <float[4] s = {1, 1, 2, 2}> {"
        " y = Resize (x, , s) }",
        "");
}

static void declined(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,2,2,2,2,2,3] x) => (float[2,2,2,2,2,2,6] y) <int64[1] s = {6}> {"
        " y = Resize <axes = [6], mode = \"linear\"> (x, , , s) }",
        "reference Resize");
    engine_agrees(
        "m (int64[1,2,4,4] x) => (int64[1,2,6,8] y) <float[4] s = {1, 1, 1.5, 2}> {"
        " y = Resize (x, , s) }",
        "reference Resize");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),         cmocka_unit_test(crops),        cmocka_unit_test(axes),
        cmocka_unit_test(channels_last), cmocka_unit_test(concatenated), cmocka_unit_test(repeated),
        cmocka_unit_test(several_steps), cmocka_unit_test(numbers),      cmocka_unit_test(declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
