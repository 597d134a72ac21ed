/* Softmax and the normalisations through the engine and through the plain executor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void mean_variance(void **state) {
    (void)state;
    static const char step[] = "norm_f32 MeanVarianceNormalization";
    static const char *const axes[] = {" = [0, 2, 3]", " = [2, 3]", " = [1]",
                                       " = [-1]",      " = [0]",    " = [0, 1, 2, 3]",
                                       ": ints = []",  " = [1, 3]"};
    /* Where each element is a group of its own, all is 0, which is too little to compare. */
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "m (float[3,5,7,6] x) => (float[3,5,7,6] y) {"
                 " n = MeanVarianceNormalization <axes%s> (x) y = Add (n, x) }",
                 axes[i]);
        engine_agrees(text, NULL);
        snprintf(text, sizeof text,
                 "m (float[3,5,7,6] x) => (float[3,5,7,6] y) {"
                 " y = MeanVarianceNormalization <axes%s> (x) }",
                 axes[i]);
        if (i != 6) engine_agrees(text, step);
    }
    engine_agrees(
        "m (float[1,5,7,6] x) => (float[1,5,7,6] y) { y = MeanVarianceNormalization (x) }", step);
    engine_agrees(
        "m (float[2,7,6,5] x) => (float[2,5,7,6] y) {"
        " t = Transpose <perm = [0, 3, 1, 2]> (x) y = MeanVarianceNormalization (t) }",
        step);
    engine_agrees(
        "m (double[2,3,2,2] x) => (double[2,3,2,2] y) { y = MeanVarianceNormalization (x) }",
        "reference MeanVarianceNormalization");
}

/* Rows of doubles, along axes that lie anywhere. */
static void doubles(void **state) {
    (void)state;
    static const char *const along[] = {"Softmax", "LogSoftmax", "LpNormalization"};
    char text[256], steps[64];
    for (int i = 0; i < 3; i++)
        for (int axis = -1; axis < 3; axis++) {
            snprintf(text, sizeof text,
                     "m (double[4,9,70] x) => (double[4,9,70] y) { y = %s <axis = %d> (x) }",
                     along[i], axis);
            snprintf(steps, sizeof steps, "rows_f64 %s", along[i]);
            engine_agrees(text, steps);
        }
    engine_agrees(
        "m (double[4,70] x) => (double[4,70] y) { y = LpNormalization <p = 1, axis = 1> (x) }",
        "rows_f64 LpNormalization");
    engine_agrees(
        "m (double[4,9,70] x, double[9,70] w, double[9,70] wb) => (double[4,9,70] y) {"
        " y = LayerNormalization <axis = 1> (x, w, wb) }",
        "rows_f64 LayerNormalization");
    engine_agrees(
        "m (double[70,4] x, double[70] w) => (double[4,70] y) { t = Transpose (x)"
        " y = RMSNormalization (t, w) }",
        "rows_f64 RMSNormalization");
    engine_agrees(
        "m (double[4,70] x, double[1] w) => (double[4,70] y) { y = LayerNormalization (x, w) }",
        "reference LayerNormalization");
}

static void losses(void **state) {
    (void)state;
    static const char *const reductions[] = {"none", "sum", "mean"};
    static const char *const ignore[] = {"", ", ignore_index = 1"};
    for (int i = 0; i < 24; i++) {
        char text[512];
        const char *labels = i & 4 ? "int64" : "int32", *to = i % 3 == 0 ? "3,4,5" : "";
        bool log_prob = (i & 2) != 0, weight = (i & 8) != 0;
        snprintf(text, sizeof text,
                 "m (float[3,7,4,5] x, %s[3,4,5] k%s) => (float[%s] y%s) { c = Abs (k)"
                 " y%s = SoftmaxCrossEntropyLoss <reduction = \"%s\"%s> (x, c%s) }",
                 labels, weight ? ", float[7] w" : "", to, log_prob ? ", float[3,7,4,5] l" : "",
                 log_prob ? ", l" : "", reductions[i % 3], ignore[i & 1], weight ? ", w" : "");
        engine_agrees(text,
                      "map_int Abs, softmax_f32 SoftmaxCrossEntropyLoss,"
                      " label_loss_f32 SoftmaxCrossEntropyLoss");
        snprintf(text, sizeof text,
                 "m (float[60,7] x, %s[60] k%s) => (float[%s] y%s) { c = Abs (k)"
                 " y%s = SoftmaxCrossEntropyLoss <reduction = \"%s\"%s> (x, c%s) }",
                 labels, weight ? ", float[7] w" : "", i % 3 == 0 ? "60" : "",
                 log_prob ? ", float[60,7] l" : "", log_prob ? ", l" : "", reductions[i % 3],
                 ignore[i & 1], weight ? ", w" : "");
        engine_agrees(text, NULL);
        snprintf(text, sizeof text,
                 "m (float[4,5,7,3] x, %s[3,4,5] k%s) => (float[%s] y) { c = Abs (k)"
                 " t = Transpose <perm = [3, 2, 0, 1]> (x)"
                 " y = NegativeLogLikelihoodLoss <reduction = \"%s\"%s> (t, c%s) }",
                 labels, weight ? ", float[7] w" : "", to, reductions[i % 3], ignore[i & 1],
                 weight ? ", w" : "");
        engine_agrees(text, NULL);
    }
    engine_agrees(
        "m (float[2,5,1,2,1,2,1] x, int64[2,1,2,1,2,1] k) => (float[2,1,2,1,2,1] y,"
        " float[2,5,1,2,1,2,1] l) { c = Abs (k)"
        " y, l = SoftmaxCrossEntropyLoss <reduction = \"none\"> (x, c) }",
        NULL);
    static const int64_t good[] = {0, 1, 2}, over[] = {0, 3, 2}, under[] = {0, 1, -1};
    static const char cross[] =
        "m (float[3,3] x, int64[3] k) => (float y) { y = SoftmaxCrossEntropyLoss (x, k) }";
    engine_refuses(cross, over, good, "label 3 at position 1 is outside [0, 3)");
    engine_refuses(cross, under, good, "label -1 at position 2 is outside [0, 3)");
}

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[2,3,4] x, int64[2,4] k) => (float y, float[2,3,4] l) {"
        " y, l = SoftmaxCrossEntropyLoss <ignore_index = -1> (x, k) }");
    engine_survives(
        "m (float[2,3,4,4] x) => (float[2,3,4,4] y) { y = MeanVarianceNormalization (x) }");
    engine_survives("m (double[2,3,4] x) => (double[2,3,4] y) { y = Softmax <axis = 1> (x) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_variance),
        cmocka_unit_test(doubles),
        cmocka_unit_test(losses),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
