#include "support/op_test.h"

static void sums(void **state) {
    (void)state;
    OP_RUN("hone.ConvGradW", .attrs = "kernel_shape=[2]",
           .in = {"f32[1, 1, 4]{1 2 3 4}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 2]{321 432}"});
    OP_RUN("hone.ConvGradW", .attrs = "kernel_shape=[2] pads=[1, 0] strides=[2] group=2",
           .in = {"f32[1, 2, 3]{1 2 3 4 5 6}", "f32[1, 2, 2]{1 10 1 10}"},
           .out = {"f32[2, 1, 2]{20 31 50 64}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("hone.ConvGradW", .attrs = "kernel_shape=[3, 3]",
             .in = {"f32[n, 4, 8, 8]", "f32[n, 6, 6, 6]"}, .out = {"f32[6, 4, 3, 3]"});
    OP_INFER("hone.ConvGradW", .attrs = "kernel_shape=[3, 3]",
             .in = {"f32[n, 4, 8, 8]", "f32[n, 6, 5, 6]"}, .error = "windows of X");
    OP_INFER("hone.ConvGradW", .attrs = "kernel_shape=[3, 3] group=4",
             .in = {"f32[n, 4, 8, 8]", "f32[n, 6, 6, 6]"}, .error = "cannot be split");
    OP_INFER("hone.ConvGradW", .attrs = "kernel_shape=[3]",
             .in = {"f32[n, 4, 8]", "f32[n, 6, 6, 6]"}, .error = "rank");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
