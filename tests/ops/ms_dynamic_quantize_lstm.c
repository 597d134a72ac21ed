#include "support/op_test.h"

#define LSTM "com.microsoft.DynamicQuantizeLSTM"
/* i = o = f = 1: C adds up what the c gate gets, and H is C. */
#define OPEN                                                                       \
    "activations=['Affine', 'Affine', 'Affine'] activation_alpha=[0.0, 1.0, 1.0] " \
    "activation_beta=[1.0, 0.0, 0.0]"

static void values(void **state) {
    (void)state;
    /* The scale of x is 1, so 1.5 becomes 2; H, alone in its range, stays what it is. */
    OP_RUN(LSTM, .attrs = OPEN,
           .in = {"f32[3, 1, 1]{255 255 1.5}", "s8[1, 1, 4]{0 0 0 2}", "s8[1, 1, 4]{0 0 0 1}", "",
                  "", "", "", "", "f32[1]{0.5}", "s8[1]{0}", "f32[1]{0.25}", "s8[1]{0}"},
           .out = {"f32[3, 1, 1, 1]{255 573.75 719.1875}", "f32[1, 1, 1]{719.1875}",
                   "f32[1, 1, 1]{719.1875}"});
    /* A scale and a zero point per column. */
    OP_RUN(LSTM, .attrs = OPEN,
           .in = {"f32[1, 1, 1]{255}", "u8[1, 1, 4]{9 9 9 12}", "u8[1, 1, 4]{1 1 1 1}", "", "", "",
                  "", "", "f32[1, 4]{7 7 7 0.5}", "u8[1, 4]{0 0 0 10}", "f32[1, 4]{1 1 1 1}",
                  "u8[1, 4]{1 1 1 1}"},
           .out = {"f32[1, 1, 1, 1]{255}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER(LSTM, .attrs = "direction='bidirectional' hidden_size=16",
             .in = {"f32[t, b, 8]", "s8[2, 8, 64]", "s8[2, 16, 64]", "", "", "", "", "", "f32[2]",
                    "s8[2]", "f32[2, 64]", "s8[2, 64]"},
             .out = {"f32[t, 2, b, 16]", "f32[2, b, 16]", "f32[2, b, 16]"});
    OP_INFER(LSTM,
             .in = {"f32[t, b, 8]", "s8[1, 8, 64]", "s8[1, 16, 64]", "", "", "", "", "", "f32[2]",
                    "s8[1]", "f32[1]", "s8[1]"},
             .error = "directions of a scale or zero point and of its weights differ: 2 and 1");
    OP_INFER(LSTM,
             .in = {"f32[t, b, 8]", "s8[1, 8, 64]", "s8[1, 16, 64]", "", "", "", "", "", "f32[1]",
                    "s8[1]", "f32[1, 63]", "s8[1]"},
             .error = "columns of a scale or zero point and of its weights differ: 63 and 64");
    OP_INFER(LSTM,
             .in = {"f32[t, b, 8]", "s8[1, 8, 64]", "s8[1, 15, 64]", "", "", "", "", "", "f32[1]",
                    "s8[1]", "f32[1]", "s8[1]"},
             .error = "axis 2 of input 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
