/* Einsum as views, sums, products of elements and of matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void one_operand(void **state) {
    (void)state;
    engine_agrees(
        "m (float[3,4,5] x) => (float[3,5,4] y) { y = Einsum <equation = \"bij->bji\"> (x) }", "");
    engine_agrees("m (float[6,7] x) => (float[6] y) { y = Einsum <equation = \"ij->i\"> (x) }",
                  "reduce_f32 Einsum");
    engine_agrees("m (float[6,7] x) => (float[7] y) { y = Einsum <equation = \"ij->j\"> (x) }",
                  "reduce_f32 Einsum");
    engine_agrees("m (float[5,5] x) => (float[5] y) { y = Einsum <equation = \"ii->i\"> (x) }", "");
}

static void two_operands(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,3,4,5] q, float[2,3,6,5] k) => (float[2,3,4,6] y) {"
        " y = Einsum <equation = \"bhid,bhjd->bhij\"> (q, k) }",
        "matmul_f32 Einsum");
    engine_agrees(
        "m (float[2,3,4,5] x, float[4,5,6] z) => (float[2,3,6] y) {"
        " y = Einsum <equation = \"bfnd,ndh->bfh\"> (x, z) }",
        "matmul_f32 Einsum");
    engine_agrees(
        "m (float[2,7,3,5] x, float[2,4,7] z) => (float[2,4,3,5] y) {"
        " y = Einsum <equation = \"bchw,bkc->bkhw\"> (x, z) }",
        "matmul_f32 Einsum");
    engine_agrees(
        "m (float[6] x, float[7] z) => (float[6,7] y) {"
        " y = Einsum <equation = \"i,j->ij\"> (x, z) }",
        "map_f32 Einsum");
    engine_agrees(
        "m (float[3,4,5] x, float[3,4,5] z) => (float[3] y) {"
        " y = Einsum <equation = \"bij,bij->b\"> (x, z) }",
        "map_f32 Einsum, reduce_f32 Einsum");
    /* The rows of the first operand do not lie together, nor does the output of both. */
    engine_agrees(
        "m (float[3,4,5] x, float[4,6] z) => (float[5,6,3] y) {"
        " y = Einsum <equation = \"akc,kn->cna\"> (x, z) }",
        "matmul_f32 Einsum");
    engine_agrees(
        "m (float[2,3,5] x, float[2,5,4] z) => (float[2,3,4] y) {"
        " y = Einsum <equation = \"...ik,...kj->...ij\"> (x, z) }",
        "matmul_f32 Einsum");
}

static void doubles(void **state) {
    (void)state;
    engine_agrees(
        "m (double[3,4] x, double[4,5] w) => (double[3,5] y) {"
        " y = Einsum <equation = \"ik,kj->ij\"> (x, w) }",
        "matmul_f64 Einsum");
    engine_agrees(
        "m (double[3,4,5] x, double[4,6] z) => (double[5,6,3] y) {"
        " y = Einsum <equation = \"akc,kn->cna\"> (x, z) }",
        "matmul_f64 Einsum");
    engine_agrees(
        "m (double[3,4,5] x, double[3,4,5] z) => (double[3] y) {"
        " y = Einsum <equation = \"bij,bij->b\"> (x, z) }",
        "map_int Einsum, reduce_num Einsum");
    engine_agrees("m (double x, double z) => (double y) { y = Einsum <equation = \",->\"> (x, z) }",
                  "map_int Einsum");
    engine_agrees("m (double[6,7] x) => (double[7] y) { y = Einsum <equation = \"ij->j\"> (x) }",
                  "reduce_num Einsum");
}

static void declined(void **state) {
    (void)state;
    engine_agrees(
        "m (float[3,4] x, float[4,5] w) => (float[5] y) {"
        " y = Einsum <equation = \"ik,kj->j\"> (x, w) }",
        "reference Einsum");
    engine_agrees(
        "m (float[3,4] x, float[4,5] w, float[5,2] v) => (float[3,2] y) {"
        " y = Einsum <equation = \"ij,jk,kl->il\"> (x, w, v) }",
        "reference Einsum");
    engine_agrees(
        "m (float[3,1] x, float[4,5] w) => (float[3,5] y) {"
        " y = Einsum <equation = \"ij,jk->ik\"> (x, w) }",
        "reference Einsum");
}

static void memory_may_run_out(void **state) {
    (void)state;
    engine_survives(
        "m (float[3,4,5] x, float[4,6] z) => (float[5,6,3] y) {"
        " y = Einsum <equation = \"akc,kn->cna\"> (x, z) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_operand),
        cmocka_unit_test(two_operands),
        cmocka_unit_test(doubles),
        cmocka_unit_test(declined),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
