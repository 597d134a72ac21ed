#include "support/op_test.h"

static void maximum(void **state) {
    (void)state;
    OP_RUN("com.microsoft.NhwcMaxPool", .attrs = "kernel_shape=[2]",
           .in = {"s8[1, 3, 2]{-1 -10 -2 -20 -3 30}"}, .out = {"s8[1, 2, 2]{-1 -10 -2 30}"});
    OP_RUN("com.microsoft.NhwcMaxPool", .attrs = "kernel_shape=[1] pads=[1, 0]",
           .in = {"s8[1, 1, 1]{3}"}, .out = {"s8[1, 2, 1]{-128 3}"});
    OP_INFER("com.microsoft.NhwcMaxPool", .attrs = "kernel_shape=[2, 2] strides=[2, 2]",
             .in = {"u8[n, 2*h, 2*w, c]"}, .out = {"u8[n, h, w, c]"});
}

/* Ties go to even; scales are powers of 2, so the ties are exact. */
static void average(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QLinearAveragePool", .attrs = "kernel_shape=[2]",
           .in = {"u8[1, 1, 4]{10 11 14 255}", "f32[]{1}", "u8[]{10}", "f32[]{1}", "u8[]{100}"},
           .out = {"u8[1, 1, 3]{100 102 224}"});
    OP_RUN("com.microsoft.QLinearAveragePool",
           .attrs = "kernel_shape=[2] strides=[2] channels_last=1",
           .in = {"s8[1, 2, 2]{-100 1 -120 3}", "f32[1]{2}", "", "f32[1]{1}"},
           .out = {"s8[1, 1, 2]{-128 4}"});
    /* Padding is the zero point; it counts only when asked to. */
    OP_RUN("com.microsoft.QLinearAveragePool", .attrs = "kernel_shape=[2] pads=[1, 0]",
           .in = {"u8[1, 1, 1]{20}", "f32[]{1}", "u8[]{10}", "f32[]{1}", "u8[]{0}"},
           .out = {"u8[1, 1, 1]{10}"});
    OP_RUN("com.microsoft.QLinearAveragePool",
           .attrs = "kernel_shape=[2] pads=[1, 0] count_include_pad=1",
           .in = {"u8[1, 1, 1]{20}", "f32[]{1}", "u8[]{10}", "f32[]{1}", "u8[]{0}"},
           .out = {"u8[1, 1, 1]{5}"});
    OP_RUN("com.microsoft.QLinearAveragePool", .attrs = "kernel_shape=[1] pads=[1, 0]",
           .in = {"u8[1, 1, 1]{20}", "f32[]{1}", "u8[]{10}", "f32[]{1}", "u8[]{7}"},
           .out = {"u8[1, 1, 2]{7 17}"});
    OP_INFER("com.microsoft.QLinearAveragePool", .attrs = "kernel_shape=[2] channels_last=1",
             .in = {"u8[n, l, c]", "f32[]", "", "f32[]"}, .out = {"u8[n, l - 1, c]"});
    OP_INFER("com.microsoft.QLinearAveragePool", .attrs = "kernel_shape=[2]",
             .in = {"u8[n, c, l]", "f32[2]", "", "f32[]"},
             .error = "input 1 has shape [2], expected one value");
}

static void global(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QLinearGlobalAveragePool",
           .in = {"u8[1, 2, 2, 2]{1 2 3 4 5 6 7 8}", "f32[]{1}", "u8[]{0}", "f32[]{1}", "u8[]{0}"},
           .out = {"u8[1, 2, 1, 1]{2 6}"});
    OP_RUN("com.microsoft.QLinearGlobalAveragePool", .attrs = "channels_last=1",
           .in = {"s8[1, 2, 2, 2]{1 2 3 4 5 6 7 8}", "f32[]{2}", "s8[]{4}", "f32[]{1}", "s8[]{-1}"},
           .out = {"s8[1, 1, 1, 2]{-1 1}"});
    OP_RUN("com.microsoft.QLinearGlobalAveragePool",
           .in = {"u8[0, 2, 3]{}", "f32[]{1}", "u8[]{0}", "f32[]{1}", "u8[]{0}"},
           .out = {"u8[0, 2, 1]{}"});
    OP_RUN("com.microsoft.QLinearGlobalAveragePool",
           .in = {"u8[1, 1, 0]{}", "f32[]{1}", "u8[]{0}", "f32[]{1}", "u8[]{9}"},
           .out = {"u8[1, 1, 1]{9}"});
    OP_INFER("com.microsoft.QLinearGlobalAveragePool", .attrs = "channels_last=1",
             .in = {"u8[n, h, w, c]", "f32[]", "u8[]", "f32[]", "u8[]"}, .out = {"u8[n, 1, 1, c]"});
    OP_INFER("com.microsoft.QLinearGlobalAveragePool",
             .in = {"u8", "f32[]", "u8[]", "f32[]", "u8[]"}, .out = {"u8"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maximum),
        cmocka_unit_test(average),
        cmocka_unit_test(global),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
