#include "support/op_test.h"

#define QLINEAR_CONCAT "com.microsoft.QLinearConcat"

/* The numbers are those of ONNX Runtime 1.31. */
static void joins(void **state) {
    (void)state;
    OP_RUN(QLINEAR_CONCAT, .attrs = "axis=1",
           .in = {"f32[]{0.05}", "u8[]{120}",                                 /* y */
                  "u8[2, 3]{0 1 127 128 200 255}", "f32[]{0.1}", "u8[]{128}", /* saturates */
                  "u8[2, 2]{3 250 130 90}", "f32[1]{0.05}", "u8[1]{120}",     /* unchanged */
                  "u8[2, 2]{3 250 130 90}", "f32[]{0.013}", "u8[]{7}"},
           .out = {"u8[2, 7]{0 0 118 3 250 119 183 120 255 255 130 90 152 142}"});
    /* Ties go to even: -0.5 and 0.5 become 0. */
    OP_RUN(QLINEAR_CONCAT, .attrs = "axis=-1",
           .in = {"f32[]{0.2}", "s8[]{-5}", "s8[5]{-128 -1 0 1 127}", "f32[]{0.1}", "s8[]{0}",
                  "s8[2]{-3 77}", "f32[]{0.3}", "s8[]{-100}"},
           .out = {"s8[7]{-69 -5 -5 -5 59 127 127}"});
    OP_RUN(QLINEAR_CONCAT, .attrs = "axis=0",
           .in = {"f32[]{1}", "u8[]{0}", "u8[0, 2]{}", "f32[]{1}", "u8[]{0}", "u8[1, 2]{4 5}",
                  "f32[]{1}", "u8[]{0}"},
           .out = {"u8[1, 2]{4 5}"});
}

static void inference(void **state) {
    (void)state;
    OP_INFER(QLINEAR_CONCAT, .attrs = "axis=1",
             .in = {"f32[]", "u8[]", "u8[n, 3]", "f32[]", "u8[]", "u8[n, m]", "f32[]", "u8[]"},
             .out = {"u8[n, m + 3]"});
    OP_INFER(QLINEAR_CONCAT, .attrs = "axis=1", .in = {"f32[]", "u8[]", "u8[n, 3]", "f32[]"},
             .error = "has 4 inputs, expected 2 and then 3 for each tensor");
    OP_INFER(QLINEAR_CONCAT, .attrs = "axis=1", .in = {"f32[]", "u8[]", "u8[n, 3]", "u8[]", "u8[]"},
             .error = "input 3 is u8, expected f32");
    OP_INFER(QLINEAR_CONCAT, .attrs = "axis=1",
             .in = {"f32[]", "u8[]", "s8[n, 3]", "f32[]", "u8[]"},
             .error = "input 2 is s8, expected u8");
    OP_RUN(QLINEAR_CONCAT, .attrs = "axis=0",
           .in = {"f32[]{1}", "u8[]{0}", "u8[1]{4}", "f32[2]{1 1}", "u8[]{0}"},
           .error = "input 3 has 2 elements, expected 1");
    OP_RUN(QLINEAR_CONCAT, .attrs = "axis=0",
           .in = {"f32[]{0}", "u8[]{0}", "u8[1]{4}", "f32[]{1}", "u8[]{0}"},
           .error = "input 0: the scale is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
