#include "support/op_test.h"

static void axes(void **state) {
    (void)state;
    OP_RUN("Softmax", .in = {"f32[2, 2]{0 0 0 1.0986122887}"},
           .out = {"f32[2, 2]{0.5 0.5 0.25 0.75}"});
    OP_RUN("Softmax", .attrs = "axis=0", .in = {"f64[2, 2]{0 0 0 1.09861228866811}"},
           .out = {"f64[2, 2]{0.5 0.25 0.5 0.75}"}, .tolerance = 1e-12);
    OP_RUN("LogSoftmax", .attrs = "axis=-2", .in = {"f32[2, 2]{0 0 0 1.0986122887}"},
           .out = {"f32[2, 2]{-0.6931472 -1.3862944 -0.6931472 -0.28768207}"});
    OP_RUN("Hardmax", .attrs = "axis=1", .in = {"f32[1, 3, 2]{1 5 3 5 3 4}"},
           .out = {"f32[1, 3, 2]{0 1 1 0 0 0}"});
    OP_RUN("Softmax", .in = {"f32[3, 1]{1 2 3}"}, .out = {"f32[3, 1]{1 1 1}"});
    OP_RUN("Softmax", .in = {"f32[2, 0]{}"}, .out = {"f32[2, 0]{}"});
    OP_RUN("Softmax", .attrs = "axis=1", .in = {"f32[0, 3]{}"}, .out = {"f32[0, 3]{}"});
    /* Longer than a block both ways. */
    OP_RUN("Softmax", .in = {"f32[1, 1000]{7 ...}"}, .out = {"f32[1, 1000]{0.001 ...}"});
    OP_RUN("Hardmax", .attrs = "axis=0", .in = {"f32[1, 1000]{0 ..}"},
           .out = {"f32[1, 1000]{1 ...}"});
}

static void extremes(void **state) {
    (void)state;
    OP_RUN("Softmax", .in = {"f32[2]{10000 10000}"}, .out = {"f32[2]{0.5 0.5}"});
    OP_RUN("LogSoftmax", .in = {"f32[2]{-10000 0}"}, .out = {"f32[2]{-10000 0}"});
    OP_RUN("Softmax", .in = {"f16[3]{-inf 0 0}"}, .out = {"f16[3]{0 0.5 0.5}"});
    OP_RUN("Softmax", .in = {"bf16[2]{-inf -inf}"}, .out = {"bf16[2]{nan nan}"});
    OP_RUN("LogSoftmax", .in = {"f32[2]{inf 0}"}, .out = {"f32[2]{nan nan}"});
    OP_RUN("Softmax", .in = {"f32[2, 2]{0 nan 0 0}"}, .out = {"f32[2, 2]{nan nan 0.5 0.5}"});
    OP_RUN("Hardmax", .in = {"f32[4, 3]{3 nan nan  -inf -inf -inf  1 inf inf  2 2 1}"},
           .out = {"f32[4, 3]{0 1 0  1 0 0  0 1 0  1 0 0}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Softmax", .in = {"f32[n, m]"}, .out = {"f32[n, m]"});
    OP_INFER("Softmax", .in = {"f32"}, .out = {"f32"});
    OP_INFER("LogSoftmax", .attrs = "axis=2", .in = {"f32[n, m]"},
             .error = "axis 2 is outside [-2, 2)");
    OP_INFER("Hardmax", .in = {"f32[]"}, .error = "axis -1");
    OP_INFER("Softmax", .in = {"s32[2]"}, .error = "type s32");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes),
        cmocka_unit_test(extremes),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
