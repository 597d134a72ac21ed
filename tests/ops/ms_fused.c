#include "support/op_test.h"

static void conv(void **state) {
    (void)state;
    OP_RUN("com.microsoft.FusedConv", .attrs = "activation='Relu'",
           .in = {"f32[1, 1, 3]{1 2 3}", "f32[1, 1, 1]{1}", "f32[1]{-2.5}"},
           .out = {"f32[1, 1, 3]{0 0 0.5}"});
    OP_RUN("com.microsoft.FusedConv", .attrs = "activation='LeakyRelu' activation_params=[0.5]",
           .in = {"f32[1, 1, 3]{1 2 3}", "f32[1, 1, 1]{1}", "", "f32[1, 1, 3]{-5 -2 1}"},
           .out = {"f32[1, 1, 3]{-2 0 4}"});
    OP_RUN("com.microsoft.FusedConv", .attrs = "activation='Clip' activation_params=[-1.0, 2.0]",
           .in = {"f64[1, 1, 4]{-9 1 9 nan}", "f64[1, 1, 1]{1}"},
           .out = {"f64[1, 1, 4]{-1 1 2 nan}"});
    OP_RUN("com.microsoft.FusedConv", .in = {"f16[1, 1, 1]{2}", "f16[1, 1, 1]{3}"},
           .out = {"f16[1, 1, 1]{6}"});
    OP_INFER("com.microsoft.FusedConv", .attrs = "activation='Relu' pads=[1, 1]",
             .in = {"f32[n, 3, l]", "f32[8, 3, 3]", "f32[8]", "f32[n, 8, l]"},
             .out = {"f32[n, 8, l]"});
    OP_INFER("com.microsoft.FusedConv", .attrs = "activation='Gelu'",
             .in = {"f32[1, 1, 1]", "f32[1, 1, 1]"}, .error = "activation 'Gelu' is not known");
    OP_INFER("com.microsoft.FusedConv", .attrs = "activation='Relu' activation_params=[0.5]",
             .in = {"f32[1, 1, 1]", "f32[1, 1, 1]"},
             .error = "'activation_params' has 1 values, expected 0");
    OP_INFER("com.microsoft.FusedConv", .in = {"f32[1, 1, 2]", "f32[1, 1, 1]", "", "f32[1, 1, 1]"},
             .error = "sizes of Z and Y differ: 1 and 2");
}

static void gemm(void **state) {
    (void)state;
    OP_RUN("com.microsoft.FusedGemm", .attrs = "activation='Relu' alpha=2.0 transB=1",
           .in = {"f32[1, 2]{1 2}", "f32[2, 2]{1 1 -1 -1}", "f32[]{1}"}, .out = {"f32[1, 2]{7 0}"});
    OP_RUN("com.microsoft.FusedGemm",
           .attrs = "activation='Selu' activation_alpha=2.0 activation_gamma=3.0",
           .in = {"f64[1, 1]{1}", "f64[1, 2]{1 -inf}"}, .out = {"f64[1, 2]{3 -6}"});
    OP_RUN("com.microsoft.FusedGemm", .in = {"f32[1, 1]{-2}", "f32[1, 1]{3}"},
           .out = {"f32[1, 1]{-6}"});
    OP_INFER("com.microsoft.FusedGemm", .attrs = "activation='Relu'",
             .in = {"f32[n, 3]", "f32[3, 4]", "f32[4]"}, .out = {"f32[n, 4]"});
    OP_INFER("com.microsoft.FusedGemm", .attrs = "activation='Nothing'",
             .in = {"f32[n, 3]", "f32[3, 4]"}, .error = "activation 'Nothing' is not known");
}

static void matmul(void **state) {
    (void)state;
    OP_RUN("com.microsoft.FusedMatMul", .attrs = "alpha=0.5 transA=1 transB=1",
           .in = {"f32[2, 1]{1 2}", "f32[3, 2]{1 10 2 20 3 30}"},
           .out = {"f32[1, 3]{10.5 21 31.5}"});
    /* A is [rows, batch, cols]. */
    OP_RUN("com.microsoft.FusedMatMul", .attrs = "transBatchA=1",
           .in = {"f32[1, 2, 2]{1 2 3 4}", "f32[2, 2, 1]{1 10 1 10}"},
           .out = {"f32[2, 1, 1]{21 43}"});
    OP_RUN("com.microsoft.FusedMatMul", .attrs = "transA=1",
           .in = {"f32[2]{1 2}", "f32[2, 1]{1 10}"}, .out = {"f32[1]{21}"});
    OP_RUN("com.microsoft.TransposeMatMul", .attrs = "transB=1",
           .in = {"bf16[1, 2]{1 2}", "bf16[1, 2]{1 10}"}, .out = {"bf16[1, 1]{21}"});
    OP_INFER("com.microsoft.FusedMatMul", .attrs = "transBatchA=1 transBatchB=1 transB=1",
             .in = {"f32[s, b, 64]", "f32[t, b, 64]"}, .out = {"f32[b, s, t]"});
    OP_INFER("com.microsoft.TransposeMatMul", .attrs = "transA=1",
             .in = {"f32[b, 64, s]", "f32[b, 32, t]"},
             .error = "columns of A and rows of B differ: 64 and 32");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv),
        cmocka_unit_test(gemm),
        cmocka_unit_test(matmul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
