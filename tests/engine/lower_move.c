/* Operators that only move elements, through the engine and through the plain executor: each is a
 * view or one copy, whatever its axes, types and directions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static const char *const types[] = {"uint8", "int16", "float", "double"};
enum { N_TYPES = sizeof types / sizeof *types };

/* The input, of these dims, becomes y by that node, without a reference and with so many copies. */
static void moves(const char *type, const char *x, const char *y, const char *constants,
                  const char *node, int copies) {
    char text[512];
    snprintf(text, sizeof text, "m (%s%s many) => (%s%s y) <%s> { y = %s }", type, x, type, y,
             constants, node);
    assert_int_equal(engine_agrees(text, ""), copies);
}

static void tiles(void **state) {
    (void)state;
    static const struct {
        const char *x, *y, *repeats;
    } cases[] = {
        {"[1,5]", "[7,5]", "int64[2] r = {7, 1}"},
        {"[37,1]", "[37,19]", "int64[2] r = {1, 19}"},
        {"[1,4]", "[3,400]", "int64[2] r = {3, 100}"},
        {"[3,5]", "[3,5]", "int64[2] r = {1, 1}"},
        {"[3,5]", "[6,15]", "int64[2] r = {2, 3}"},
        {"[2,3,7,9]", "[2,12,14,18]", "int64[4] r = {1, 4, 2, 2}"},
        {"[2,1,28,30]", "[6,5,28,60]", "int64[4] r = {3, 5, 1, 2}"},
        {"[2,1,2,1,2,1,2,1,2]", "[4,2,4,1,4,2,4,1,4]", "int64[9] r = {2, 2, 2, 1, 2, 2, 2, 1, 2}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int t = 0; t < N_TYPES; t++)
            moves(types[t], cases[i].x, cases[i].y, cases[i].repeats, "Tile (many, r)", 1);
}

/* Repeats that steps read, and of what steps made; and what no copy can say. */
static void tiles_between(void **state) {
    (void)state;
    assert_int_equal(engine_agrees("m (float[6,1] x, float[6,40] v) => (float[6,40] y)"
                                   " <int64[2] r = {1, 40}> { t = Tile (x, r) y = Add (t, v) }",
                                   "map_f32 Add"),
                     0);
    engine_agrees(
        "m (float[1,4,6,6] x, float[5,4,3,3] w) => (float[1,10,4,8] y) <int64[4] r = {1, 2, 1, 2}>"
        " { c = Conv (x, w) t = Tile (c, r) y = Tanh (t) }",
        "conv_f32 Conv, map_f32 Tanh");
    engine_agrees("m (float x) => (float y) <int64[0] r = {}> { y = Tile (x, r) }", "");
    engine_agrees(
        "m (float[2,2,2,2,2,2,2,2,2] x) => (float[4,4,4,4,4,4,4,4,4] y)"
        " <int64[9] r = {2, 2, 2, 2, 2, 2, 2, 2, 2}> { y = Tile (x, r) }",
        "reference Tile");
}

/* Slices by every step that copies have loops for, forwards and backwards. */
static void slices(void **state) {
    (void)state;
    for (int t = 0; t < N_TYPES; t++) {
        moves(types[t], "[5,200]", "[5,100]",
              "int64[1] from = {1}, int64[1] to = {201}, int64[1] at = {1}, int64[1] by = {2}",
              "Slice (many, from, to, at, by)", 1);
        moves(types[t], "[5,200]", "[5,67]",
              "int64[1] from = {0}, int64[1] to = {200}, int64[1] at = {1}, int64[1] by = {3}",
              "Slice (many, from, to, at, by)", 1);
        moves(types[t], "[5,200]", "[5,200]",
              "int64[1] from = {-1}, int64[1] to = {-1000}, int64[1] at = {1}, int64[1] by = {-1}",
              "Slice (many, from, to, at, by)", 1);
        moves(types[t], "[5,201]", "[3,101]",
              "int64[2] from = {-1, -1}, int64[2] to = {-1000, -1000}, int64[2] at = {0, 1},"
              " int64[2] by = {-2, -2}",
              "Slice (many, from, to, at, by)", 1);
    }
}

static void transposes(void **state) {
    (void)state;
    for (int t = 0; t < N_TYPES; t++) {
        moves(types[t], "[2,70,9,11]", "[2,9,11,70]", "", "Transpose <perm = [0, 2, 3, 1]> (many)",
              1);
        moves(types[t], "[2,9,11,70]", "[2,70,9,11]", "", "Transpose <perm = [0, 3, 1, 2]> (many)",
              1);
        moves(types[t], "[1,3,30,31]", "[1,30,31,3]", "", "Transpose <perm = [0, 2, 3, 1]> (many)",
              1);
        moves(types[t], "[1,30,31,3]", "[1,3,30,31]", "", "Transpose <perm = [0, 3, 1, 2]> (many)",
              1);
        moves(types[t], "[7,2,50]", "[50,2,7]", "", "Transpose (many)", 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles),
        cmocka_unit_test(tiles_between),
        cmocka_unit_test(slices),
        cmocka_unit_test(transposes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
