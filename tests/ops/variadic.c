#include "support/op_test.h"

static void floats(void **state) {
    (void)state;
    OP_RUN("Sum", .in = {"f32[1]{1}", "f32[2]{10 20}", "f32[2, 1]{100 200}"},
           .out = {"f32[2, 2]{111 121 211 221}"});
    /* Summed in double: in f32 the 1 would be lost twice. */
    OP_RUN("Sum", .in = {"f32[1]{16777216}", "f32[1]{1}", "f32[1]{1}"}, .out = {"f32[1]{16777218}"},
           .tolerance = 1e-9);
    OP_RUN("Mean", .in = {"f32[2]{1 2}", "f32[2]{2 4}", "f32[1]{6}"}, .out = {"f32[2]{3 4}"});
    OP_RUN("Max", .in = {"f32[3]{1 nan 3}", "f32[3]{nan 5 2}", "f32[1]{0}"},
           .out = {"f32[3]{nan nan 3}"});
    OP_RUN("Min", .in = {"f16[3]{1 nan 3}", "f16[3]{nan 5 2}"}, .out = {"f16[3]{nan nan 2}"});
    OP_RUN("Max", .in = {"bf16[2]{1 2}"}, .out = {"bf16[2]{1 2}"});
    OP_RUN("Sum", .in = {"f32[0]{}", "f32[1]{1}"}, .out = {"f32[0]{}"});
}

static void integers(void **state) {
    (void)state;
    OP_RUN("Max",
           .in = {"s64[2]{-9223372036854775808 9007199254740993}", "s64[2]{5 9007199254740992}"},
           .out = {"s64[2]{5 9007199254740993}"});
    OP_RUN("Max", .in = {"u64[1]{18446744073709551615}", "u64[1]{1}"},
           .out = {"u64[1]{18446744073709551615}"});
    OP_RUN("Min", .in = {"u64[1]{18446744073709551615}", "u64[1]{1}"}, .out = {"u64[1]{1}"});
    OP_RUN("Min", .in = {"s8[2]{-128 3}", "s8[2]{127 3}"}, .out = {"s8[2]{-128 3}"});
}

static void shapes_and_contents(void **state) {
    (void)state;
    OP_INFER("Sum", .in = {"f32[n, 1]", "f32[3]", "f32[1]"}, .out = {"f32[n, 3]"});
    OP_INFER("Sum", .in = {"f32[2]", "f32[3]"}, .error = "does not broadcast");
    OP_INFER("Sum", .in = {"f32[2]", "f64[2]"}, .error = "Sum");
    OP_INFER("Sum", .in = {"f32[2]", "", "f32[2]"}, .error = "missing");
    OP_INFER("Max", .in = {"s64[2]{n, 4}", "s64[]{-2}"}, .out = {"s64[2]{n, 4}"});
    OP_INFER("Min", .in = {"s64[2]{n, 4}", "s64[]{-2}", "s64[]{-3}"}, .out = {"s64[2]{-3, -3}"});
    OP_INFER("Max", .in = {"s64[1]{n}", "s64[1]"}, .out = {"s64[1]{?}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),
        cmocka_unit_test(integers),
        cmocka_unit_test(shapes_and_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
