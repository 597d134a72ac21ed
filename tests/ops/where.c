#include "support/op_test.h"

static void selects(void **state) {
    (void)state;
    OP_RUN("Where", .in = {"bool[2, 1]{1 0}", "f32[2]{1 nan}", "f32[]{9}"},
           .out = {"f32[2, 2]{1 nan 9 9}"});
    OP_RUN("Where", .in = {"bool[]{0}", "s64[1]{1}", "s64[2]{-9223372036854775808 5}"},
           .out = {"s64[2]{-9223372036854775808 5}"});
    OP_RUN("Where", .in = {"bool[2]{1 0}", "bool[2]{1 1}", "bool[2]{0 0}"},
           .out = {"bool[2]{1 0}"});
    OP_RUN("Where", .in = {"bool[700]{1 ...}", "u8[700]{7 ...}", "u8[1]{1}"},
           .out = {"u8[700]{7 ...}"});
    OP_RUN("Where", .in = {"bool[2]{1 0}", "f16[0, 1]{}", "f16[1]{1}"}, .out = {"f16[0, 2]{}"});
}

static void shapes_and_contents(void **state) {
    (void)state;
    OP_INFER("Where", .in = {"bool[n, 1]", "f32[3]", "f32[1]"}, .out = {"f32[n, 3]"});
    OP_INFER("Where", .in = {"bool[2]", "f32[3]", "f32[1]"}, .error = "does not broadcast");
    OP_INFER("Where", .in = {"s32[2]", "f32[2]", "f32[2]"}, .error = "Where");
    OP_INFER("Where", .in = {"bool[3]{0 0 1}", "s64[]{7}", "s64[3]{n, 4, -1}"},
             .out = {"s64[3]{n, 4, 7}"});
    OP_INFER("Where", .in = {"bool[1]", "s64[1]{n}", "s64[1]{n}"}, .out = {"s64[1]{?}"});
    OP_INFER("Where", .in = {"bool[1]{1}", "s64[1]{n}", "s64[1]"}, .out = {"s64[1]{?}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(shapes_and_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
