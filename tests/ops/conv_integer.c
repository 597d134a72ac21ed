#include "support/op_test.h"

static void integer(void **state) {
    (void)state;
    OP_RUN("ConvInteger", .in = {"u8[1, 1, 3]{2 3 4}", "u8[1, 1, 2]{1 2}", "u8[]{1}"},
           .out = {"s32[1, 1, 2]{5 8}"});
    OP_RUN("ConvInteger", .in = {"s8[1, 1, 1]{-128}", "s8[1, 1, 1]{-128}"},
           .out = {"s32[1, 1, 1]{16384}"});
    /* Padding is the zero point of x, not 0; weights have a zero point per channel. */
    OP_RUN("ConvInteger", .attrs = "pads=[1, 0]",
           .in = {"u8[1, 1, 2]{3 255}", "s8[2, 1, 2]{-128 127 3 4}", "u8[]{2}", "s8[2]{-128 3}"},
           .out = {"s32[1, 2, 2]{255 64515 1 253}"});
    OP_RUN("ConvInteger", .attrs = "group=2",
           .in = {"s8[1, 2, 1]{5 6}", "u8[2, 1, 1]{10 100}", "", "u8[2]{1 2}"},
           .out = {"s32[1, 2, 1]{45 588}"});
    OP_RUN("ConvInteger", .in = {"u8[0, 1, 3]{}", "u8[1, 1, 2]{1 2}"}, .out = {"s32[0, 1, 2]{}"});
}

/* Scales are powers of 2 where a tie is wanted. */
static void qlinear(void **state) {
    (void)state;
    /* sums 1 3 5 7 at half scale: ties go to even; zero point 1. */
    OP_RUN("QLinearConv",
           .in = {"u8[1, 1, 4]{129 131 133 135}", "f32[]{0.5}", "u8[]{128}", "s8[1, 1, 1]{1}",
                  "f32[]{1}", "s8[]{0}", "f32[]{1}", "u8[]{1}"},
           .out = {"u8[1, 1, 4]{1 3 3 5}"});
    /* Saturation at both ends, a scale per channel, and a bias. */
    OP_RUN("QLinearConv",
           .in = {"s8[1, 1, 2]{-100 100}", "f32[1]{1}", "s8[1]{0}", "s8[2, 1, 1]{2 2}",
                  "f32[2]{1 0.25}", "s8[2]{0 1}", "f32[1]{1}", "s8[1]{0}", "s32[2]{0 10}"},
           .out = {"s8[1, 2, 2]{-128 127 -22 28}"});
    /* The bias wraps with the sum. */
    OP_RUN("QLinearConv",
           .in = {"u8[1, 1, 1]{1}", "f32[]{1}", "u8[]{0}", "u8[1, 1, 1]{1}", "f32[]{1}", "u8[]{0}",
                  "f32[]{1}", "u8[]{0}", "s32[1]{2147483647}"},
           .out = {"u8[1, 1, 1]{0}"});
    /* The factor is made in floats, where it is 14.7 and a bit: in doubles 73 came out. */
    OP_RUN("QLinearConv",
           .in = {"u8[1, 1, 1]{5}", "f32[]{0.16}", "u8[]{0}", "s8[1, 1, 1]{1}", "f32[]{0.735}",
                  "s8[]{0}", "f32[]{0.008}", "u8[]{0}"},
           .out = {"u8[1, 1, 1]{74}"});
    /* No number at all saturates below. */
    OP_RUN("QLinearConv",
           .in = {"u8[1, 1, 1]{0}", "f32[]{inf}", "u8[]{0}", "u8[1, 1, 1]{1}", "f32[]{1}",
                  "u8[]{0}", "f32[]{1}", "s8[]{5}"},
           .out = {"s8[1, 1, 1]{-128}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("ConvInteger", .attrs = "strides=[2]", .in = {"u8[n, 3, 2*l]", "s8[8, 3, 2]"},
             .out = {"s32[n, 8, l]"});
    OP_INFER("ConvInteger", .in = {"u8", "s8[8, 3, 2]"}, .out = {"s32"});
    OP_INFER("ConvInteger", .in = {"u8[1, 3, 4]", "s8[8, 3, 2]", "u8[2]"},
             .error = "input 2 has shape [2], expected one value");
    OP_INFER("ConvInteger", .in = {"u8[1, 3, 4]", "s8[8, 3, 2]", "", "s8[7]"},
             .error = "input 3 has shape [7], expected one value or one for each channel");
    OP_INFER("ConvInteger", .in = {"u8[1, 3, 4]", "s8[8, 3, 2]", "s8[]"}, .error = "input 2");
    OP_INFER("QLinearConv",
             .in = {"u8[n, 3, l]", "f32[]", "u8[]", "s8[8, 3, 1]", "f32[8]", "s8[8]", "f32[]",
                    "s8[]", "s32[8]"},
             .out = {"s8[n, 8, l]"});
    OP_INFER("QLinearConv",
             .in = {"u8[n, 3, l]", "f32[3]", "u8[]", "s8[8, 3, 1]", "f32[8]", "s8[8]", "f32[]",
                    "s8[]", "s32[8]"},
             .error = "input 1 has shape [3], expected one value");
    OP_INFER("QLinearConv",
             .in = {"u8[n, 3, l]", "f32[]", "u8[]", "s8[8, 3, 1]", "f32[8]", "s8[8]", "f32[]",
                    "s8[]", "s32[9]"},
             .error = "sizes of the bias and output channels differ: 9 and 8");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer),
        cmocka_unit_test(qlinear),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
