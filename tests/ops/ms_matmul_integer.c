#include "support/op_test.h"

static void to_float(void **state) {
    (void)state;
    OP_RUN("com.microsoft.MatMulIntegerToFloat",
           .in = {"u8[1, 2]{3 4}", "s8[2, 2]{1 2 3 4}", "f32[]{0.5}", "f32[2]{1 10}", "u8[]{1}",
                  "s8[2]{0 1}", "f32[2]{100 200}"},
           .out = {"f32[1, 2]{105.5 255}"});
    OP_RUN("com.microsoft.MatMulIntegerToFloat",
           .in = {"s8[1, 1]{-128}", "u8[1, 1]{255}", "f16[]{0.25}", "f16[]{1}"},
           .out = {"f16[1, 1]{-8160}"});
    OP_INFER("com.microsoft.MatMulIntegerToFloat",
             .in = {"u8[b, s, 4]", "s8[4, 6]", "f32[]", "f32[6]"}, .out = {"f32[b, s, 6]"});
    OP_INFER("com.microsoft.MatMulIntegerToFloat",
             .in = {"u8[2, 4]", "s8[4, 6]", "f32[4]", "f32[6]"},
             .error = "input 2 has shape [4], expected one value");
    OP_INFER("com.microsoft.MatMulIntegerToFloat",
             .in = {"u8[2, 4]", "s8[4, 6]", "f32[]", "f32[6]", "", "", "f32[4]"},
             .error = "sizes of the bias and columns of B differ: 4 and 6");
}

static void dynamic(void **state) {
    (void)state;
    /* The range is [0, 255], so the codes are the numbers themselves, rounded. */
    OP_RUN("com.microsoft.DynamicQuantizeMatMul",
           .in = {"f32[2, 2]{0.5 255 1.5 2}", "s8[2, 1]{1 10}", "f32[]{1}"},
           .out = {"f32[2, 1]{2550 22}"});
    /* [-85, 170]: zero point 85. */
    OP_RUN("com.microsoft.DynamicQuantizeMatMul",
           .in = {"f32[1, 2]{-85 170}", "u8[2, 1]{3 4}", "f32[1]{0.5}", "u8[1]{2}", "f32[1]{0.25}"},
           .out = {"f32[1, 1]{127.75}"});
    OP_RUN("com.microsoft.DynamicQuantizeMatMul",
           .in = {"f32[0, 2]{}", "u8[2, 1]{3 4}", "f32[1]{0.5}"}, .out = {"f32[0, 1]{}"});
    OP_INFER("com.microsoft.DynamicQuantizeMatMul", .in = {"f32[n, 4]", "s8[4, m]", "f32[m]"},
             .out = {"f32[n, m]"});
    OP_INFER("com.microsoft.DynamicQuantizeMatMul", .in = {"f32[n, 4]", "s8[4, 6]", "f32[5]"},
             .error = "input 2 has shape [5], expected one value or one for each column");
}

static void qgemm(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QGemm", .attrs = "alpha=2.0",
           .in = {"u8[1, 2]{3 4}", "f32[]{0.5}", "u8[]{1}", "s8[2, 2]{1 2 3 4}", "f32[2]{1 10}",
                  "s8[2]{0 0}", "s32[2]{-1 1}"},
           .out = {"f32[1, 2]{10 170}"});
    /* To 8 bits: a tie to even, and saturation. */
    OP_RUN("com.microsoft.QGemm", .attrs = "transA=1 transB=1",
           .in = {"s8[1, 1]{5}", "f32[]{0.5}", "s8[]{0}", "s8[2, 1]{1 100}", "f32[]{1}", "s8[]{0}",
                  "s32[1, 2]{0 0}", "f32[]{1}", "s8[]{3}"},
           .out = {"s8[1, 2]{5 127}"});
    OP_RUN("com.microsoft.QGemm",
           .in = {"u8[1, 1]{5}", "f32[]{1}", "u8[]{0}", "u8[1, 1]{60}", "f32[]{1}", "u8[]{0}", "",
                  "f32[]{2}"},
           .out = {"u8[1, 1]{150}"});
    OP_INFER("com.microsoft.QGemm", .attrs = "transB=1",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[6, 4]", "f32[6]", "s8[6]", "s32[6]", "f32[]",
                    "s8[]"},
             .out = {"s8[n, 6]"});
    OP_INFER("com.microsoft.QGemm", .in = {"u8", "f32[]", "u8[]", "s8", "f32[]", "s8[]"},
             .out = {"f32"});
    OP_INFER("com.microsoft.QGemm",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[4, 6]", "f32[5]", "s8[]"},
             .error = "input 4 has shape [5], expected one value or one for each channel");
    OP_INFER("com.microsoft.QGemm",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[4, 6]", "f32[]", "s8[]", "s32[5]"},
             .error = "sizes of C and A * B differ: 5 and 6");
    OP_INFER("com.microsoft.QGemm",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[5, 6]", "f32[]", "s8[]"},
             .error = "columns of A and rows of B differ: 4 and 5");
    OP_INFER("com.microsoft.QGemm",
             .in = {"u8[n, 4]", "f32[]", "u8[]", "s8[4, 6]", "f32[]", "s8[]", "", "", "u8[]"},
             .error = "y_zero_point is given without y_scale");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_float),
        cmocka_unit_test(dynamic),
        cmocka_unit_test(qgemm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
