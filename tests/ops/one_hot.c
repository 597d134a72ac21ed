#include "support/op_test.h"

static void marks(void **state) {
    (void)state;

    OP_RUN("OneHot", .in = {"s64[3]{0 -1 7}", "s64[]{3}", "f32[2]{5 9}"},
           .out = {"f32[3, 3]{9 5 5 5 5 9 5 5 5}"});
    OP_RUN("OneHot", .attrs = "axis=0", .in = {"f32[2]{1.9 0}", "f32[1]{2}", "s8[2]{0 1}"},
           .out = {"s8[2, 2]{0 1 1 0}"});
    OP_RUN("OneHot", .attrs = "axis=1", .in = {"u8[2, 2]{0 1 1 0}", "u8[]{2}", "bool[2]{0 1}"},
           .out = {"bool[2, 2, 2]{1 0 0 1 0 1 1 0}"});
    OP_RUN("OneHot", .in = {"s32[]{1}", "s32[]{2}", "f16[2]{0 1}"}, .out = {"f16[2]{0 1}"});
    OP_RUN("OneHot",
           .in = {"s64[2]{9223372036854775807 -9223372036854775808}", "s64[]{2}", "u8[2]{0 1}"},
           .out = {"u8[2, 2]{0 ...}"});
    OP_RUN("OneHot", .in = {"s32[0]{}", "s32[]{2}", "f16[2]{0 1}"}, .out = {"f16[0, 2]{}"});
    OP_RUN("OneHot", .in = {"s32[2]{0 0}", "s32[]{0}", "f16[2]{0 1}"}, .out = {"f16[2, 0]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("OneHot", .in = {"s64[n, m]", "s64[]{5}", "f32[2]"}, .out = {"f32[n, m, 5]"});
    OP_INFER("OneHot", .attrs = "axis=-2", .in = {"s64[n, m]", "s64[]{k}", "f32[2]"},
             .out = {"f32[n, k, m]"});
    OP_INFER("OneHot", .in = {"s64[n]", "s64[]", "f32[2]"}, .out = {"f32[n, ?]"});
    OP_INFER("OneHot", .in = {"s64", "s64[]", "f32[2]"}, .out = {"f32"});
    OP_INFER("OneHot", .in = {"s64[n]", "s64[]{-2}", "f32[2]"}, .error = "depth is -2");
    OP_INFER("OneHot", .in = {"s64[n]", "s64[2]", "f32[2]"}, .error = "input 1 has 2 entries");
    OP_INFER("OneHot", .in = {"s64[n]", "s64[]", "f32[1]"},
             .error = "values has 1 elements, expected 2");
    OP_INFER("OneHot", .in = {"s64[n]", "s64[]", "f32[2, 1]"}, .error = "input 2 has rank 2");
    OP_INFER("OneHot", .attrs = "axis=2", .in = {"s64[n]", "s64[]", "f32[2]"},
             .error = "axis 2 is outside [-2, 2)");
    OP_INFER("OneHot",
             .in = {"s64[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", "s64[]", "f32[2]"},
             .error = "rank 17");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
