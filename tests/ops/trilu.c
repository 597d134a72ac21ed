#include "support/op_test.h"

static void keeps(void **state) {
    (void)state;

    OP_RUN("Trilu", .in = {"s32[2, 3]{1 ..}"}, .out = {"s32[2, 3]{1 2 3 0 5 6}"});
    OP_RUN("Trilu", .attrs = "upper=0", .in = {"s32[2, 3]{1 ..}", "s64[]{1}"},
           .out = {"s32[2, 3]{1 2 0 4 5 6}"});
    OP_RUN("Trilu", .in = {"f16[2, 2, 2]{1 ..}", "s64[1]{-1}"}, .out = {"f16[2, 2, 2]{1 ..}"});
    OP_RUN("Trilu", .in = {"f16[2, 2]{1 ..}", "s64[]{9223372036854775807}"},
           .out = {"f16[2, 2]{0 ...}"});
    OP_RUN("Trilu", .in = {"f16[2, 2]{1 ..}", "s64[]{-9223372036854775808}"},
           .out = {"f16[2, 2]{1 ..}"});
    OP_RUN("Trilu", .attrs = "upper=0", .in = {"f16[2, 2]{1 ..}", "s64[]{-9223372036854775808}"},
           .out = {"f16[2, 2]{0 ...}"});
    OP_RUN("Trilu", .in = {"f16[0, 2]{}"}, .out = {"f16[0, 2]{}"});
    OP_INFER("Trilu", .in = {"f32[n, m]", "s64[]"}, .out = {"f32[n, m]"});
    OP_INFER("Trilu", .in = {"f32[n]"}, .error = "rank 1, expected 2 to 16");
    OP_INFER("Trilu", .in = {"f32[n, m]", "s64[2]"},
             .error = "input 1 has 2 entries, expected at most 1");
    OP_INFER("Trilu", .in = {"f32[n, m]", "s64[0]"}, .error = "input 1 is empty");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
