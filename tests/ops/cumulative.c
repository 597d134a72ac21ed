#include "support/op_test.h"

static void sums(void **state) {
    (void)state;

    OP_RUN("CumSum", .in = {"s32[3]{1 2 3}", "s64[]{0}"}, .out = {"s32[3]{1 3 6}"});
    OP_RUN("CumSum", .attrs = "exclusive=1 reverse=1", .in = {"f32[2, 3]{1 ..}", "s32[]{-1}"},
           .out = {"f32[2, 3]{5 3 0 11 6 0}"});
    OP_RUN("CumSum", .in = {"u32[2]{4294967295 2}", "s32[1]{0}"}, .out = {"u32[2]{4294967295 1}"});
    OP_RUN("CumSum", .in = {"s64[2]{9223372036854775807 1}", "s32[]{0}"},
           .out = {"s64[2]{9223372036854775807 -9223372036854775808}"});
    /* Accumulated in double: in f16 2048 + 1 stays 2048. */
    OP_RUN("CumSum", .in = {"f16[3]{2048 1 1}", "s32[]{0}"}, .out = {"f16[3]{2048 2048 2050}"},
           .tolerance = 1e-9);
    OP_RUN("CumSum", .in = {"f64[3]{1 inf -inf}", "s32[]{0}"}, .out = {"f64[3]{1 inf nan}"});
    OP_RUN("CumSum", .in = {"f32[0, 2]{}", "s32[]{1}"}, .out = {"f32[0, 2]{}"});
    OP_RUN("CumSum", .attrs = "exclusive=1", .in = {"s32[10000]{1 ...}", "s32[]{0}"},
           .out = {"s32[10000]{0 ..}"});
    OP_RUN("CumSum", .attrs = "reverse=1 exclusive=1", .in = {"s64[2, 5000]{-1 ...}", "s32[]{0}"},
           .out = {"s64[2, 5000]"});
}

static void products(void **state) {
    (void)state;

    OP_RUN("CumProd", .in = {"f64[2, 2]{1 2 3 4}", "s32[]{0}"}, .out = {"f64[2, 2]{1 2 3 8}"});
    OP_RUN("CumProd", .attrs = "exclusive=1", .in = {"s32[3]{2 3 4}", "s32[]{0}"},
           .out = {"s32[3]{1 2 6}"});
    OP_RUN("CumProd", .attrs = "reverse=1", .in = {"u64[2]{3 9223372036854775808}", "s32[]{0}"},
           .out = {"u64[2]{9223372036854775808 9223372036854775808}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("CumSum", .in = {"f32[n, 3]", "s64[]"}, .out = {"f32[n, 3]"});
    OP_INFER("CumSum", .in = {"f32", "s64[]{0}"}, .out = {"f32"});
    OP_INFER("CumSum", .in = {"f32[n, 3]", "s64[]{2}"}, .error = "axis 2 is outside");
    OP_INFER("CumSum", .in = {"f32[n, 3]", "s64[2]"}, .error = "input 1 has 2 entries");
    OP_INFER("CumProd", .in = {"f32[n, 3]", "s64[0]"}, .error = "input 1 is empty");
    OP_INFER("CumProd", .in = {"f32[]", "s64[]"}, .error = "rank 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(products),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
