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

static void memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[2,3,4,4] x) => (float[2,3,4,4] y) { y = MeanVarianceNormalization (x) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_variance),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
