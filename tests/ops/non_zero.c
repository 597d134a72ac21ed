#include "support/op_test.h"

static void finds(void **state) {
    (void)state;

    OP_RUN("NonZero", .in = {"f32[2, 3]{0 1 -0 nan 0 -2}"}, .out = {"s64[2, 3]{0 1 1 1 0 2}"});
    OP_RUN("NonZero", .in = {"bool[4]{1 0 1 1}"}, .out = {"s64[1, 3]{0 2 3}"});
    OP_RUN("NonZero", .in = {"s64[1]{9223372036854775807}"}, .out = {"s64[1, 1]{0}"});
    OP_RUN("NonZero", .in = {"c64[2]{0 1}"}, .out = {"s64[1, 1]{1}"});
    OP_RUN("NonZero", .in = {"c128[2]{0 1}"}, .out = {"s64[1, 1]{1}"});
    OP_RUN("NonZero", .in = {"f32[]{2}"}, .out = {"s64[0, 1]{}"});
    OP_RUN("NonZero", .in = {"f32[]{0}"}, .out = {"s64[0, 0]{}"});
    OP_RUN("NonZero", .in = {"f32[0, 3]{}"}, .out = {"s64[2, 0]{}"});
    OP_RUN("NonZero", .in = {"s32[600]{0 ..}"}, .out = {"s64[1, 599]{1 ..}"});
    OP_INFER("NonZero", .in = {"f32[2, 3]"}, .out = {"s64[2, ?<=6]"});
    OP_INFER("NonZero", .in = {"f32[n]"}, .out = {"s64[1, ?]"});
    OP_INFER("NonZero", .in = {"f32"}, .out = {"s64[?<=16, ?]"});
    OP_RUN("NonZero", .in = {"string[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
