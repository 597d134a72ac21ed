/* TopK, ArgMax, ArgMin, CumSum, CumProd and OneHot through the engine and the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static const char *const types[] = {"float", "double", "int64", "int32"};
enum { FLOATS = 2, TYPES = 4 }; /* those that have NaN come first */

static void top_k(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int largest = 0; largest < 2; largest++)
            for (int axis = -1; axis < 2; axis++) {
                char text[512];
                snprintf(text, sizeof text,
                         "m (%s[%d,%d,130] %s) => (%s[%s] v, int64[%s] i) <int64[1] k = {3}> {"
                         " v, i = TopK <axis = %d, largest = %d> (%s, k) }",
                         types[t], 4, 5, t < FLOATS ? "odd_x" : "x", types[t],
                         axis < 0    ? "4,5,3"
                         : axis == 0 ? "3,5,130"
                                     : "4,3,130",
                         axis < 0    ? "4,5,3"
                         : axis == 0 ? "3,5,130"
                                     : "4,3,130",
                         axis, largest, t < FLOATS ? "odd_x" : "x");
                engine_agrees(text, "select_k TopK");
            }
    /* All of a line; one output; a transposed view; a type that has no kernel. */
    engine_agrees("m (float[3,70] x) => (int64[3,70] i) <int64[1] k = {70}> { v, i = TopK (x, k) }",
                  "select_k TopK");
    engine_agrees(
        "m (float[70,3] x) => (float[3,2] v) <int64[1] k = {2}> {"
        " t = Transpose (x) v, i = TopK <sorted = 0> (t, k) }",
        "select_k TopK");
    engine_agrees("m (uint8[9] x) => (uint8[2] v) <int64[1] k = {2}> { v, i = TopK (x, k) }",
                  "reference TopK");
}

static void arg(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int last = 0; last < 2; last++)
            for (int k = 0; k < 2; k++) {
                char text[512], steps[32];
                const char *op = k == 0 ? "ArgMax" : "ArgMin", *x = t < FLOATS ? "odd_x" : "x";
                snprintf(steps, sizeof steps, "select_k %s", op);
                snprintf(text, sizeof text,
                         "m (%s[3,19,70] %s) => (int64[3,1,70] y) {"
                         " y = %s <axis = 1, select_last_index = %d> (%s) }",
                         types[t], x, op, last, x);
                engine_agrees(text, steps);
                snprintf(text, sizeof text,
                         "m (%s[3,200] %s) => (int64[3] y) {"
                         " y = %s <axis = -1, keepdims = 0, select_last_index = %d> (%s) }",
                         types[t], x, op, last, x);
                engine_agrees(text, steps);
            }
}

static void scan(void **state) {
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int how = 0; how < 8; how++) {
            char text[512], steps[32];
            const char *op = how & 1 ? "CumProd" : "CumSum";
            snprintf(steps, sizeof steps, "prefix %s", op);
            snprintf(text, sizeof text,
                     "m (%s[3,5,7] x) => (%s[3,5,7] y) <int64 a = {%d}> {"
                     " y = %s <exclusive = %d, reverse = %d> (x, a) }",
                     types[t], types[t], how % 3 - 1, op, how >> 1 & 1, how >> 2);
            engine_agrees(text, steps);
        }
}

static void one_hot(void **state) {
    (void)state;
    engine_agrees(
        "m (int64[4,3] i) => (float[4,3,5] y) <int64 d = {5}, float[2] v = {-1, 2}>"
        " { y = OneHot (i, d, v) }",
        "hot_rows OneHot");
    engine_agrees(
        "m (int32[4,3] i, int64[2] v) => (int64[4,2,3] y) <int64[1] d = {2}>"
        " { y = OneHot <axis = 1> (i, d, v) }",
        "hot_rows OneHot");
    engine_agrees(
        "m (float[4] i) => (float[4,3] y) <int64 d = {3}, float[2] v = {0, 2}>"
        " { y = OneHot (i, d, v) }",
        "reference OneHot");
}

static void hardmax(void **state) {
    (void)state;
    static const char steps[] = "select_k Hardmax, hot_rows Hardmax";
    for (int axis = -1; axis < 2; axis++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "m (float[4,5,130] odd_x) => (float[4,5,130] y) { y = Hardmax <axis = %d> (odd_x) }",
            axis);
        engine_agrees(text, steps);
    }
    engine_agrees("m (float[70,3,2] x) => (float[2,3,70] y) { t = Transpose (x) y = Hardmax (t) }",
                  steps);
    engine_agrees("m (double[2,9] x) => (double[2,9] y) { y = Hardmax (x) }", "reference Hardmax");
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[4,5] x) => (int64[4,2] i, float[4,5] s, float[4,6] h)"
        " <int64[1] k = {2}, int64 a = {1}, int64 d = {6}, float[2] w = {0, 1}> {"
        " v, i = TopK (x, k) s = CumSum (x, a)"
        " m = ArgMax <axis = 1, keepdims = 0> (x) h = OneHot (m, d, w) r = Hardmax (s) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_k),   cmocka_unit_test(arg),     cmocka_unit_test(scan),
        cmocka_unit_test(one_hot), cmocka_unit_test(hardmax), cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
