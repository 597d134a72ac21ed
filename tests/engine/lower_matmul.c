/* Products through the engine and through the plain executor: the numbers agree, and kernels for
 * products made them, not the definition of one in plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* The steps must be these, of rows other than the reference. */
static void runs_fast(const char *text, const char *steps) {
    engine_facts f = engine_ran(text);
    if (strcmp(f.steps, steps) != 0) fail_msg("%s, expected %s", f.steps, steps);
    if (strstr(f.kernels, "ref") != NULL) fail_msg("%s: %s", f.kernels, text);
}

static void additions(void **state) {
    (void)state;
    /* One number for each row, one for all, and a matrix that comes transposed. */
    runs_fast(
        "m (float[30,40] x, float[40,50] v, float[30,1] c) => (float[30,50] y) {"
        " p = MatMul (x, v) y = Add (p, c) }",
        "matmul_f32 MatMul+Add");
    runs_fast(
        "m (float[2,3,30,40] x, float[2,3,40,50] v, float[3,1,1] c)"
        " => (float[2,3,30,50] y) { p = MatMul (x, v) y = Add (c, p) }",
        "matmul_f32 MatMul+Add");
    runs_fast(
        "m (float[30,40] x, float[40,50] v, float[50,30] c) => (float[30,50] y) {"
        " p = MatMul (x, v) t = Transpose (c) s = Add (p, t) y = Relu (s) }",
        "matmul_f32 MatMul+Add+Relu");
}

static void gemms(void **state) {
    (void)state;
    runs_fast(
        "m (float[30,40] x, float[40,50] v, float[30,1] c) => (float[30,50] y) {"
        " y = Gemm <alpha = 0.5> (x, v, c) }",
        "matmul_f32 Gemm");
    runs_fast(
        "m (float[30,40] x, float[40,50] v, float[30,50] wc) => (float[30,50] y) {"
        " y = Gemm <beta = 0.5, alpha = 2.0> (x, v, wc) }",
        "matmul_f32 Gemm");
    runs_fast(
        "m (float[30,40] x, float[40,50] v, float[50] wc) => (float[30,50] y) {"
        " y = Gemm <beta = 3.0> (x, v, wc) }",
        "matmul_f32 Gemm");
    runs_fast(
        "m (float[30,40] x, float[40,50] w, float[30,1] c) => (float[30,50] y) {"
        " y = Gemm (x, w, c) }",
        "conv_f32 Gemm");
    runs_fast(
        "m (float[30,40] x, float[40,50] w, float wc) => (float[30,50] y) {"
        " y = Gemm <beta = -1.0> (x, w, wc) }",
        "conv_f32 Gemm");
    runs_fast(
        "m (float[30,40] x, float[40,50] v, float[50] c) => (float[30,50] y) {"
        " y = Gemm <beta = 0.5> (x, v, c) }",
        "map_f32 Gemm, matmul_f32 Gemm");
    runs_fast(
        "m (float[30,40] x, float[50,40] w, float[1,30] c) => (float[30,50] y) {"
        " t = Transpose (c) y = Gemm <beta = 2.0, transB = 1> (x, w, t) }",
        "map_f32 Gemm, conv_f32 Gemm");
}

static void few_rows(void **state) {
    (void)state;
    runs_fast("m (float[1,300] x, float[300,70] v) => (float[1,70] y) { y = MatMul (x, v) }",
              "matmul_f32 MatMul");
    runs_fast("m (float[90,300] x, float[300] v) => (float[90] y) { y = MatMul (x, v) }",
              "matmul_f32 MatMul");
    runs_fast(
        "m (float[3,90,300] x, float[3,300,2] v, float[2] b) => (float[3,90,2] y) {"
        " p = MatMul (x, v) s = Add (p, b) y = Sigmoid (s) }",
        "matmul_f32 MatMul+Add+Sigmoid");
}

static void shared_matrices(void **state) {
    (void)state;
    runs_fast(
        "m (float[4,5,30,40] x, float[40,50] v, float[5,1,50] c) => (float[4,5,30,50] y) {"
        " p = MatMul (x, v) y = Add (p, c) }",
        "matmul_f32 MatMul+Add");
    runs_fast(
        "m (float[4,5,30,40] x, float[40,50] v) => (float[4,5,30,50] y) {"
        " y = MatMul (x, v) }",
        "matmul_f32 MatMul");
    runs_fast(
        "m (float[4,5,30,40] x, float[5,40,50] v) => (float[4,5,30,50] y) {"
        " y = MatMul (x, v) }",
        "matmul_f32 MatMul");
}

static void doubles(void **state) {
    (void)state;
    runs_fast(
        "m (double[2,30,40] x, double[2,50,40] z) => (double[2,30,50] y) {"
        " y = com.microsoft.FusedMatMul <alpha = 0.125, transB = 1> (x, z) }",
        "matmul_f64 FusedMatMul");
    runs_fast("m (double[2,30,40] x, double[40,50] v) => (double[2,30,50] y) { y = MatMul (x, v) }",
              "matmul_f64 MatMul");
    runs_fast("m (double[40] x, double[40,50] w) => (double[50] y) { y = MatMul (x, w) }",
              "matmul_f64 MatMul");
    runs_fast(
        "m (double[40,30] x, double[50,40] v, double[30,1] c) => (double[30,50] y) {"
        " y = Gemm <transA = 1, transB = 1, alpha = 0.5> (x, v, c) }",
        "matmul_f64 Gemm");
    runs_fast(
        "m (double[30,40] x, double[40,50] w, double[50] wc) => (double[30,50] y) {"
        " y = Gemm (x, w, wc) }",
        "matmul_f64 Gemm");
}

static void integers(void **state) {
    (void)state;
    static const char *const types[] = {"int32", "uint32", "int64", "uint64"};
    for (int i = 0; i < 4; i++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "m (%s[2,30,40] any, %s[40,50] any2) => (%s[2,30,50] y) { y = MatMul (any, any2) }",
            types[i], types[i], types[i]);
        engine_agrees(text, "matmul_int MatMul");
        snprintf(text, sizeof text,
                 "m (%s[3,1,7,300] any, %s[5,300,33] any2) => (%s[3,5,7,33] y) { y = MatMul (any, "
                 "any2) }",
                 types[i], types[i], types[i]);
        engine_agrees(text, "matmul_int MatMul");
        snprintf(text, sizeof text,
                 "m (%s[40] any, %s[40,50] any2) => (%s[50] y) { y = MatMul (any, any2) }",
                 types[i], types[i], types[i]);
        engine_agrees(text, "matmul_int MatMul");
        snprintf(text, sizeof text,
                 "m (%s[6,40] any, %s[50,40] any2) => (%s[6,50] y) {"
                 " t = Transpose (any2) y = MatMul (any, t) }",
                 types[i], types[i], types[i]);
        engine_agrees(text, "matmul_int MatMul");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(additions),       cmocka_unit_test(gemms),   cmocka_unit_test(few_rows),
        cmocka_unit_test(shared_matrices), cmocka_unit_test(doubles), cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
