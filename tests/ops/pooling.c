#include "support/op_test.h"

static void maximum(void **state) {
    (void)state;
    OP_RUN("MaxPool", .attrs = "kernel_shape=[2, 2] strides=[2, 2]",
           .in = {"f32[1, 1, 4, 4]{1 5 2 0 3 4 -1 -2 9 8 1 1 7 6 1 2}"},
           .out = {"f32[1, 1, 2, 2]{5 2 9 2}", "s64[1, 1, 2, 2]{1 2 8 15}"});
    /* The same, counted by columns; the second plane counts on. */
    OP_RUN("MaxPool", .attrs = "kernel_shape=[2, 1] storage_order=1",
           .in = {"f32[1, 2, 2, 3]{0 .. }"},
           .out = {"f32[1, 2, 1, 3]{3 4 5 9 10 11}", "s64[1, 2, 1, 3]{1 3 5 7 9 11}"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[3] pads=[2, 2] dilations=[2]",
           .in = {"s8[1, 1, 3]{-5 -128 -7}"},
           .out = {"s8[1, 1, 3]{-5 -128 -5}", "s64[1, 1, 3]{0 1 0}"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[2]", .in = {"u8[1, 1, 3]{0 255 7}"},
           .out = {"u8[1, 1, 2]{255 255}"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[2]", .in = {"f16[1, 1, 4]{nan 1 -inf -inf}"},
           .out = {"f16[1, 1, 3]{nan 1 -inf}", "s64[1, 1, 3]{0 1 2}"});
    /* A window that lies in the padding. */
    OP_RUN("MaxPool", .attrs = "kernel_shape=[1] pads=[1, 0]", .in = {"f32[1, 1, 1]{3}"},
           .out = {"f32[1, 1, 2]{-inf 3}", "s64[1, 1, 2]{-1 0}"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[1] pads=[1, 0]", .in = {"s8[1, 1, 1]{3}"},
           .out = {"s8[1, 1, 2]{-128 3}"});
}

static void average(void **state) {
    (void)state;
    OP_RUN("AveragePool", .attrs = "kernel_shape=[2] pads=[1, 1]", .in = {"f32[1, 1, 2]{2 4}"},
           .out = {"f32[1, 1, 3]{2 3 4}"});
    OP_RUN("AveragePool", .attrs = "kernel_shape=[2] pads=[1, 1] count_include_pad=1",
           .in = {"f32[1, 1, 2]{2 4}"}, .out = {"f32[1, 1, 3]{1 3 2}"});
    /* With ceil_mode the last window reaches beyond the padding: only what is padded counts. */
    OP_RUN("AveragePool",
           .attrs = "kernel_shape=[3] strides=[2] pads=[0, 1] ceil_mode=1 count_include_pad=1",
           .in = {"f32[1, 1, 5]{1 2 3 4 5}"}, .out = {"f32[1, 1, 3]{2 4 2.5}"});
    /* A window that would start beyond the input is dropped. */
    OP_RUN("AveragePool", .attrs = "kernel_shape=[1] strides=[2] ceil_mode=1 pads=[0, 1]",
           .in = {"f32[1, 1, 4]{1 2 3 4}"}, .out = {"f32[1, 1, 2]{1 3}"});
    OP_RUN("AveragePool", .attrs = "kernel_shape=[1] pads=[1, 0]", .in = {"f32[1, 1, 1]{3}"},
           .out = {"f32[1, 1, 2]{0 3}"});
    OP_RUN("AveragePool", .attrs = "kernel_shape=[1, 2, 2]", .in = {"f64[1, 1, 2, 2, 2]{1 ..}"},
           .out = {"f64[1, 1, 2, 1, 1]{2.5 6.5}"});
    OP_RUN("AveragePool",
           .attrs =
               "kernel_shape=[2147483647] pads=[2147483647, 2147483647]"
               " strides=[2147483647] count_include_pad=1",
           .in = {"f64[1, 1, 1]{2147483647}"}, .out = {"f64[1, 1, 2]{0 1}"});
    OP_RUN("AveragePool", .attrs = "kernel_shape=[2] pads=[1, 1]", .in = {"f32[1, 1, 0]{}"},
           .out = {"f32[1, 1, 1]{0}"});
    OP_RUN("AveragePool", .attrs = "kernel_shape=[2]", .in = {"f32[0, 2, 4]{}"},
           .out = {"f32[0, 2, 3]{}"});
}

static void lp(void **state) {
    (void)state;
    OP_RUN("LpPool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 1, 3]{3 -4 0}"},
           .out = {"f32[1, 1, 2]{5 4}"});
    OP_RUN("LpPool", .attrs = "kernel_shape=[2] p=1", .in = {"f32[1, 1, 3]{3 -4 0}"},
           .out = {"f32[1, 1, 2]{7 4}"});
    OP_RUN("LpPool", .attrs = "kernel_shape=[2] p=3 pads=[1, 0]", .in = {"f32[1, 1, 2]{-2 2}"},
           .out = {"f32[1, 1, 2]{2 2.5198421}"});
    OP_RUN("LpPool", .attrs = "kernel_shape=[2] p=0", .in = {"f32[1, 1, 3]{3 -4 0}"},
           .error = "'p' is 0, expected 1 or more");
}

/* Windows larger than the padded input: none, or one that ends beyond it, as in ONNX Runtime. */
static void narrow(void **state) {
    (void)state;
    OP_INFER("MaxPool", .attrs = "kernel_shape=[4]", .in = {"f32[1, 2, 3]"},
             .out = {"f32[1, 2, 0]", "s64[1, 2, 0]"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[4]", .in = {"f32[1, 1, 3]{1 2 3}"},
           .out = {"f32[1, 1, 0]{}"});
    OP_RUN("AveragePool", .attrs = "kernel_shape=[6] strides=[3] pads=[1, 0]",
           .in = {"f32[1, 1, 2]{1 2}"}, .out = {"f32[1, 1, 0]{}"});
    OP_RUN("LpPool", .attrs = "kernel_shape=[4] ceil_mode=1", .in = {"f32[1, 1, 3]{1 2 3}"},
           .out = {"f32[1, 1, 0]{}"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[3] strides=[2]", .in = {"f32[1, 1, 2]{2 1}"},
           .out = {"f32[1, 1, 1]{2}", "s64[1, 1, 1]{0}"});
    OP_RUN("MaxPool", .attrs = "kernel_shape=[5]", .in = {"f32[1, 1, 3]{1 2 3}"},
           .error = "is smaller than its window of 5");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("MaxPool", .attrs = "kernel_shape=[2, 2] strides=[2, 2]",
             .in = {"f32[n, c, 2*h, 2*w + 1]"}, .out = {"f32[n, c, h, w]", "s64[n, c, h, w]"});
    OP_INFER("AveragePool", .attrs = "kernel_shape=[3] auto_pad='SAME_LOWER'",
             .in = {"f32[n, c, l]"}, .out = {"f32[n, c, l]"});
    OP_INFER("LpPool", .attrs = "kernel_shape=[3]", .in = {"f32"}, .out = {"f32"});
    OP_INFER("MaxPool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 2, 3, 4]"},
             .error = "'kernel_shape' has 1 values, expected 2");
    OP_INFER("MaxPool", .attrs = "kernel_shape=[2]", .in = {"f32[1, 2]"}, .error = "rank 2");
    OP_INFER("MaxPool", .in = {"f32[1, 2, 3]"}, .error = "'kernel_shape' is missing");
    OP_INFER("MaxPool", .attrs = "kernel_shape=[5]", .in = {"f32[1, 2, 3]"},
             .error = "is smaller than its window of 5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maximum), cmocka_unit_test(average), cmocka_unit_test(lp),
        cmocka_unit_test(narrow),  cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
