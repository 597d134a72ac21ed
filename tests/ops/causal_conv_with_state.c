#include "support/op_test.h"

static void values(void **state) {
    (void)state;
    OP_RUN("CausalConvWithState", .in = {"f32[1, 2, 3]{1 2 3 4 5 6}", "f32[2, 1, 2]{1 10 2 20}"},
           .out = {"f32[1, 2, 3]{10 21 32 80 108 130}", "f32[1, 2, 1]{3 6}"});
    /* With the two steps before the first. */
    OP_RUN("CausalConvWithState",
           .in = {"f32[1, 1, 1]{3}", "f32[1, 1, 3]{1 10 100}", "f32[1]{0.5}", "f32[1, 1, 2]{1 2}"},
           .out = {"f32[1, 1, 1]{321.5}", "f32[1, 1, 2]{2 3}"});
    OP_RUN("CausalConvWithState", .attrs = "activation='silu'",
           .in = {"f32[1, 1, 1]{1}", "f32[1, 1, 1]{2}"},
           .out = {"f32[1, 1, 1]{1.76159416}", "f32[1, 1, 0]{}"});
    OP_RUN("CausalConvWithState",
           .in = {"bf16[1, 1, 0]{}", "bf16[1, 1, 2]{1 2}", "", "bf16[1, 1, 1]{5}"},
           .out = {"bf16[1, 1, 0]{}", "bf16[1, 1, 1]{5}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("CausalConvWithState", .in = {"f16[b, c, l]", "f16[c, 1, 4]"},
             .out = {"f16[b, c, l]", "f16[b, c, 3]"});
    OP_INFER("CausalConvWithState", .in = {"f16[b, c, l]", "f16"}, .out = {"f16[b, c, l]", "f16"});
    OP_INFER("CausalConvWithState", .in = {"f16[1, 2, 3]", "f16[3, 1, 4]"},
             .error = "channels of the input and of the weights differ: 2 and 3");
    OP_INFER("CausalConvWithState", .in = {"f16[1, 2, 3]", "f16[2, 2, 4]"},
             .error = "axis 1 of the weights and 1 differ");
    OP_INFER("CausalConvWithState", .in = {"f16[1, 2, 3]", "f16[2, 1, 0]"}, .error = "0 taps");
    OP_INFER("CausalConvWithState", .in = {"f16[1, 2, 3]", "f16[2, 1, 4]", "", "f16[1, 2, 4]"},
             .error = "sizes of past_state and present_state differ: 4 and 3");
    OP_INFER("CausalConvWithState", .in = {"f16[1, 2, 3]", "f16[2, 1, 4]", "f16[3]"},
             .error = "sizes of the bias and channels of the input differ: 3 and 2");
    OP_INFER("CausalConvWithState", .attrs = "activation='relu'",
             .in = {"f16[1, 2, 3]", "f16[2, 1, 4]"}, .error = "'activation' is 'relu'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
