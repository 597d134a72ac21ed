#include "support/op_test.h"

static void spread(void **state) {
    (void)state;
    OP_RUN("ConvTranspose", .in = {"f32[1, 1, 3]{1 2 3}", "f32[1, 1, 2]{1 10}", "f32[1]{0.5}"},
           .out = {"f32[1, 1, 4]{1.5 12.5 23.5 30.5}"});
    OP_RUN("ConvTranspose", .attrs = "strides=[2] output_padding=[1] pads=[1, 0]",
           .in = {"f32[1, 1, 2]{1 2}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 5]{10 102 20 200 0}"});
    OP_RUN("ConvTranspose", .attrs = "dilations=[2, 1]",
           .in = {"f32[1, 1, 1, 2]{1 2}", "f32[1, 1, 2, 2]{1 10 100 1000}"},
           .out = {"f32[1, 1, 3, 3]{1 12 20 0 0 0 100 1200 2000}"});
    OP_RUN("ConvTranspose", .attrs = "group=2",
           .in = {"f32[1, 2, 1]{1 2}", "f32[2, 2, 1]{1 10 100 1000}"},
           .out = {"f32[1, 4, 1]{1 10 200 2000}"});
    OP_RUN("ConvTranspose", .in = {"f32[2, 2, 1]{1 2 3 4}", "f32[2, 1, 2]{1 10 100 1000}"},
           .out = {"f32[2, 1, 2]{201 2010 403 4030}"});
}

/* Total padding 1: at the end for SAME_UPPER, at the start otherwise. */
static void output_shape(void **state) {
    (void)state;
    OP_RUN("ConvTranspose", .attrs = "strides=[2] auto_pad='SAME_UPPER'",
           .in = {"f32[1, 1, 2]{1 2}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 4]{1 10 102 20}"});
    OP_RUN("ConvTranspose", .attrs = "strides=[2] auto_pad='SAME_LOWER'",
           .in = {"f32[1, 1, 2]{1 2}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 4]{10 102 20 200}"});
    OP_RUN("ConvTranspose", .attrs = "strides=[2] output_shape=[4]",
           .in = {"f32[1, 1, 2]{1 2}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 4]{10 102 20 200}"});
    /* More than the kernel reaches is nothing but bias. */
    OP_RUN("ConvTranspose", .attrs = "output_shape=[4]",
           .in = {"f32[1, 1, 2]{1 2}", "f32[1, 1, 2]{1 10}", "f32[1]{0.5}"},
           .out = {"f32[1, 1, 4]{1.5 12.5 20.5 0.5}"});
    OP_RUN("ConvTranspose", .attrs = "strides=[2147483647, 1] output_shape=[1, 1]",
           .in = {"f32[1, 1, 35184372088832, 0]{}", "f32[1, 1, 1, 1]{1}"}, .error = "is too large");
}

static void edges(void **state) {
    (void)state;
    OP_RUN("ConvTranspose", .in = {"f32[0, 1, 3]{}", "f32[1, 1, 2]{1 10}"},
           .out = {"f32[0, 1, 4]{}"});
    OP_RUN("ConvTranspose", .in = {"f32[1, 1, 0]{}", "f32[1, 1, 2]{1 10}"},
           .out = {"f32[1, 1, 1]{0}"});
    OP_RUN("ConvTranspose", .attrs = "strides=[3]", .in = {"f32[1, 1, 0]{}", "f32[1, 1, 2]{1 10}"},
           .error = "gets the size -1");
    OP_RUN("ConvTranspose", .in = {"f32[1, 0, 2]{}", "f32[0, 1, 2]{}", "f32[1]{3}"},
           .out = {"f32[1, 1, 3]{3 3 3}"});
    OP_RUN("ConvTranspose", .in = {"f16[1, 1, 1]{2}", "f16[1, 1, 1]{nan}"},
           .out = {"f16[1, 1, 1]{nan}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("ConvTranspose", .attrs = "strides=[2, 2] group=2",
             .in = {"f32[n, 4, h, w]", "f32[4, 3, 2, 2]", "f32[6]"},
             .out = {"f32[n, 6, 2*h, 2*w]"});
    OP_INFER("ConvTranspose", .attrs = "auto_pad='SAME_UPPER' strides=[3]",
             .in = {"f32[n, c, l]", "f32[c, m, k]"}, .out = {"f32[n, m, 3*l]"});
    OP_INFER("ConvTranspose", .in = {"f32[n, c, l]", "f32[c, m, k]"}, .out = {"f32[n, m, ?]"});
    OP_INFER("ConvTranspose", .in = {"f32", "f32[4, 3, 2, 2]"}, .out = {"f32"});
    OP_INFER("ConvTranspose", .in = {"f32[1, 3, 4]", "f32[4, 3, 2]"},
             .error = "channels of the input and of the weights differ: 3 and 4");
    OP_INFER("ConvTranspose", .attrs = "group=3", .in = {"f32[1, 4, 4]", "f32[4, 3, 2]"},
             .error = "4 input channels cannot be split into 3 groups");
    OP_INFER("ConvTranspose", .in = {"f32[1, 4, 4]", "f32[4, 3, 2]", "f32[4]"},
             .error = "sizes of the bias and output channels differ: 4 and 3");
    OP_INFER("ConvTranspose", .attrs = "output_shape=[1, 3, 4]",
             .in = {"f32[1, 4, 4]", "f32[4, 3, 2]"}, .error = "'output_shape' has 3 values");
    OP_INFER("ConvTranspose", .attrs = "output_padding=[-1]",
             .in = {"f32[1, 4, 4]", "f32[4, 3, 2]"}, .error = "'output_padding' holds -1");
    OP_INFER("ConvTranspose", .attrs = "pads=[9, 0]", .in = {"f32[1, 4, 4]", "f32[4, 3, 2]"},
             .error = "gets the size -4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread),
        cmocka_unit_test(output_shape),
        cmocka_unit_test(edges),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
