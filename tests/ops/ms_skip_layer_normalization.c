#include "support/op_test.h"

#define SKIP "com.microsoft.SkipLayerNormalization"
#define SIMPLE "com.microsoft.SkipSimplifiedLayerNormalization"

static void sums(void **state) {
    (void)state;
    /* 1 3 + 1 1 + 2 2: mean 5, variance 1 */
    OP_RUN(
        SKIP, .attrs = "epsilon=0.0",
        .in = {"f16[1, 1, 2]{1 3}", "f16[1, 2]{1 1}", "f16[2]{2 3}", "f16[2]{10 20}",
               "f16[2]{2 2}"},
        .out = {"f16[1, 1, 2]{8 23}", "f32[1, 1, 1]{5}", "f32[1, 1, 1]{1}", "f16[1, 1, 2]{4 6}"});
    OP_RUN(SKIP, .attrs = "epsilon=0.0",
           .in = {"bf16[2, 1, 2]{0 0 0 4}", "bf16[1, 1, 2]{1 3}", "bf16[2]{1 1}"},
           .out = {"bf16[2, 1, 2]{-1 1 -1 1}"});
    /* 1 7: mean square 25 */
    OP_RUN(SIMPLE, .attrs = "epsilon=0.0",
           .in = {"f32[1, 2]{0 4}", "f32[1, 2]{1 1}", "f32[2]{1 2}", "f32[2]{0 2}"},
           .out = {"f32[1, 2]{0.2 2.8}", "f32[1, 1]{0}", "f32[1, 1]{0.2}", "f32[1, 2]{1 7}"});
    OP_RUN(SKIP, .in = {"f32[2, 0]{}", "f32[2, 0]{}", "f32[0]{}"}, .out = {"f32[2, 0]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(SKIP, .in = {"f16[b, s, 8]", "f16[s, 8]", "f16[8]"},
             .out = {"f16[b, s, 8]", "f32[b, s, 1]", "f32[b, s, 1]", "f16[b, s, 8]"});
    OP_INFER(SIMPLE, .in = {"f32", "f32[s, 8]", "f32[8]"}, .out = {"f32", "f32", "f32", "f32"});
    OP_INFER(SKIP, .in = {"f32[8]", "f32[8]", "f32[8]"}, .error = "rank 1");
    OP_INFER(SKIP, .in = {"f32[2, 8]", "f32[3, 8]", "f32[8]"}, .error = "does not broadcast");
    OP_INFER(SKIP, .in = {"f32[2, 8]", "f32[2, 8]", "f32[1]"}, .error = "input 2 has 1 elements");
    OP_INFER(SKIP, .in = {"f32[2, 8]", "f32[2, 8]", "f32[8]", "f32[1, 8]"}, .error = "input 3");
    OP_INFER(SIMPLE, .in = {"f64", "f64", "f64"}, .error = "type f64");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
