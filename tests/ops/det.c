#include "support/op_test.h"

static void determinants(void **state) {
    (void)state;
    OP_RUN("Det", .in = {"f32[2, 2]{1 2 3 4}"}, .out = {"f32[]{-2}"});
    /* The first pivot is 0; three rows in a cycle are an even permutation. */
    OP_RUN("Det", .in = {"f64[2, 3, 3]{0 2 0 0 0 3 4 0 0  0 2 0 4 0 0 0 0 3}"},
           .out = {"f64[2]{24 -24}"});
    OP_RUN("Det", .in = {"f16[1, 2, 2, 2]{1 2 2 4 2 0 0 3}"}, .out = {"f16[1, 2]{0 6}"});
    OP_RUN("Det", .in = {"bf16[1, 1]{-7}"}, .out = {"bf16[]{-7}"});
    OP_RUN("Det", .in = {"f32[2, 2]{nan 0 0 1}"}, .out = {"f32[]{nan}"});
    /* The empty product. */
    OP_RUN("Det", .in = {"f32[2, 0, 0]{}"}, .out = {"f32[2]{1 1}"});
    OP_RUN("Det", .in = {"f32[0, 3, 3]{}"}, .out = {"f32[0]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Det", .in = {"f32[n, k, m, m]"}, .out = {"f32[n, k]"});
    OP_INFER("Det", .in = {"f32"}, .out = {"f32"});
    OP_INFER("Det", .in = {"f32[3]"}, .error = "rank 1");
    OP_INFER("Det", .in = {"f32[2, 3]"}, .error = "the sides of the matrices differ: 2 and 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(determinants), cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
