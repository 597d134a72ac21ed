#include "support/op_test.h"

#define NLL "NegativeLogLikelihoodLoss"
#define SCE "SoftmaxCrossEntropyLoss"
#define SCORES "f32[2, 3, 2]{-1 -2 -3 -4 -5 -6 -7 -8 -9 -10 -11 -12}"
#define LABELS "s64[2, 2]{0 2 1 1}" /* losses 1 6 9 10 */

static void likelihood(void **state) {
    (void)state;
    OP_RUN(NLL, .attrs = "reduction='none'", .in = {SCORES, LABELS},
           .out = {"f32[2, 2]{1 6 9 10}"});
    OP_RUN(NLL, .attrs = "reduction='sum'", .in = {SCORES, LABELS}, .out = {"f32[]{26}"});
    OP_RUN(NLL, .in = {SCORES, LABELS}, .out = {"f32[]{6.5}"});
    OP_RUN(NLL, .in = {SCORES, LABELS, "f32[3]{1 0.5 2}"}, .out = {"f32[]{5.625}"});
    OP_RUN(NLL, .attrs = "ignore_index=1", .in = {SCORES, LABELS}, .out = {"f32[]{3.5}"});
    OP_RUN(NLL, .attrs = "ignore_index=1 reduction='none'", .in = {SCORES, LABELS, "f32[3]{1 5 2}"},
           .out = {"f32[2, 2]{1 12 0 0}"});
    /* What is ignored need not be a class. */
    OP_RUN(NLL, .attrs = "ignore_index=-100", .in = {"f16[2, 2]{-1 -2 -3 -4}", "s32[2]{-100 1}"},
           .out = {"f16[]{4}"});
    OP_RUN(NLL, .attrs = "ignore_index=0", .in = {"f32[1, 1]{-1}", "s64[1]{0}"},
           .out = {"f32[]{nan}"});
    OP_RUN(NLL, .attrs = "reduction='sum'", .in = {"f32[0, 3]{}", "s64[0]{}"}, .out = {"f32[]{0}"});
    OP_RUN(NLL, .in = {"f32[1, 3]{0 0 0}", "s64[1]{3}"},
           .error = "label 3 at position 0 is outside [0, 3)");
    OP_RUN(NLL, .in = {"f32[1, 3]{0 0 0}", "s64[1]{-1}"}, .error = "label -1");
}

static void cross_entropy(void **state) {
    (void)state;
    /* Probabilities 1/4 3/4 and, shifted far, 1/2 1/2. */
    OP_RUN(SCE, .attrs = "reduction='none'",
           .in = {"f32[2, 2]{0 1.0986122887 5000 5000}", "s64[2]{0 1}"},
           .out = {"f32[2]{1.3862944 0.6931472}",
                   "f32[2, 2]{-1.3862944 -0.28768207 -0.6931472 -0.6931472}"});
    OP_RUN(SCE, .in = {"f64[1, 2, 2]{0 0 1.0986122886681098 0}", "s32[1, 2]{0 0}", "f64[2]{2 1}"},
           .out = {"f64[]{1.0397207708399179}"}, .tolerance = 1e-12);
    OP_RUN(SCE, .attrs = "reduction='none'", .in = {"f32[1, 2]{nan 0}", "s64[1]{1}"},
           .out = {"f32[1]{nan}"});
    OP_RUN(SCE, .in = {"f32[1, 2]{0 0}", "s64[1]{2}"}, .error = "label 2");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(SCE, .attrs = "reduction='none'", .in = {"f32[n, 5, w]", "s64"},
             .out = {"f32[n, w]", "f32[n, 5, w]"});
    OP_INFER(SCE, .attrs = "reduction='none'", .in = {"f32", "s64[n, w]"}, .out = {"f32[n, w]"});
    OP_INFER(NLL, .attrs = "reduction='none'", .in = {"f32", "s64"}, .out = {"f32"});
    OP_INFER(NLL, .in = {"f32", "s64"}, .out = {"f32[]"});
    OP_INFER(NLL, .in = {"f32[3]", "s64"}, .error = "input 0 has rank 1");
    OP_INFER(NLL, .in = {"f32[3, 4]", "s64[3, 1]"}, .error = "input 1 has rank 2");
    OP_INFER(NLL, .in = {"f32[3, 4]", "s64[4]"}, .error = "scores and labels differ: 3 and 4");
    OP_INFER(NLL, .in = {"f32[3, 4]", "s64[3]", "f32[3]"}, .error = "input 2 has 3 elements");
    OP_INFER(NLL, .attrs = "reduction='max'", .in = {"f32", "s64"}, .error = "'max'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood),
        cmocka_unit_test(cross_entropy),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
