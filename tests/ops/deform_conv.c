#include "support/op_test.h"

static void offsets(void **state) {
    (void)state;
    /* One tap, moved by 0, 0.5 and 1. */
    OP_RUN("DeformConv", .in = {"f32[1, 1, 3]{1 2 4}", "f32[1, 1, 1]{10}", "f32[1, 1, 3]{0 0.5 1}"},
           .out = {"f32[1, 1, 3]{10 30 0}"});
    /* Half outside the input, in both axes; a mask and a bias. */
    OP_RUN("DeformConv",
           .in = {"f32[1, 1, 1, 1]{8}", "f32[1, 1, 1, 1]{1}", "f32[1, 2, 1, 1]{-0.5 0.25}",
                  "f32[1]{100}", "f32[1, 1, 1, 1]{0.5}"},
           .out = {"f32[1, 1, 1, 1]{101.5}"});
    /* Two offset groups over one group of channels; far away is 0, NaN stays. */
    OP_RUN("DeformConv", .attrs = "offset_group=2",
           .in = {"f32[1, 2, 2]{1 2 3 4}", "f32[1, 2, 1]{1 10}", "f32[1, 2, 2]{1 -1 inf 0}"},
           .out = {"f32[1, 1, 2]{2 41}"});
    OP_RUN("DeformConv", .in = {"f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{nan}"},
           .out = {"f32[1, 1, 1]{nan}"});
    /* Offsets of zero: Conv. */
    OP_RUN("DeformConv", .attrs = "pads=[1, 1] dilations=[2] strides=[2] group=2",
           .in = {"f64[1, 2, 4]{1 ..}", "f64[2, 1, 2]{1 10 1 10}", "f64[1, 2, 2]{0 ...}"},
           .out = {"f64[1, 2, 2]{20 42 60 86}"});
    OP_RUN("DeformConv", .in = {"f32[0, 1, 1]{}", "f32[1, 1, 1]{1}", "f32[0, 1, 1]{}"},
           .out = {"f32[0, 1, 1]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("DeformConv", .attrs = "pads=[1, 1, 1, 1]",
             .in = {"f32[n, 3, h, w]", "f32[8, 3, 3, 3]", "f32[n, 18, h, w]", "f32[8]",
                    "f32[n, 9, h, w]"},
             .out = {"f32[n, 8, h, w]"});
    OP_INFER("DeformConv", .in = {"f32", "f32[8, 3, 3, 3]", "f32"}, .out = {"f32"});
    OP_INFER("DeformConv", .in = {"f32[1, 1, 3]", "f32[1, 1, 1]", "f32[1, 2, 3]"},
             .error = "axis 1 of offset or mask and what W asks for differ: 2 and 1");
    OP_INFER("DeformConv", .in = {"f32[1, 1, 3]", "f32[1, 1, 1]", "f32[1, 1, 2]"},
             .error = "sizes of offset or mask and of Y differ: 2 and 3");
    OP_INFER("DeformConv", .attrs = "offset_group=2",
             .in = {"f32[1, 1, 3]", "f32[1, 1, 1]", "f32[1, 2, 3]"},
             .error = "1 input channels cannot be split into 2 offset groups");
    OP_INFER("DeformConv", .attrs = "offset_group=0",
             .in = {"f32[1, 1, 3]", "f32[1, 1, 1]", "f32[1, 2, 3]"},
             .error = "'offset_group' is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
