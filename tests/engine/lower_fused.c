/* FusedConv and FusedGemm end their step with the activation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void activations_end_the_step(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,40,5,5] x, float[40,40,3,3] w, float[40] b) => (float[1,40,3,3] y) {"
        " y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w, b) }",
        "conv_f32 FusedConv");
    engine_agrees(
        "m (float[6,8] x, float[8,4] w, float[4] b) => (float[6,4] y) {"
        " y = com.microsoft.FusedGemm <activation = \"Tanh\"> (x, w, b) }",
        "conv_f32 FusedGemm");
    engine_agrees(
        "m (float[6,8] x, float[8,4] z) => (float[6,4] y) {"
        " y = com.microsoft.FusedGemm <activation = \"Sigmoid\"> (x, z) }",
        "matmul_f32 FusedGemm");
}

static void others_are_declined(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,8,5,5] x, float[4,8,3,3] w) => (float[1,4,3,3] y) {"
        " y = com.microsoft.FusedConv <activation = \"LeakyRelu\","
        " activation_params = [0.25]> (x, w) }",
        "reference FusedConv");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_end_the_step),
        cmocka_unit_test(others_are_declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
