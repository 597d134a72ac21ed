#include "support/op_test.h"

static void integers(void **state) {
    (void)state;
    OP_RUN("Abs", .in = {"s8[3]{-128 -5 7}"}, .out = {"s8[3]{-128 5 7}"});
    OP_RUN("Abs", .in = {"u64[1]{18446744073709551615}"}, .out = {"u64[1]{18446744073709551615}"});
    OP_RUN("Neg", .in = {"s64[2]{-9223372036854775808 3}"},
           .out = {"s64[2]{-9223372036854775808 -3}"});
    OP_RUN("Relu", .in = {"s16[3]{-32768 0 5}"}, .out = {"s16[3]{0 0 5}"});
    OP_RUN("Sign", .in = {"s32[3]{-7 0 7}"}, .out = {"s32[3]{-1 0 1}"});
    OP_RUN("Sign", .in = {"u64[2]{18446744073709551615 0}"}, .out = {"u64[2]{1 0}"});
    OP_RUN("Not", .in = {"bool[2]{0 1}"}, .out = {"bool[2]{1 0}"});
    OP_RUN("BitwiseNot", .in = {"u8[2]{0 5}"}, .out = {"u8[2]{255 250}"});
    OP_RUN("BitwiseNot", .in = {"s64[2]{0 -1}"}, .out = {"s64[2]{-1 0}"});
}

static void nan_and_infinity(void **state) {
    (void)state;
    OP_RUN("Abs", .in = {"f32[2]{-inf nan}"}, .out = {"f32[2]{inf nan}"});
    OP_RUN("Relu", .in = {"f32[3]{nan inf -inf}"}, .out = {"f32[3]{nan inf 0}"});
    OP_RUN("Sign", .in = {"f32[3]{nan inf -inf}"}, .out = {"f32[3]{nan 1 -1}"});
    OP_RUN("Sigmoid", .in = {"f64[3]{nan inf -inf}"}, .out = {"f64[3]{nan 1 0}"});
    OP_RUN("Softplus", .in = {"f64[3]{nan inf -inf}"}, .out = {"f64[3]{nan inf 0}"});
    OP_RUN("HardSigmoid", .in = {"f32[3]{nan inf -inf}"}, .out = {"f32[3]{nan 1 0}"});
    OP_RUN("Celu", .in = {"f32[3]{nan inf -inf}"}, .out = {"f32[3]{nan inf -1}"});
    OP_RUN("Elu", .attrs = "alpha=2.0", .in = {"f32[3]{nan inf -inf}"},
           .out = {"f32[3]{nan inf -2}"});
    OP_RUN("Selu", .attrs = "alpha=2.0 gamma=3.0", .in = {"f32[3]{nan inf -inf}"},
           .out = {"f32[3]{nan inf -6}"});
    OP_RUN("LeakyRelu", .attrs = "alpha=0.5", .in = {"f32[3]{nan inf -inf}"},
           .out = {"f32[3]{nan inf -inf}"});
    OP_RUN("ThresholdedRelu", .in = {"f32[4]{nan inf 1 1.5}"}, .out = {"f32[4]{0 inf 0 1.5}"});
    OP_RUN("Reciprocal", .in = {"f32[3]{0 inf nan}"}, .out = {"f32[3]{inf 0 nan}"});
    OP_RUN("Log", .in = {"f32[3]{0 -1 1}"}, .out = {"f32[3]{-inf nan 0}"});
    OP_RUN("Sqrt", .in = {"f32[3]{-1 inf 4}"}, .out = {"f32[3]{nan inf 2}"});
    OP_RUN("HardSwish", .in = {"f32[3]{-4 0 4}"}, .out = {"f32[3]{0 0 4}"});
}

static void accuracy_where_formulas_cancel(void **state) {
    (void)state;
    /* 1 / (1 + exp(-x)) and log(1 + exp(x)) of what is far below 0 are exp(x). */
    OP_RUN("Sigmoid", .in = {"f64[1]{-700}"}, .out = {"f64[1]{9.85967654375977e-305}"},
           .tolerance = 1e-310);
    OP_RUN("Softplus", .in = {"f64[2]{-40 800}"}, .out = {"f64[2]{4.248354255291589e-18 800}"},
           .tolerance = 1e-30);
    OP_RUN("Elu", .in = {"f64[1]{-1e-12}"}, .out = {"f64[1]{-9.999999999995e-13}"},
           .tolerance = 1e-27);
    OP_RUN("Mish", .in = {"f64[2]{-50 1}"},
           .out = {"f64[2]{-9.643749239819589e-21 0.8650983882673103}"}, .tolerance = 1e-15);
    OP_RUN("Swish", .attrs = "alpha=2.0", .in = {"f64[2]{-20 1}"},
           .out = {"f64[2]{-8.496708510583178e-17 0.8807970779778823}"}, .tolerance = 1e-15);
}

static void each_type_is_rounded_once(void **state) {
    (void)state;
    OP_RUN("Exp", .in = {"f16[4]{0 1 -1 12}"}, .out = {"f16[4]{1 2.71875 0.367919921875 inf}"},
           .tolerance = 1e-9);
    OP_RUN("Exp", .in = {"bf16[2]{1 -1}"}, .out = {"bf16[2]{2.71875 0.3671875}"},
           .tolerance = 1e-9);
    OP_RUN("Round", .in = {"f16[4]{0.5 1.5 2.5 -0.5}"}, .out = {"f16[4]{0 2 2 0}"});
    OP_RUN("Tanh", .in = {"f32[0, 2]{}"}, .out = {"f32[0, 2]{}"});
    OP_RUN("Cos", .in = {"f32[]{0}"}, .out = {"f32[]{1}"});
    OP_RUN("Floor", .in = {"f32[1500]{0.5 ...}"}, .out = {"f32[1500]{0 ...}"});
}

static void shapes_and_contents(void **state) {
    (void)state;
    OP_INFER("Exp", .in = {"f32[n, 3]"}, .out = {"f32[n, 3]"});
    OP_INFER("Exp", .in = {"f32"}, .out = {"f32"});
    OP_INFER("Exp", .in = {"s32[1]"}, .error = "Exp");
    OP_INFER("Neg", .in = {"s64[2]{n, -3}"}, .out = {"s64[2]{-n, 3}"});
    OP_INFER("Abs", .in = {"s64[2]{n, -3}"}, .out = {"s64[2]{n, 3}"});
    OP_INFER("Relu", .in = {"s64[2]{n, -3}"}, .out = {"s64[2]{n, 0}"});
    OP_INFER("Neg", .in = {"s64[1]{-9223372036854775808}"}, .out = {"s64[1]{?}"});
    OP_INFER("Abs", .in = {"s64[1]{-9223372036854775808}"}, .out = {"s64[1]{?}"});
    OP_INFER("Relu", .in = {"s32[1]"}, .out = {"s32[1]{?}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(nan_and_infinity),
        cmocka_unit_test(accuracy_where_formulas_cancel),
        cmocka_unit_test(each_type_is_rounded_once),
        cmocka_unit_test(shapes_and_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
