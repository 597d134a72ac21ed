/* GatherElements, GatherND and the scatters through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void gather_elements(void **state) {
    (void)state;
    engine_agrees(
        "m (float[4,5] x) => (float[4,3] y) <int64[4,3] i = {0, 4, -5, 2, 2, 1, -1, 3, 0, 4, 4, 4}>"
        " { y = GatherElements <axis = 1> (x, i) }",
        "gather_at GatherElements");
    engine_agrees(
        "m (int64[4,5] x) => (int64[2,4] y) <int32[2,4] i = {0, 3, -4, 2, 2, 1, -1, 3}>"
        " { y = GatherElements <axis = 0> (x, i) }",
        "gather_at GatherElements");
    /* Of a transposed view, as it lies; of bytes; of what is too small for it. */
    engine_agrees(
        "m (float[3,4,2] x, float[1] z) => (float[2,3,4] y) <int64[2,3,2] i ="
        " {0, 3, -4, 2, 2, 1, -1, 3, 0, 0, 1, 2}> { t = Transpose <perm = [2, 0, 1]> (x)"
        " g = GatherElements <axis = -1> (t, i) a = Add (g, z) y = Concat <axis = 2> (a, a) }",
        "gather_at GatherElements, map_f32 Add");
    engine_agrees(
        "m (bool[9,1] x) => (bool[3,1] y) <int64[3,1] i = {0, 5, -2}>"
        " { y = GatherElements (x, i) }",
        "gather_at GatherElements");
}

static void gather_at(void **state) {
    (void)state;
    engine_agrees(
        "m (float[4,5,6] x) => (float[3,6] y) <int64[3,2] i = {0, 4, -4, 2, 3, -5}>"
        " { y = GatherND (x, i) }",
        "gather_at GatherND");
    engine_agrees(
        "m (float[2,5,6] x) => (float[2,3] y) <int64[2,3,2] i ="
        " {0, 4, -4, 2, 3, -5, 1, 1, 4, 5, 0, 0}> { y = GatherND <batch_dims = 1> (x, i) }",
        "gather_at GatherND");
    engine_agrees("m (float[4,5] x) => (float y) <int64[2] i = {3, -1}> { y = GatherND (x, i) }",
                  "gather_at GatherND");
    /* Slices that are not adjacent. */
    engine_agrees(
        "m (float[6,4,5] x) => (float[3,5,6] y) <int64[3,1] i = {0, -1, 2}> {"
        " t = Transpose <perm = [1, 2, 0]> (x) y = GatherND (t, i) }",
        "gather_at GatherND");
}

static void scatter(void **state) {
    (void)state;
    static const char *const ops[] = {"none", "add", "mul", "max", "min"};
    static const char *const types[] = {"float", "int64", "int32", "bool"};
    for (int o = 0; o < 5; o++)
        for (int t = 0; t < 4; t++) {
            char text[512];
            const char *kind = o > 0 && t == 3 ? "reference" : "scatter_at";
            char steps[64];
            snprintf(text, sizeof text,
                     "m (%s[4,5] x, %s[3,4] u) => (%s[4,5] y) <int64[3,4] i ="
                     " {0, 4, -5, 2, 2, 2, 2, 3, 0, 4, 0, 4}>"
                     " { y = ScatterElements <axis = 1, reduction = \"%s\"> (x, i, u) }",
                     types[t], types[t], types[t], ops[o]);
            snprintf(steps, sizeof steps, "%s ScatterElements", kind);
            engine_agrees(text, steps);
            snprintf(text, sizeof text,
                     "m (%s[4,5,3] x, %s[4,3] u) => (%s[4,5,3] y) <int64[4,2] i ="
                     " {0, 4, -4, 2, 0, -1, 3, 3}>"
                     " { y = ScatterND <reduction = \"%s\"> (x, i, u) }",
                     types[t], types[t], types[t], ops[o]);
            snprintf(steps, sizeof steps, "%s ScatterND", kind);
            engine_agrees(text, steps);
        }
    /* The data is used again afterwards, and comes as a view. */
    engine_agrees(
        "m (float[5,4] x, float[3,5] u) => (float[4,5] y, float[5,4] z) <int64[3,5] i ="
        " {0, 1, 2, 3, 0, 1, 2, 3, 3, 3, -1, -2, -3, -4, 2}> { r = Tanh (x)"
        " t = Transpose (r) s = ScatterElements <axis = 0> (t, i, u) y = Relu (s)"
        " z = Neg (r) }",
        "map_f32 Tanh, scatter_at ScatterElements, map_f32 Relu, map_f32 Neg");
}

static void indices_outside(void **state) {
    (void)state;
    const int64_t good[] = {3, -4, 0, 1}, over[] = {0, 1, 4, 9}, under[] = {0, -4, -5, 1};
    engine_refuses(
        "m (float[4,2] x, int64[2,2] i) => (float[2,2] y) {"
        " y = GatherElements (x, i) }",
        over, good, "index 4 (at position 2 of the indices) is outside [-4, 4)");
    engine_refuses("m (float[4,4] x, int64[2,2] i) => (float[2] y) { y = GatherND (x, i) }", under,
                   good, "index -5 (at position 2 of the indices) is outside [-4, 4)");
    engine_refuses(
        "m (float[4,2] x, float[2,2] u, int32[2,2] i) => (float[4,2] y) {"
        " y = ScatterElements (x, i, u) }",
        over, good, "index 4 (at position 2 of the indices) is outside [-4, 4)");
    engine_refuses(
        "m (float[4,4] x, float[2] u, int64[2,2] i) => (float[4,4] y) {"
        " y = ScatterND <reduction = \"add\"> (x, i, u) }",
        under, good, "index -5 (at position 2 of the indices) is outside [-4, 4)");
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[4,5] x, float[1,5] u) => (float[1,5] y) <int64[1,5] i = {0, 1, 2, 3, 0}>"
        " { s = ScatterElements (x, i, u) y = GatherElements (s, i) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_elements), cmocka_unit_test(gather_at), cmocka_unit_test(scatter),
        cmocka_unit_test(indices_outside), cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
