#include "support/op_test.h"

static void add_and_multiply(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QLinearAdd",
           .in = {"u8[2, 1]{130 0}", "f32[]{0.5}", "u8[]{128}", "u8[2]{10 255}", "f32[]{2}", "",
                  "f32[]{1}", "u8[]{3}"},
           .out = {"u8[2, 2]{24 255 0 255}"});
    OP_RUN("com.microsoft.QLinearMul",
           .in = {"s8[3]{-128 5 3}", "f32[]{0.5}", "s8[]{0}", "s8[1]{-3}", "f32[1]{2}", "s8[1]{1}",
                  "f32[]{4}"},
           .out = {"s8[3]{127 -5 -3}"});
    /* -2.5 is a tie and goes to even. */
    OP_RUN("com.microsoft.QLinearMul",
           .in = {"s8[1]{-5}", "f32[]{1}", "", "s8[1]{1}", "f32[]{1}", "", "f32[]{2}", "s8[]{10}"},
           .out = {"s8[1]{8}"});
}

static void functions(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QLinearSigmoid",
           .in = {"u8[4]{0 128 160 255}", "f32[]{0.0625}", "u8[]{128}", "f32[]{0.00390625}"},
           .out = {"u8[4]{0 128 225 255}"});
    OP_RUN("com.microsoft.QLinearSigmoid",
           .in = {"s8[3]{-128 0 127}", "f32[]{0.03125}", "", "f32[]{0.00390625}", "s8[]{-128}"},
           .out = {"s8[3]{-123 0 123}"});
    OP_RUN("com.microsoft.QLinearLeakyRelu", .attrs = "alpha=0.5",
           .in = {"s8[3]{-100 10 127}", "f32[]{1}", "s8[]{10}", "f32[]{2}", "s8[]{0}"},
           .out = {"s8[3]{-28 0 58}"});
    OP_RUN("com.microsoft.QLinearLeakyRelu", .in = {"u8[0]{}", "f32[]{1}", "", "f32[]{1}"},
           .out = {"u8[0]{}"});
}

static void hostile(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QLinearSigmoid", .in = {"u8[1]{0}", "f32[]{0}", "", "f32[]{1}"},
           .error = "input 1: the scale is 0");
    OP_RUN("com.microsoft.QLinearSigmoid", .in = {"u8[1]{0}", "f32[]{1}", "u8[2]{0 0}", "f32[]{1}"},
           .error = "input 2 has 2 elements");
    OP_RUN("com.microsoft.QLinearSigmoid", .in = {"u8[1]{0}", "", "", "f32[]{1}"},
           .error = "input 1 (X_scale) is missing");
    OP_RUN("com.microsoft.QLinearSigmoid", .in = {"u8[1]{0}", "f32[]{1}", "", "f32[]{nan}"},
           .error = "input 3: the scale is nan");
    OP_RUN("com.microsoft.QLinearAdd",
           .in = {"u8[1]{0}", "f32[]{1}", "", "u8[1]{0}", "f32[]{1}", "", "f32[0]{}"},
           .error = "input 6 has 0 elements");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("com.microsoft.QLinearAdd",
             .in = {"u8[n, 1]", "f32[]", "u8[]", "u8[3]", "f32[]", "u8[]", "f32[]", "u8[]"},
             .out = {"u8[n, 3]"});
    OP_INFER("com.microsoft.QLinearMul",
             .in = {"u8[2]", "f32[]", "", "u8[3]", "f32[]", "", "f32[]"},
             .error = "A of shape [2] does not broadcast with B of shape [3]");
    OP_INFER("com.microsoft.QLinearSigmoid", .in = {"s8[n]", "f32[]", "", "f32[]"},
             .out = {"s8[n]"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_and_multiply),
        cmocka_unit_test(functions),
        cmocka_unit_test(hostile),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
