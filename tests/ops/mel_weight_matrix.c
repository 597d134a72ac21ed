#include "support/op_test.h"

static void bands(void **state) {
    (void)state;
    OP_RUN("MelWeightMatrix",
           .in = {"s64[]{3}", "s64[]{16}", "s64[]{8000}", "f32[]{0}", "f32[]{4000}"},
           .out = {"f32[9, 3]{1 0 0 0 1 0 0 0.5 0.5 0 0 1 0 0 0.5 0 0 0 0 0 0 0 0 0 0 0 0}"});
    OP_RUN("MelWeightMatrix", .attrs = "output_datatype=7",
           .in = {"s32[1]{3}", "s32[1]{16}", "s32[1]{8000}", "f64[1]{0}", "f64[1]{4000}"},
           .out = {"s64[9, 3]{1 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0}"});
    /* Bands beyond what was sampled have no rows. */
    OP_RUN("MelWeightMatrix", .in = {"s64[]{2}", "s64[]{4}", "s64[]{8}", "f32[]{0}", "f32[]{3e38}"},
           .out = {"f32[3, 2]{0 0 0 0 0 0}"});
    OP_RUN("MelWeightMatrix", .in = {"s64[]{0}", "s64[]{4}", "s64[]{8}", "f32[]{0}", "f32[]{1}"},
           .out = {"f32[3, 0]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("MelWeightMatrix", .attrs = "output_datatype=11",
             .in = {"s64[]{m}", "s64[]{n}", "s64", "f32", "f32"},
             .out = {"f64[floor(n/2) + 1, m]"});
    OP_INFER("MelWeightMatrix", .in = {"s64", "s64", "s64", "f32", "f32"}, .out = {"f32[?, ?]"});
}

static void errors(void **state) {
    (void)state;
    OP_INFER("MelWeightMatrix", .in = {"s64", "s64[]{0}", "s64", "f32", "f32"},
             .error = "dft_length is 0");
    OP_INFER("MelWeightMatrix", .in = {"s64", "s64", "s64[2]", "f32", "f32"},
             .error = "input 2 has 2 entries");
    OP_INFER("MelWeightMatrix", .in = {"s64", "s64", "s64", "f32", "f32[0]"},
             .error = "input 4 is empty");
    OP_RUN("MelWeightMatrix", .in = {"s64[]{1}", "s64[]{4}", "s64[]{0}", "f32[]{0}", "f32[]{1}"},
           .error = "sample_rate is 0");
    OP_RUN("MelWeightMatrix", .in = {"s64[]{1}", "s64[]{4}", "s64[]{8}", "f32[]{2}", "f32[]{1}"},
           .error = "the band edges are 2 and 1 Hz");
    OP_RUN("MelWeightMatrix", .in = {"s64[]{1}", "s64[]{4}", "s64[]{8}", "f32[]{nan}", "f32[]{1}"},
           .error = "the band edges are nan and 1 Hz");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands),
        cmocka_unit_test(shapes),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
