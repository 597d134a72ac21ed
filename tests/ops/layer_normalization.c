#include "support/op_test.h"

/* Mean 2, variance 1. */
#define X "f32[1, 2, 2]{1 3 3 1}"

static void layer(void **state) {
    (void)state;
    OP_RUN("LayerNormalization", .attrs = "epsilon=0.0", .in = {X, "f32[2]{2 3}", "f32[2]{10 20}"},
           .out = {"f32[1, 2, 2]{8 23 12 17}", "f32[1, 2, 1]{2 2}", "f32[1, 2, 1]{1 1}"});
    OP_RUN(
        "LayerNormalization", .attrs = "axis=1 epsilon=0.0",
        .in = {"f32[2, 2, 2]{1 1 5 5 0 2 0 2}", "f32[2, 2]{1 2 3 4}"},
        .out = {"f32[2, 2, 2]{-1 -2 3 4 -1 2 -3 4}", "f32[2, 1, 1]{3 1}", "f32[2, 1, 1]{0.5 1}"});
    /* Scale and bias broadcast to X, not only to the axes that are normalized. */
    OP_RUN("LayerNormalization", .attrs = "axis=-1 epsilon=0.0",
           .in = {X, "f32[2, 1]{2 3}", "f32[]{1}"}, .out = {"f32[1, 2, 2]{-1 3 4 -2}"});
    OP_RUN("LayerNormalization", .attrs = "axis=0", .in = {"f32[2]{1 1}", "f32[2]{1 1}"},
           .out = {"f32[2]{0 0}", "", "f32[1]{316.22777}"});
    OP_RUN("LayerNormalization", .attrs = "stash_type=16 epsilon=0.0",
           .in = {"f16[1, 2]{1 3}", "f16[2]{1 1}"},
           .out = {"f16[1, 2]{-1 1}", "bf16[1, 1]{2}", "bf16[1, 1]{1}"});
    /* 1e8 + {1, 3}: a sum of squares would lose everything. */
    OP_RUN("LayerNormalization", .attrs = "epsilon=0.0",
           .in = {"f64[1, 2]{100000001 100000003}", "f64[2]{1 1}"}, .out = {"f64[1, 2]{-1 1}"});
    OP_RUN("LayerNormalization", .in = {"f32[0, 2]{}", "f32[2]{1 1}"},
           .out = {"f32[0, 2]{}", "f32[0, 1]{}"});
    OP_RUN("LayerNormalization", .in = {"f32[2, 0]{}", "f32[1]{1}"},
           .out = {"f32[2, 0]{}", "f32[2, 1]{nan nan}"});
    OP_RUN("LayerNormalization", .attrs = "epsilon=0.0", .in = {"f32[1, 1024]{0 ..}", "f32[1]{1}"},
           .out = {"f32[1, 1024]", "f32[1, 1]{511.5}", "f32[1, 1]{0.0033829117}"});
}

static void rms(void **state) {
    (void)state;
    OP_RUN("RMSNormalization", .attrs = "epsilon=0.0", .in = {"f32[2, 2]{1 7 -3 3}", "f16[2]{1 2}"},
           .out = {"f16[2, 2]{0.2 2.8 -1 2}"});
    OP_RUN("RMSNormalization", .attrs = "epsilon=9.0 axis=0", .in = {"f32[2, 1]{4 4}", "f32[]{10}"},
           .out = {"f32[2, 1]{8 8}"});
    OP_RUN("SimplifiedLayerNormalization", .attrs = "epsilon=0.0",
           .in = {"f32[2, 2]{1 7 -3 3}", "f32[2]{1 2}"},
           .out = {"f32[2, 2]{0.2 2.8 -1 2}", "f32[2, 1]{0.2 0.33333333}"});
    OP_RUN("com.microsoft.SimplifiedLayerNormalization", .attrs = "epsilon=0.0",
           .in = {"bf16[1, 2]{1 7}", "bf16[2]{1 2}"},
           .out = {"bf16[1, 2]{0.2 2.8}", "f32[1, 1]{0.2}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("LayerNormalization", .attrs = "axis=-2", .in = {"f16[n, s, 8]", "f16[s, 8]"},
             .out = {"f16[n, s, 8]", "f32[n, 1, 1]", "f32[n, 1, 1]"});
    OP_INFER("LayerNormalization", .in = {"f32", "f32[8]"}, .out = {"f32", "f32"});
    OP_INFER("RMSNormalization", .in = {"f32[n, 8]", "f16"}, .out = {"f16[n, 8]"});
    OP_INFER("LayerNormalization", .in = {"f32[n, 8]", "f32[7]"},
             .error = "input 1 of shape [7] does not broadcast to [n, 8]");
    OP_INFER("LayerNormalization", .in = {"f32[8]", "f32[8]", "f32[1, 8]"}, .error = "input 2");
    OP_INFER("LayerNormalization", .attrs = "axis=1", .in = {"f32[8]", "f32[8]"},
             .error = "axis 1 is outside");
    OP_INFER("RMSNormalization", .attrs = "stash_type=2", .in = {"f32[8]", "f32[8]"},
             .error = "stash_type is 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer),
        cmocka_unit_test(rms),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
