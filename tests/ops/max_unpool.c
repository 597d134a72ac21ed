#include "support/op_test.h"

static void values(void **state) {
    (void)state;
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2] strides=[2]",
           .in = {"f32[1, 2, 2]{1 2 3 4}", "s64[1, 2, 2]{0 3 5 6}"},
           .out = {"f32[1, 2, 4]{1 0 0 2 0 3 4 0}"});
    /* Indices count in the shape the attributes give, [1, 1, 2, 2]; the rest is zeros. */
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2, 2] strides=[2, 2]",
           .in = {"f32[1, 1, 1, 1]{7}", "s64[1, 1, 1, 1]{3}", "s64[4]{1 1 3 3}"},
           .out = {"f32[1, 1, 3, 3]{0 0 0 0 7 0 0 0 0}"});
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2, 1] strides=[2, 1]",
           .in = {"f64[1, 2, 1, 2]{1 2 3 4}", "s64[1, 2, 1, 2]{2 1 5 4}", "s64[4]{1 2 3 3}"},
           .out = {"f64[1, 2, 3, 3]{0 2 0 1 0 0 0 0 0 4 3 0 0 0 0 0 0 0}"});
    /* Of equal indices the last counts. */
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]",
           .in = {"bf16[1, 1, 2]{5 6}", "s64[1, 1, 2]{1 1}"}, .out = {"bf16[1, 1, 3]{0 6 0}"});
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[3] strides=[2] pads=[1, 0]",
           .in = {"f16[1, 1, 2]{1 2}", "s64[1, 1, 2]{0 2}"}, .out = {"f16[1, 1, 4]{1 0 2 0}"});
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 1, 0]{}", "s64[1, 1, 0]{}"},
           .out = {"f32[1, 1, 1]{0}"});
}

static void errors(void **state) {
    (void)state;
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 1, 1]{1}", "s64[1, 1, 1]{2}"},
           .error = "index 2, element 0, is outside [0, 2)");
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 1, 1]{1}", "s64[1, 1, 1]{-1}"},
           .error = "index -1");
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]",
           .in = {"f32[1, 1, 1]{1}", "s64[1, 1, 1]{1}", "s64[3]{1 1 1}"},
           .error = "output_shape has 1 on axis 2, expected at least 2");
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]",
           .in = {"f32[1, 1, 1]{1}", "s64[1, 1, 1]{1}", "s64[3]{1 2 2}"},
           .error = "output_shape has 2 on axis 1, expected 1");
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[2]",
           .in = {"f32[1, 1, 1]{1}", "s64[1, 1, 1]{1}", "s64[2]{1 1}"},
           .error = "output_shape has 2 values, expected 3");
    OP_RUN("MaxUnpool", .attrs = "kernel_shape=[1, 1] pads=[1, 1, 1, 1]",
           .in = {"f32[1, 1, 1, 1]{1}", "s64[1, 1, 1, 1]{0}", "s64[4]{1 1 0 0}"},
           .error = "spatial axis 0 gets the size -1");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("MaxUnpool", .attrs = "kernel_shape=[2, 2] strides=[2, 2]",
             .in = {"f32[n, c, h, w]", "s64[n, c, h, w]"}, .out = {"f32[n, c, 2*h, 2*w]"});
    OP_INFER("MaxUnpool", .attrs = "kernel_shape=[2]",
             .in = {"f32[n, c, l]", "s64[n, c, l]", "s64[3]"}, .out = {"f32[n, c, ?]"});
    OP_INFER("MaxUnpool", .attrs = "kernel_shape=[2]", .in = {"f32", "s64[1, 1, 1]"},
             .out = {"f32"});
    OP_INFER("MaxUnpool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 1, 3]", "s64[1, 1, 2]"},
             .error = "sizes of X and its indices differ: 3 and 2");
    OP_INFER("MaxUnpool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 1, 3]", "s64[3]"},
             .error = "X has rank 3 but its indices have rank 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(errors),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
