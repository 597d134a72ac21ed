#include "support/op_test.h"

static void norms(void **state) {
    (void)state;
    OP_RUN("LpNormalization", .in = {"f32[2, 2]{3 -4 0 0}"}, .out = {"f32[2, 2]{0.6 -0.8 0 0}"});
    OP_RUN("LpNormalization", .attrs = "p=1 axis=0", .in = {"f64[2, 2]{3 -4 1 4}"},
           .out = {"f64[2, 2]{0.75 -0.5 0.25 0.5}"});
    OP_RUN("LpNormalization", .in = {"f16[2]{3000 4000}"}, .out = {"f16[2]{0.6 0.8}"});
    OP_RUN("LpNormalization", .in = {"bf16[2]{nan 1}"}, .out = {"bf16[2]{nan nan}"});
    OP_RUN("LpNormalization", .in = {"f32[2, 0]{}"}, .out = {"f32[2, 0]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("LpNormalization", .in = {"f32[n, w]"}, .out = {"f32[n, w]"});
    OP_INFER("LpNormalization", .in = {"f32"}, .out = {"f32"});
    OP_INFER("LpNormalization", .attrs = "axis=2", .in = {"f32[n, w]"}, .error = "axis 2");
    OP_INFER("LpNormalization", .attrs = "p=3", .in = {"f32[n, w]"}, .error = "p is 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
