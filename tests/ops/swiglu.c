#include "support/op_test.h"

static void gates(void **state) {
    (void)state;
    OP_RUN("SwiGLU", .in = {"f64[2]{1 -2}", "f64[2]{2 3}"},
           .out = {"f64[2]{1.4621171572600098 -0.7152175321}"}, .tolerance = 1e-10);
    OP_RUN("SwiGLU", .attrs = "alpha=0.0", .in = {"f16[2]{1 -2}", "f16[2]{2 3}"},
           .out = {"f16[2]{1 -3}"});
}

static void shapes_are_the_same(void **state) {
    (void)state;
    OP_INFER("SwiGLU", .in = {"f32[n, 3]", "f32[2, m]"}, .out = {"f32[2, 3]"});
    OP_INFER("SwiGLU", .in = {"f32", "f32[2, m]"}, .out = {"f32[2, m]"});
    OP_INFER("SwiGLU", .in = {"f32[2, 3]", "f32[3]"}, .error = "A has rank 2 and B rank 1");
    OP_INFER("SwiGLU", .in = {"f32[2, 3]", "f32[2, 1]"},
             .error = "dims of A and B differ: 3 and 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates),
        cmocka_unit_test(shapes_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
