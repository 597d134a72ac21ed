#include "support/op_test.h"

static void finds(void **state) {
    (void)state;

    OP_RUN("ArgMax", .in = {"f32[2, 3]{1 5 2 3 4 3}"}, .out = {"s64[1, 3]{1 0 1}"});
    OP_RUN("ArgMin", .attrs = "axis=-1 keepdims=0", .in = {"s8[2, 3]{1 -5 2 3 4 -128}"},
           .out = {"s64[2]{1 2}"});
    OP_RUN("ArgMax", .attrs = "keepdims=0",
           .in = {"u64[3]{1 18446744073709551615 9223372036854775807}"}, .out = {"s64[]{1}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0", .in = {"u64[2]{9223372036854775808 5}"},
           .out = {"s64[]{1}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0",
           .in = {"s64[3]{0 9223372036854775807 -9223372036854775808}"}, .out = {"s64[]{2}"});
    OP_RUN("ArgMax", .attrs = "axis=1", .in = {"f32[2, 2, 2]{1 2 3 1 0 0 -1 1}"},
           .out = {"s64[2, 1, 2]{1 0 0 1}"});
    OP_RUN("ArgMax", .attrs = "keepdims=0", .in = {"s32[9000]{0 ..}"}, .out = {"s64[]{8999}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0 axis=0", .in = {"f64[3, 5000]{0 ..}"},
           .out = {"s64[5000]{0 ...}"});
}

static void ties_and_nan(void **state) {
    (void)state;

    OP_RUN("ArgMax", .attrs = "keepdims=0", .in = {"f32[4]{1 7 7 1}"}, .out = {"s64[]{1}"});
    OP_RUN("ArgMax", .attrs = "keepdims=0 select_last_index=1", .in = {"f32[4]{1 7 7 1}"},
           .out = {"s64[]{2}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0 select_last_index=1", .in = {"f32[4]{1 7 7 1}"},
           .out = {"s64[]{3}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0", .in = {"f32[2]{0 -0}"}, .out = {"s64[]{0}"});
    OP_RUN("ArgMax", .attrs = "keepdims=0", .in = {"bf16[4]{1 nan inf nan}"}, .out = {"s64[]{1}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0", .in = {"f16[4]{1 nan -inf nan}"}, .out = {"s64[]{1}"});
    OP_RUN("ArgMin", .attrs = "keepdims=0", .in = {"f64[3]{1 -inf -1e308}"}, .out = {"s64[]{1}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("ArgMax", .attrs = "axis=1", .in = {"f32[n, m, 3]"}, .out = {"s64[n, 1, 3]"});
    OP_INFER("ArgMax", .attrs = "axis=-2 keepdims=0", .in = {"f32[n, m, 3]"}, .out = {"s64[n, 3]"});
    OP_INFER("ArgMin", .in = {"f32"}, .out = {"s64"});
    OP_RUN("ArgMin", .attrs = "axis=1", .in = {"f32[0, 2]{}"}, .out = {"s64[0, 1]{}"});
    OP_RUN("ArgMin", .in = {"f32[0, 2]{}"}, .error = "axis 0 is empty");
    OP_INFER("ArgMin", .attrs = "axis=2", .in = {"f32[n, m]"}, .error = "axis 2 is outside");
    OP_INFER("ArgMin", .in = {"f32[]"}, .error = "rank 0, expected 1 to 16");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(ties_and_nan),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
