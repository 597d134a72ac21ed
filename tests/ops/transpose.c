#include "support/op_test.h"

static void every_width(void **state) {
    (void)state;

    OP_RUN("Transpose", .in = {"u8[2, 3]{1 ..}"}, .out = {"u8[3, 2]{1 4 2 5 3 6}"});
    OP_RUN("Transpose", .in = {"f16[2, 3]{1 ..}"}, .out = {"f16[3, 2]{1 4 2 5 3 6}"});
    OP_RUN("Transpose", .in = {"f32[2, 3]{1 ..}"}, .out = {"f32[3, 2]{1 4 2 5 3 6}"});
    OP_RUN("Transpose", .in = {"s64[2, 3]{1 ..}"}, .out = {"s64[3, 2]{1 4 2 5 3 6}"});
    OP_RUN("Transpose", .in = {"s4[2, 3]{-8 ..}"}, .out = {"s4[3, 2]{-8 -5 -7 -4 -6 -3}"});
    OP_RUN("Transpose", .in = {"u2[3, 3]{0 1 2 3 0 1 2 3 0}"},
           .out = {"u2[3, 3]{0 3 2 1 0 3 2 1 0}"});
}

static void orders(void **state) {
    (void)state;

    OP_RUN("Transpose", .attrs = "perm=[1, 0, 2]", .in = {"s32[2, 2, 2]{0 ..}"},
           .out = {"s32[2, 2, 2]{0 1 4 5 2 3 6 7}"});
    OP_RUN("Transpose", .attrs = "perm=[-1, 0, 1]", .in = {"s32[2, 2, 2]{0 ..}"},
           .out = {"s32[2, 2, 2]{0 2 4 6 1 3 5 7}"});
    OP_RUN("Transpose", .in = {"f32[]{5}"}, .out = {"f32[]{5}"});
    OP_RUN("Transpose", .in = {"f32[2, 0, 3]{}"}, .out = {"f32[3, 0, 2]{}"});
    OP_RUN("Transpose", .attrs = "perm=[1, 0]", .in = {"s32[300, 200]{0 ..}"},
           .out = {"s32[200, 300]"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Transpose", .attrs = "perm=[0, 2, 1]", .in = {"f32[n, 3, h]"},
             .out = {"f32[n, h, 3]"});
    OP_INFER("Transpose", .attrs = "perm=[0, 2, 1]", .in = {"f32"}, .out = {"f32[?, ?, ?]"});
    OP_INFER("Transpose", .in = {"f32"}, .out = {"f32"});
    OP_INFER("Transpose", .in = {"s64[2, 2]{a 1 2 b}"}, .out = {"s64[2, 2]{a 2 1 b}"});
    OP_INFER("Transpose", .attrs = "perm=[0, 1]", .in = {"f32[1, 2, 3]"},
             .error = "perm has 2 entries");
    OP_INFER("Transpose", .attrs = "perm=[0, 0]", .in = {"f32[1, 2]"},
             .error = "axis 0 is listed twice");
    OP_INFER("Transpose", .attrs = "perm=[0, 2]", .in = {"f32[1, 2]"},
             .error = "axis 2 is outside [-2, 2)");
    OP_INFER("Transpose",
             .attrs = "perm=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]",
             .in = {"f32"}, .error = "perm has 17 entries");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width),
        cmocka_unit_test(orders),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
