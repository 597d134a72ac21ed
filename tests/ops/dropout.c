#include "support/op_test.h"

static void inference_copies(void **state) {
    (void)state;
    OP_RUN("Dropout", .in = {"f32[3]{1 nan 3}"}, .out = {"f32[3]{1 nan 3}", "bool[3]{1 1 1}"});
    OP_RUN("Dropout", .in = {"f16[2]{1 2}", "f16[]{0.9}", "bool[]{0}"}, .out = {"f16[2]{1 2}"});
    OP_RUN("Dropout", .in = {"f32[2]{1 2}", "f32[]{0}", "bool[]{1}"},
           .out = {"f32[2]{1 2}", "bool[2]{1 1}"});
    OP_RUN("Dropout", .in = {"f32[0]{}"}, .out = {"f32[0]{}", "bool[0]{}"});
}

static void training_drops(void **state) {
    (void)state;
    /* With seed 3 the third of 4 is dropped: the generator is the same on every
     * machine. */
    OP_RUN("Dropout", .attrs = "seed=3", .in = {"f32[4]{1 2 3 4}", "f32[]{0.5}", "bool[]{1}"},
           .out = {"f32[4]{2 4 0 8}", "bool[4]{1 1 0 1}"});
}

static void hostile(void **state) {
    (void)state;
    OP_RUN("Dropout", .in = {"f32[1]{1}", "f32[]{1}", "bool[]{1}"}, .error = "ratio 1 is outside");
    OP_RUN("Dropout", .in = {"f32[1]{1}", "f32[]{nan}", "bool[]{1}"},
           .error = "ratio nan is outside");
    OP_RUN("Dropout", .in = {"f32[1]{1}", "f32[2]{0 0}"}, .error = "ratio has 2 elements");
    OP_RUN("Dropout", .in = {"f32[1]{1}", "", "bool[0]{}"},
           .error = "training_mode has 0 elements");
    OP_INFER("Dropout", .in = {"f32[n]", "f32[1, 1]"}, .error = "input 1 has rank 2");
    OP_INFER("Dropout", .in = {"f32[n]"}, .out = {"f32[n]", "bool[n]"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inference_copies),
        cmocka_unit_test(training_drops),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
