#include "support/op_test.h"

static void identity(void **state) {
    (void)state;
    OP_RUN("Identity", .in = {"u4[3]{1 2 15}"}, .out = {"u4[3]{1 2 15}"});
    OP_RUN("Identity", .in = {"f32[0, 3]{}"}, .out = {"f32[0, 3]{}"});
    OP_INFER("Identity", .in = {"s64[2]{n, -1}"}, .out = {"s64[2]{n, -1}"});
    OP_INFER("Identity", .in = {"bool[2]{0 1}"}, .out = {"bool[2]{0 1}"});
    OP_INFER("Identity", .in = {"string[n]"}, .out = {"string[n]"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
