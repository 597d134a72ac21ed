#include "support/op_test.h"

#define CHANNELS "f32[2]{2 1}", "f32[2]{10 -1}", "f32[2]{1 2}", "f32[2]{4 0.25}"

static void inference(void **state) {
    (void)state;
    /* (x - mean) / sqrt(var) * scale + B: x + 9 in the first channel, 2x - 5 in the second */
    OP_RUN("BatchNormalization", .attrs = "epsilon=0.0",
           .in = {"f32[2, 2, 2]{0 1 0 1 2 3 2 3}", CHANNELS},
           .out = {"f32[2, 2, 2]{9 10 -5 -3 11 12 -1 1}"});
    OP_RUN("BatchNormalization", .attrs = "epsilon=0.0", .in = {"f32[2, 2]{0 1 2 3}", CHANNELS},
           .out = {"f32[2, 2]{9 -3 11 1}"});
    OP_RUN("BatchNormalization", .attrs = "epsilon=3.0",
           .in = {"f16[1, 1, 2]{3 5}", "f32[1]{1}", "f32[1]{0}", "f64[1]{1}", "f64[1]{1}"},
           .out = {"f16[1, 1, 2]{1 2}"});
    OP_RUN("BatchNormalization",
           .in = {"f32[1, 1, 1]{3}", "f32[1]{1}", "f32[1]{0}", "f32[1]{1}", "f32[1]{0}"},
           .out = {"f32[1, 1, 1]{632.45553}"});
    /* A 1-d input is one channel. */
    OP_RUN("BatchNormalization", .attrs = "epsilon=0.0",
           .in = {"f32[3]{1 2 3}", "f32[1]{2}", "f32[1]{1}", "f32[1]{1}", "f32[1]{4}"},
           .out = {"f32[3]{1 2 3}"});
    OP_RUN("BatchNormalization", .in = {"f32[0, 2, 3]{}", CHANNELS}, .out = {"f32[0, 2, 3]{}"});
}

static void training_mode(void **state) {
    (void)state;
    /* Channel 0 has 1 3 1 3: mean 2, variance 1; channel 1 has 0 0 8 8: mean 4, variance 16. */
    OP_RUN("BatchNormalization", .attrs = "training_mode=1 epsilon=0.0 momentum=0.5",
           .in = {"f32[2, 2, 2]{1 3 0 0 1 3 8 8}", CHANNELS},
           .out = {"f32[2, 2, 2]{8 12 -2 -2 8 12 0 0}", "f32[2]{1.5 3}", "f32[2]{2.5 8.125}"});
    OP_RUN("BatchNormalization", .attrs = "training_mode=1 epsilon=0.0",
           .in = {"f32[2, 2]{1 3 3 5}", CHANNELS}, .out = {"f32[2, 2]{8 -2 12 0}"});
    OP_RUN("BatchNormalization", .attrs = "training_mode=1", .in = {"f32[0, 2]{}", CHANNELS},
           .out = {"f32[0, 2]{}", "f32[2]{nan nan}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("BatchNormalization", .in = {"f32[n, c, h]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"},
             .out = {"f32[n, c, h]"});
    OP_INFER("BatchNormalization", .attrs = "training_mode=1",
             .in = {"f16[n, 3, h]", "f32", "f32", "f64", "f64"},
             .out = {"f16[n, 3, h]", "f64[3]", "f64[3]"});
    OP_INFER("BatchNormalization", .attrs = "training_mode=1",
             .in = {"f32", "f32", "f32[3]", "f32", "f32"}, .out = {"f32", "f32[3]", "f32[3]"});
    OP_INFER("BatchNormalization", .in = {"f32[n, 4, h]", "f32[4]", "f32[4]", "f32[4]", "f32[3]"},
             .error = "input 4 has 3 elements, expected one for each of 4 channels");
    OP_INFER("BatchNormalization", .in = {"f32", "f32[4]", "f32[3]", "f32[4]", "f32[3]"},
             .error = "input 2 has 3 elements");
    OP_INFER("BatchNormalization", .in = {"f32[]", CHANNELS}, .error = "input 0 has rank 0");
    OP_INFER("BatchNormalization", .in = {"f32[1, 2]", "f32[1, 2]", "f32[2]", "f32[2]", "f32[2]"},
             .error = "input 1 has rank 2");
    OP_INFER("BatchNormalization", .in = {"f32[n, 2, h]", CHANNELS},
             .out = {"f32[n, 2, h]", "f32[2]"}, .error = "training mode only");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inference),
        cmocka_unit_test(training_mode),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
