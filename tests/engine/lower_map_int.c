/* Elementwise operators on integers, through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void one(const char *inputs, const char *constants, const char *y, const char *op,
                const char *args, const char *steps) {
    char text[512];
    snprintf(text, sizeof text, "m (%s) => (%s y) <%s> { y = %s %s }", inputs, y, constants, op,
             args);
    engine_agrees(text, steps);
}

static void every_operator(void **state) {
    (void)state;
    static const char *const types[] = {"int64", "int32", "uint8"};
    static const char *const binary[] = {"Add", "Sub",        "Mul",       "Min",
                                         "Max", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    static const char *const compare[] = {"Equal", "Greater", "GreaterOrEqual", "Less",
                                          "LessOrEqual"};
    static const char *const unary[] = {"Abs", "Neg", "Sign", "Relu", "BitwiseNot"};
    char in[128], y[32], steps[64], constants[64];
    for (int t = 0; t < 3; t++) {
        snprintf(in, sizeof in, "%s[4,5,6] a, %s[5,1] b", types[t], types[t]);
        snprintf(y, sizeof y, "%s[4,5,6]", types[t]);
        for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
            snprintf(steps, sizeof steps, "map_int %s", binary[i]);
            one(in, "", y, binary[i], "(a, b)", steps);
        }
        for (size_t i = 0; i < sizeof compare / sizeof *compare; i++) {
            snprintf(steps, sizeof steps, "map_int %s", compare[i]);
            one(in, "", "bool[4,5,6]", compare[i], "(a, b)", steps);
        }
        for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
            if (t == 2 && (i == 1 || i == 3)) continue; /* signed types alone */
            snprintf(steps, sizeof steps, "map_int %s", unary[i]);
            one(in, "", y, unary[i], "(a)", steps);
        }
        snprintf(constants, sizeof constants, "%s[6] d = {3, 2, 7, 1, 5, 100}", types[t]);
        one(in, constants, y, "Div", "(a, d)", "map_int Div");
        one(in, constants, y, "Mod", "(a, d)", "map_int Mod");
        one(in, constants, y, "Mod <fmod = 1>", "(a, d)", "map_int Mod");
        snprintf(in, sizeof in, "bool[4,1,6] c, %s[5,1] a, %s[1] b", types[t], types[t]);
        one(in, "", y, "Where", "(c, a, b)", "map_int Where");
    }
    one("int32[4,5] a", "int32[5] d = {-3, -1, 7, -2, 1}", "int32[4,5]", "Mod", "(a, d)",
        "map_int Mod");
}

static void casts(void **state) {
    (void)state;
    static const char *const types[] = {"int64", "int32", "uint8", "bool", "float"};
    static const int to[] = {7, 6, 2, 9, 1};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            if (i == k || (i > 2 && k > 2)) continue;
            char in[64], y[64], op[64];
            snprintf(in, sizeof in, "%s[3,70] %s", types[i], i == 4 ? "odd_x" : "x");
            snprintf(y, sizeof y, "%s[3,70]", types[k]);
            snprintf(op, sizeof op, "Cast <to = %d>", to[k]);
            one(in, "", y, op, i == 4 ? "(odd_x)" : "(x)", "map_int Cast");
        }
    one("float[9] x, int64[1] like", "", "int64[9]", "CastLike", "(x, like)", "map_int CastLike");
}

static void several_inputs(void **state) {
    (void)state;
    one("int64[4,5] a, int64[5] b, int64[4,1] c", "", "int64[4,5]", "Max", "(a, b, c)",
        "map_int Max, map_int Max");
    one("int64[5] b, int64[4,1] c, int64[1] d", "", "int64[4,5]", "Min", "(b, c, d)",
        "map_int Min, map_int Min");
    one("int64[4,5] a", "", "int64[4,5]", "Max", "(a)", "");
    one("int64[4,5] a", "int64 l = {-1}, int64 h = {1}", "int64[4,5]", "Clip", "(a, l, h)",
        "map_int Clip");
    one("int32[4,5] a", "int32 l = {0}", "int32[4,5]", "Clip", "(a, l)", "map_int Clip");
    one("int32[4,5] a", "int32 h = {0}", "int32[4,5]", "Clip", "(a, , h)", "map_int Clip");
}

static void layouts(void **state) {
    (void)state;
    /* What is transposed is read as it lies, and a result goes to its place in a concatenation. */
    engine_agrees(
        "m (int64[3,4,5] x, int64[5,3] b) => (int64[4,5,6] y) {"
        " t = Transpose <perm = [1, 2, 0]> (x) s = Add (t, b) p = Mul (t, t)"
        " y = Concat <axis = 2> (s, p) }",
        "map_int Add, map_int Mul");
    engine_agrees("m (int64 x) => (int64 y) <int64 z = {5}> { y = Sub (x, z) }", "map_int Sub");
    /* A mask from integers, used by floats. */
    engine_agrees(
        "m (int64[2,9] x, float[2,9] z) => (float[2,9] y) <int64 zero = {0}, float[1] n = {0}> {"
        " e = Equal (x, zero) y = Where (e, n, z) }",
        "map_int Equal, map_f32 Where");
    /* Types that have no kernel run as the reference. */
    engine_agrees("m (int16[5] x, int16[5] z) => (int16[5] y) { y = Add (x, z) }", "reference Add");
}

static void doubles(void **state) {
    (void)state;
    one("double[4,70] x", "double[1] e = {1.7}", "double[4,70]", "Pow", "(x, e)", "map_int Pow");
    one("double[4,70] x", "float e = {0.5}", "double[4,70]", "Pow", "(x, e)", "map_int Pow");
    one("double[4,70] x, double[70] e", "", "double[4,70]", "Pow", "(x, e)", "map_int Pow");
    one("double[4,70] x, float[70] e", "", "double[4,70]", "Pow", "(x, e)", "reference Pow");
    static const char *const exponents[] = {"2", "3", "-1", "-2"};
    for (int i = 0; i < 4; i++) {
        char constants[64];
        snprintf(constants, sizeof constants, "int64 e = {%s}", exponents[i]);
        one("double[4,70] x", constants, "double[4,70]", "Pow", "(x, e)", "map_int Pow");
        if (i < 2) one("int64[4,9] x", constants, "int64[4,9]", "Pow", "(x, e)", "map_int Pow");
    }
    one("double[4,70] odd_x", "", "bool[4,70]", "IsNaN", "(odd_x)", "map_int IsNaN");
    one("double[4,70] odd_x", "", "bool[4,70]", "IsInf", "(odd_x)", "map_int IsInf");
    one("double[4,70] odd_x", "", "bool[4,70]", "IsInf <detect_negative = 0>", "(odd_x)",
        "reference IsInf");
    one("double[4,70] x", "double[1] d = {0.7}", "double[4,70]", "Mod <fmod = 1>", "(x, d)",
        "map_int Mod");
    static const char batch[] =
        "double[3] s = {1, 2, -0.5}, double[3] b = {0.1, 0.2, 0.3},"
        " double[3] m = {0.5, -1, 0}, double[3] v = {1, 0.25, 4}";
    one("double[2,3,4,5] x", batch, "double[2,3,4,5]", "BatchNormalization", "(x, s, b, m, v)",
        "map_int BatchNormalization");
    one("double[2,3] x", batch, "double[2,3]", "BatchNormalization", "(x, s, b, m, v)",
        "map_int BatchNormalization");
    engine_agrees(
        "m (double[2,3,4] x, double[3] v) => (double[2,3,4] y) <double[3] s = {1, 2, 3}> {"
        " a = Abs (v) y = BatchNormalization (x, s, s, s, a) }",
        "map_int Abs, reference BatchNormalization");
}

static void division_by_zero(void **state) {
    (void)state;
    const int64_t bad[] = {2, 3, 1, 0, 5, 0}, good[] = {2, 3, 1, -1, 5, 9};
    engine_refuses("m (int64[4,3,2] x, int64[3,2] d) => (int64[4,3,2] y) { y = Div (x, d) }", bad,
                   good, "division by zero: element 3 of the divisor");
    engine_refuses(
        "m (int32[4,2,3] x, int32[3,2] d) => (int32[4,2,3] y) {"
        " t = Transpose (d) y = Mod (x, t) }",
        bad, good, "division by zero: element 4 of the divisor");
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (int64[4,5] a, int64[5] b) => (bool[4,5] y) {"
        " s = Max (a, b, b) y = Less (s, b) }");
    engine_survives(
        "m (double[2,3] x) => (double[2,3] y) <double[3] s = {1, 2, 3}, float[1] e = {1.5}> {"
        " n = BatchNormalization (x, s, s, s, s) y = Pow (n, e) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator), cmocka_unit_test(casts),
        cmocka_unit_test(several_inputs), cmocka_unit_test(layouts),
        cmocka_unit_test(doubles),        cmocka_unit_test(division_by_zero),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
