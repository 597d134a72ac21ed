#include "support/op_test.h"

static void axes(void **state) {
    (void)state;
    OP_RUN("MeanVarianceNormalization", .in = {"f32[2, 2, 1, 2]{1 3 0 0 3 1 8 8}"},
           .out = {"f32[2, 2, 1, 2]{-1 1 -1 -1 1 -1 1 1}"});
    OP_RUN("MeanVarianceNormalization", .attrs = "axes=[-1]", .in = {"f16[2, 2]{1 3 5 9}"},
           .out = {"f16[2, 2]{-1 1 -1 1}"});
    OP_RUN("MeanVarianceNormalization", .attrs = "axes=[0]", .in = {"f32[2, 3]{1 0 4 3 0 5}"},
           .out = {"f32[2, 3]{-1 0 -1 1 0 1}"});
    OP_RUN("MeanVarianceNormalization", .attrs = "axes=[0]", .in = {"f32[0, 3]{}"},
           .out = {"f32[0, 3]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("MeanVarianceNormalization", .in = {"f32[n, 3, h, w]"}, .out = {"f32[n, 3, h, w]"});
    OP_INFER("MeanVarianceNormalization", .in = {"f32"}, .out = {"f32"});
    OP_INFER("MeanVarianceNormalization", .in = {"f32[n, 3, w]"}, .error = "axis 3 is outside");
    OP_INFER("MeanVarianceNormalization", .attrs = "axes=[0, -2]", .in = {"f32[n, w]"},
             .error = "listed twice");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
