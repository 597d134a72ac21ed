#include "support/op_test.h"

static void numbers(void **state) {
    (void)state;
    OP_RUN("Equal", .in = {"f32[4]{1 nan inf -0}", "f32[4]{1 nan inf 0}"},
           .out = {"bool[4]{1 0 1 1}"});
    OP_RUN("Less", .in = {"f32[3]{1 nan 2}", "f32[]{2}"}, .out = {"bool[3]{1 0 0}"});
    OP_RUN("LessOrEqual", .in = {"f16[3]{1 nan 2}", "f16[]{2}"}, .out = {"bool[3]{1 0 1}"});
    OP_RUN("Greater", .in = {"bf16[3]{3 nan 2}", "bf16[]{2}"}, .out = {"bool[3]{1 0 0}"});
    OP_RUN("GreaterOrEqual", .in = {"f64[3]{3 nan 2}", "f64[]{2}"}, .out = {"bool[3]{1 0 1}"});
    OP_RUN("Equal", .in = {"bool[2, 1]{0 1}", "bool[2]{0 1}"}, .out = {"bool[2, 2]{1 0 0 1}"});
    OP_RUN("Equal", .in = {"f32[0]{}", "f32[1]{1}"}, .out = {"bool[0]{}"});
}

static void integers_beyond_double(void **state) {
    (void)state;
    OP_RUN("Equal", .in = {"s64[1]{9007199254740993}", "s64[1]{9007199254740992}"},
           .out = {"bool[1]{0}"});
    OP_RUN("Less", .in = {"u64[2]{1 18446744073709551615}", "u64[2]{18446744073709551615 1}"},
           .out = {"bool[2]{1 0}"});
    OP_RUN("Less", .in = {"s64[2]{-1 1}", "s64[2]{1 -1}"}, .out = {"bool[2]{1 0}"});
}

static void known_contents(void **state) {
    (void)state;
    /* The pattern of exported models: Where(Equal(shape, -1), ..., ...). */
    OP_INFER("Equal", .in = {"s64[3]{n, 4, -1}", "s64[]{-1}"}, .out = {"bool[3]{0 0 1}"});
    OP_INFER("Equal", .in = {"s64[2]{n, n}", "s64[2]{n, n + 1}"}, .out = {"bool[2]{1 0}"});
    OP_INFER("Equal", .in = {"s64[1]{n}", "s64[1]{3}"}, .out = {"bool[1]{?}"});
    OP_INFER("Greater", .in = {"s64[2]{n, n + 1}", "s64[2]{-1, n}"}, .out = {"bool[2]{1 1}"});
    OP_INFER("Less", .in = {"s64[1]{n}", "s64[]{0}"}, .out = {"bool[1]{0}"});
    OP_INFER("GreaterOrEqual", .in = {"s64[1]{n}", "s64[]{0}"}, .out = {"bool[1]{1}"});
    OP_INFER("LessOrEqual", .in = {"s64[1]{n}", "s64[]{0}"}, .out = {"bool[1]{?}"});
    /* Beyond 2^60 contents are not kept exactly. */
    OP_INFER("Equal", .in = {"s64[1]{9223372036854775807}", "s64[1]{9223372036854775806}"},
             .out = {"bool[1]{?}"});
    OP_INFER("Less", .in = {"u64[1]{18446744073709551615}", "u64[1]{1}"}, .out = {"bool[1]{?}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Less", .in = {"f32[n, 1]", "f32[3]"}, .out = {"bool[n, 3]"});
    OP_INFER("Less", .in = {"f32[n, 1]", "f32"}, .out = {"bool"});
    OP_INFER("Less", .in = {"f32[2]", "f32[3]"}, .error = "does not broadcast");
    OP_INFER("Less", .in = {"bool[2]", "bool[2]"}, .error = "Less");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(integers_beyond_double),
        cmocka_unit_test(known_contents),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
