#include "support/op_test.h"

static void integer(void **state) {
    (void)state;
    OP_RUN("MatMulInteger",
           .in = {"u8[2, 2]{1 2 3 4}", "s8[2, 1]{-128 127}", "u8[]{1}", "s8[]{-1}"},
           .out = {"s32[2, 1]{128 130}"});
    /* A zero point per row of A and per column of B. */
    OP_RUN("MatMulInteger",
           .in = {"u8[2, 1]{10 20}", "u8[1, 3]{1 2 3}", "u8[2]{10 10}", "u8[3]{0 2 4}"},
           .out = {"s32[2, 3]{0 0 0 10 0 -10}"});
    /* The same for each matrix of a stack; A is repeated. */
    OP_RUN("MatMulInteger",
           .in = {"u8[1, 2, 1]{10 20}", "u8[2, 1, 2]{1 2 3 4}", "u8[1, 2, 1]{9 18}",
                  "u8[2, 1, 2]{1 0 3 0}"},
           .out = {"s32[2, 2, 2]{0 2 0 4 0 4 0 8}"});
    OP_RUN("MatMulInteger", .in = {"u8[2]{3 4}", "u8[2]{5 6}", "u8[]{1}"}, .out = {"s32[]{28}"});
    OP_RUN("MatMulInteger", .in = {"u8[2, 0]{}", "u8[0, 1]{}", "u8[2]{1 2}"},
           .out = {"s32[2, 1]{0 0}"});
}

static void qlinear(void **state) {
    (void)state;
    OP_RUN("QLinearMatMul",
           .in = {"u8[1, 2]{3 5}", "f32[]{0.5}", "u8[]{1}", "s8[2, 2]{1 -1 1 -100}", "f32[]{1}",
                  "s8[]{0}", "f32[]{2}", "u8[]{3}"},
           .out = {"u8[1, 2]{5 0}"});
    /* Scales per row and per column, in f16. */
    OP_RUN("QLinearMatMul",
           .in = {"s8[2, 1]{10 10}", "f16[2]{1 2}", "s8[2]{0 5}", "s8[1, 2]{1 2}", "f16[2]{1 0.5}",
                  "s8[2]{0 1}", "f16[1]{1}", "s8[1]{-1}"},
           .out = {"s8[2, 2]{9 4 9 4}"});
    OP_RUN("QLinearMatMul",
           .in = {"f8e4m3fn[1, 2]{2 3}", "f32[]{0.5}", "f8e4m3fn[]{0}", "f8e4m3fn[2, 1]{1 2}",
                  "f32[]{1}", "f8e4m3fn[]{0}", "f32[]{0.25}", "f8e4m3fn[]{0}"},
           .out = {"f8e4m3fn[1, 1]{16}"});
    OP_RUN("QLinearMatMul",
           .in = {"f8e4m3fn[1, 1]{2}", "f32[]{1}", "f8e4m3fn[]{1}", "f8e4m3fn[1, 1]{1}", "f32[]{1}",
                  "f8e4m3fn[]{0}", "f32[]{1}", "f8e4m3fn[]{0}"},
           .error = "a_zero_point is 1, expected 0");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("MatMulInteger", .in = {"u8[b, s, 4]", "s8[4, 6]", "u8[]", "s8[6]"},
             .out = {"s32[b, s, 6]"});
    OP_INFER("MatMulInteger", .in = {"u8[b, s, 4]", "s8[4, 6]", "u8[b, s, 1]", "s8[1, 6]"},
             .out = {"s32[b, s, 6]"});
    OP_INFER("MatMulInteger", .in = {"u8", "s8[4, 6]"}, .out = {"s32"});
    OP_INFER("MatMulInteger", .in = {"u8[2, 4]", "s8[4, 6]", "u8[4]"},
             .error = "input 2 has shape [4], expected one value or one for each row of input 0");
    OP_INFER("MatMulInteger", .in = {"u8[2, 4]", "s8[4, 6]", "", "s8[4, 1]"},
             .error = "input 3 has shape [4, 1], expected one value or one for each column");
    OP_INFER("MatMulInteger", .in = {"u8[4]", "s8[4, 6]", "u8[4]"}, .error = "input 2 has shape");
    OP_INFER("QLinearMatMul",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[4, m]", "f32[m]", "s8[m]", "f32[]", "s8[]"},
             .out = {"s8[n, m]"});
    OP_INFER(
        "QLinearMatMul",
        .in = {"u8[n, 4]", "f32[]", "u8[]", "f8e5m2[4, m]", "f32[m]", "f8e5m2[m]", "f32[]", "s8[]"},
        .error = "a is u8, b is f8e5m2 and y is s8, expected all integers or all fp8");
    OP_INFER("QLinearMatMul",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[4, 3]", "f32[]", "s8[]", "f32[3]", "s8[]"},
             .error = "input 6 has shape [3], expected one value");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer),
        cmocka_unit_test(qlinear),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
