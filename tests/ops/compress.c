#include "support/op_test.h"

static void selects(void **state) {
    (void)state;

    OP_RUN("Compress", .attrs = "axis=0", .in = {"s32[3, 2]{1 ..}", "bool[3]{0 1 1}"},
           .out = {"s32[2, 2]{3 4 5 6}"});
    OP_RUN("Compress", .attrs = "axis=-1", .in = {"s32[2, 3]{1 ..}", "bool[2]{0 1}"},
           .out = {"s32[2, 1]{2 5}"});
    OP_RUN("Compress", .in = {"f16[2, 2]{1 ..}", "bool[3]{1 0 1}"}, .out = {"f16[2]{1 3}"});
    OP_RUN("Compress", .in = {"u8[2]{1 2}", "bool[4]{0 1 1 1}"}, .out = {"u8[1]{2}"});
    OP_RUN("Compress", .in = {"u8[2]{1 2}", "bool[0]{}"}, .out = {"u8[0]{}"});
    OP_RUN("Compress", .attrs = "axis=1", .in = {"u8[0, 2]{}", "bool[2]{1 0}"},
           .out = {"u8[0, 1]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Compress", .attrs = "axis=1", .in = {"f32[n, 5]", "bool[3]"},
             .out = {"f32[n, ?<=3]"});
    OP_INFER("Compress", .attrs = "axis=1", .in = {"f32[n, 5]", "bool"}, .out = {"f32[n, ?<=5]"});
    OP_INFER("Compress", .in = {"f32[2, 5]", "bool[k]"}, .out = {"f32[?<=10]"});
    OP_INFER("Compress", .in = {"f32", "bool[k]"}, .out = {"f32[?]"});
    OP_INFER("Compress", .attrs = "axis=0", .in = {"f32", "bool[k]"}, .out = {"f32"});
    OP_INFER("Compress", .attrs = "axis=1", .in = {"f32[n]", "bool[3]"},
             .error = "axis 1 is outside");
    OP_INFER("Compress", .in = {"f32[n]", "bool[3, 1]"}, .error = "input 1 has rank 2, expected 1");
    OP_RUN("Compress", .in = {"string[0]{}", "bool[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
