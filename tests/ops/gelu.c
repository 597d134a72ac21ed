#include "support/op_test.h"

static void gelu(void **state) {
    (void)state;
    OP_RUN("Gelu", .in = {"f64[4]{-10 -1 0 1}"},
           .out = {"f64[4]{-7.61985302416052e-23 -0.15865525393145707 0 0.8413447460685429}"},
           .tolerance = 1e-15);
    OP_RUN("Gelu", .attrs = "approximate='tanh'", .in = {"f64[3]{-1 0 1}"},
           .out = {"f64[3]{-0.15880800939172324 0 0.8411919906082768}"}, .tolerance = 1e-15);
    OP_RUN("Gelu", .in = {"f32[2]{nan inf}"}, .out = {"f32[2]{nan inf}"});
    OP_INFER("Gelu", .attrs = "approximate='x'", .in = {"f32[1]"}, .error = "none tanh");
    OP_INFER("Gelu", .in = {"bf16[n]"}, .out = {"bf16[n]"});
}

static void microsoft(void **state) {
    (void)state;
    OP_RUN("com.microsoft.Gelu", .in = {"f32[2]{-1 1}"}, .out = {"f32[2]{-0.15865525 0.84134475}"});
    OP_RUN("com.microsoft.QuickGelu", .in = {"f32[2]{-1 1}"},
           .out = {"f32[2]{-0.15420423 0.84579577}"});
    OP_RUN("com.microsoft.QuickGelu", .attrs = "alpha=1.0", .in = {"f32[1]{1}"},
           .out = {"f32[1]{0.731058579}"});
    OP_RUN("com.microsoft.FastGelu", .in = {"f32[2]{-1 1}"},
           .out = {"f32[2]{-0.15880801 0.84119199}"});
    OP_RUN("com.microsoft.FastGelu", .in = {"f32[2, 2]{-1 0 1 2}", "f32[2]{0 1}"},
           .out = {"f32[2, 2]{-0.15880801 0.84119199 0.84119199 2.99636260}"});
    OP_RUN("com.microsoft.BiasGelu", .in = {"f32[1, 2]{-2 0}", "f32[2]{1 1}"},
           .out = {"f32[1, 2]{-0.15865525 0.84134475}"});
}

static void the_bias_fits_the_last_axis(void **state) {
    (void)state;
    OP_INFER("com.microsoft.BiasGelu", .in = {"f32[n, 3]", "f32[3]"}, .out = {"f32[n, 3]"});
    OP_INFER("com.microsoft.FastGelu", .in = {"f32", "f32[3]"}, .out = {"f32"});
    OP_INFER("com.microsoft.BiasGelu", .in = {"f32[n, 3]", "f32[4]"},
             .error = "last axis of X and bias differ: 3 and 4");
    OP_INFER("com.microsoft.BiasGelu", .in = {"f32[n, 3]", "f32[1, 3]"}, .error = "rank 2");
    OP_INFER("com.microsoft.FastGelu", .in = {"f32[]", "f32[1]"}, .error = "rank 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu),
        cmocka_unit_test(microsoft),
        cmocka_unit_test(the_bias_fits_the_last_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
