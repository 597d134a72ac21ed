#include "support/op_test.h"

static void range(void **state) {
    (void)state;
    OP_RUN("DynamicQuantizeLinear", .in = {"f32[6]{0 2 -3 -2.5 1.34 0.5}"},
           .out = {"u8[6]{153 255 0 26 221 179}", "f32[]{0.0196078438}", "u8[]{153}"});
    OP_RUN("DynamicQuantizeLinear", .in = {"f32[2]{1 4}"},
           .out = {"u8[2]{64 255}", "f32[]{0.0156862754}", "u8[]{0}"});
    OP_RUN("DynamicQuantizeLinear", .in = {"f32[2]{-1 -4}"},
           .out = {"u8[2]{191 0}", "f32[]{0.0156862754}", "u8[]{255}"});
    OP_RUN("DynamicQuantizeLinear", .in = {"f32[2]{0 0}"},
           .out = {"u8[2]{0 0}", "f32[]{1}", "u8[]{0}"});
    OP_RUN("DynamicQuantizeLinear", .in = {"f32[0]{}"}, .out = {"u8[0]{}", "f32[]{1}", "u8[]{0}"});
    OP_RUN("DynamicQuantizeLinear", .in = {"f32[1]{nan}"},
           .out = {"u8[1]{0}", "f32[]{1}", "u8[]{0}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("DynamicQuantizeLinear", .in = {"f32[n, 2]"}, .out = {"u8[n, 2]", "f32[]", "u8[]"});
    OP_INFER("DynamicQuantizeLinear", .in = {"f32"}, .out = {"u8", "f32[]", "u8[]"});
    OP_INFER("DynamicQuantizeLinear", .in = {"f16[1]"}, .error = "DynamicQuantizeLinear");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(range),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
