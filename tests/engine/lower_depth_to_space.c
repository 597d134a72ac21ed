/* DepthToSpace and SpaceToDepth through the engine and through the plain executor: copies, in both
 * modes and in both layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void to_space(void **state) {
    (void)state;
    static const char *const modes[] = {"DCR", "CRD"};
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (float[2,12,3,4] x) => (float[2,3,6,8] y) {"
                 " y = DepthToSpace <blocksize = 2, mode = \"%s\"> (x) }",
                 modes[i]);
        engine_agrees(text, "");
        snprintf(text, sizeof text,
                 "m (float[2,5,3,4] x, float[36,5,1,1] w) => (float[2,4,9,12] y) { c = Conv (x, w)"
                 " d = DepthToSpace <blocksize = 3, mode = \"%s\"> (c) y = Tanh (d) }",
                 modes[i]);
        engine_agrees(text, "conv_f32 Conv, map_f32 Tanh");
    }
    engine_agrees_node("uint8[1,4,3,2]", "", "uint8[1,1,6,4]", "DepthToSpace <blocksize = 2> (x)",
                       "");
}

static void to_depth(void **state) {
    (void)state;
    engine_agrees_node("float[2,3,6,4]", "", "float[2,12,3,2]", "SpaceToDepth <blocksize = 2> (x)",
                       "");
    engine_agrees(
        "m (float[2,5,6,4] x, float[7,5,1,1] w) => (float[2,28,3,2] y) { c = Conv (x, w)"
        " d = SpaceToDepth <blocksize = 2> (c) y = Tanh (d) }",
        "conv_f32 Conv, map_f32 Tanh");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_space),
        cmocka_unit_test(to_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
