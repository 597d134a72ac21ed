/* Gathers through the engine and through the plain executor: views, steps, and indices that are out
 * of range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define STEP "gather_rows Gather"

/* One Gather of float[4,5,6] by these constant indices. */
static void by_constant(const char *indices, const char *axis, const char *y, const char *steps) {
    char text[512];
    snprintf(text, sizeof text,
             "m (float[4,5,6] x) => (%s y) <%s> { g = Gather <axis = %s> (x, i) y = Tanh (g) }", y,
             indices, axis);
    engine_agrees(text, steps);
}

static void views(void **state) {
    (void)state;
    by_constant("int64 i = {3}", "1", "float[4,6]", "map_f32 Tanh");
    by_constant("int32 i = {-1}", "0", "float[5,6]", "map_f32 Tanh");
    by_constant("int64[1] i = {2}", "-1", "float[4,5,1]", "map_f32 Tanh");
    by_constant("int64[1,1] i = {2}", "1", "float[4,1,1,6]", "map_f32 Tanh");
    by_constant("int64[3] i = {0, 2, 4}", "1", "float[4,3,6]", "map_f32 Tanh");
    by_constant("int64[2,2] i = {-1, -2, -3, -4}", "1", "float[4,2,2,6]", "map_f32 Tanh");
    by_constant("int64[2] i = {1, 1}", "2", "float[4,5,2]", "map_f32 Tanh");
}

static void steps(void **state) {
    (void)state;
    by_constant("int64[4] i = {0, 2, 3, -5}", "1", "float[4,4,6]", STEP ", map_f32 Tanh");
    by_constant("int32[2,3] i = {0, 2, 3, -1, 1, 1}", "0", "float[2,3,5,6]", STEP ", map_f32 Tanh");
    by_constant("int64[4] i = {0, 2, 3, -6}", "2", "float[4,5,4]", STEP ", map_f32 Tanh");
    /* Of a view whose rows are apart, and of one whose elements are. */
    engine_agrees(
        "m (float[4,5,6] x, float[1] z) => (float[3,6,4] y) <int64[3] i = {4, 0, 1}> {"
        " t = Transpose <perm = [1, 2, 0]> (x) g = Gather (t, i) y = Add (g, z) }",
        STEP ", map_f32 Add");
    engine_agrees(
        "m (float[4,5,6] x, float[1] z) => (float[3,4,6] y) <int64[3] i = {4, 0, 1}> {"
        " t = Transpose <perm = [1, 0, 2]> (x) g = Gather (t, i) y = Add (g, z) }",
        STEP ", map_f32 Add");
}

static void computed_indices(void **state) {
    (void)state;
    const char *rows = "m (float[7,6] w, int64[2,2] i) => (float[2,2,6] y) { y = Gather (w, i) }";
    const char *columns =
        "m (float[3,5] x, int32[3] i) => (float[3,3] y) { y = Gather <axis = 1> (x, i) }";
    const int64_t good[] = {6, -7, 0, 3}, over[] = {0, 6, 7, 9}, under[] = {0, -7, -8, 1};
    engine_refuses(rows, over, good, "index 7 (at position 2 of the indices) is outside [-7, 7)");
    engine_refuses(rows, under, good, "index -8 (at position 2 of the indices) is outside [-7, 7)");
    const int64_t few[] = {4, -5, 0}, far[] = {4, -5, INT32_MIN};
    engine_refuses(columns, far, few,
                   "index -2147483648 (at position 2 of the indices) is outside [-5, 5)");
    engine_agrees(columns, STEP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views),
        cmocka_unit_test(steps),
        cmocka_unit_test(computed_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
