#include "support/op_test.h"

static void finds(void **state) {
    (void)state;
    OP_RUN("IsNaN", .in = {"f32[4]{nan 1 inf -nan}"}, .out = {"bool[4]{1 0 0 1}"});
    OP_RUN("IsNaN", .in = {"f8e4m3fn[2]{nan 1}"}, .out = {"bool[2]{1 0}"});
    OP_RUN("IsInf", .in = {"f32[4]{nan inf -inf 1}"}, .out = {"bool[4]{0 1 1 0}"});
    OP_RUN("IsInf", .attrs = "detect_negative=0", .in = {"f16[2]{inf -inf}"},
           .out = {"bool[2]{1 0}"});
    OP_RUN("IsInf", .attrs = "detect_positive=0", .in = {"bf16[2]{inf -inf}"},
           .out = {"bool[2]{0 1}"});
    OP_INFER("IsInf", .in = {"f32[n]"}, .out = {"bool[n]"});
    OP_INFER("IsNaN", .in = {"s32[n]"}, .error = "IsNaN");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
