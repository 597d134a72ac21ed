/* The numbers of the layers are compared with another runtime (tests/compare); here stand the rules
 * around them. */
#include "support/op_test.h"

/* Affine with alpha 1, beta 0 makes a layer that can be worked out by hand. */
#define LINEAR "activations=['Affine'] "

static void plain(void **state) {
    (void)state;
    /* h = x + 10 h + 0.5 */
    OP_RUN("RNN", .attrs = LINEAR,
           .in = {"f32[3, 1, 1]{1 2 3}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}",
                  "f32[1, 2]{0.25 0.25}"},
           .out = {"f32[3, 1, 1, 1]{1.5 17.5 178.5}", "f32[1, 1, 1]{178.5}"});
    OP_RUN("RNN", .attrs = LINEAR "direction='reverse'",
           .in = {"f32[3, 1, 1]{1 2 3}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}"},
           .out = {"f32[3, 1, 1, 1]{321 32 3}", "f32[1, 1, 1]{321}"});
    /* An initial state, and clipping of what enters the activation. */
    OP_RUN("RNN", .attrs = LINEAR "clip=100.0",
           .in = {"f32[2, 1, 1]{1 2}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}", "", "",
                  "f32[1, 1, 1]{4}"},
           .out = {"f32[2, 1, 1, 1]{41 100}"});
    OP_RUN("RNN", .attrs = "activations=['affine'] activation_alpha=[2.0] activation_beta=[1.0]",
           .in = {"f64[1, 1, 1]{3}", "f64[1, 1, 1]{1}", "f64[1, 1, 1]{0}"},
           .out = {"f64[1, 1, 1, 1]{7}"});
}

/* Sequences of 3 and 1: nothing after the end, and the way back starts there. */
static void lengths(void **state) {
    (void)state;
    OP_RUN("RNN", .attrs = "activations=['Affine', 'Affine'] direction='bidirectional'",
           .in = {"f32[3, 2, 1]{1 4 2 5 3 6}", "f32[2, 1, 1]{1 1}", "f32[2, 1, 1]{10 10}", "",
                  "s32[2]{3 1}"},
           .out = {"f32[3, 2, 2, 1]{1 4 321 4 12 0 32 0 123 0 3 0}", "f32[2, 2, 1]{123 4 321 4}"});
    OP_RUN("RNN", .attrs = LINEAR,
           .in = {"f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}", "", "s32[1]{0}",
                  "f32[1, 1, 1]{7}"},
           .out = {"f32[1, 1, 1, 1]{0}", "f32[1, 1, 1]{7}"});
    OP_RUN("RNN", .attrs = LINEAR,
           .in = {"f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}", "", "s32[1]{2}"},
           .error = "sequence_lens holds 2, expected 0 to 1");
}

/* layout=1 is the same with the batch first. */
static void layouts(void **state) {
    (void)state;
    OP_RUN("RNN", .attrs = LINEAR,
           .in = {"f32[2, 2, 1]{1 3 2 4}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}", "", "",
                  "f32[1, 2, 1]{1 2}"},
           .out = {"f32[2, 1, 2, 1]{11 23 112 234}", "f32[1, 2, 1]{112 234}"});
    OP_RUN("RNN", .attrs = LINEAR "layout=1",
           .in = {"f32[2, 2, 1]{1 2 3 4}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}", "", "",
                  "f32[2, 1, 1]{1 2}"},
           .out = {"f32[2, 2, 1, 1]{11 112 23 234}", "f32[2, 1, 1]{112 234}"});
}

/* All gates open through Affine: alpha 0, beta 1 for f. */
static void gated(void **state) {
    (void)state;
    /* i = o = f = 1, C = C + c, H = C */
    OP_RUN("LSTM",
           .attrs =
               "activations=['Affine', 'Affine', 'Affine'] activation_alpha=[0.0, 1.0, 1.0]"
               " activation_beta=[1.0, 0.0, 0.0]",
           .in = {"f32[2, 1, 1]{1 2}", "f32[1, 4, 1]{0 0 0 1}", "f32[1, 4, 1]{0 0 0 0}", "", "", "",
                  "f32[1, 1, 1]{5}"},
           .out = {"f32[2, 1, 1, 1]{6 8}", "f32[1, 1, 1]{8}", "f32[1, 1, 1]{8}"});
    /* i = 0.25, f = 1 - i; the peephole of o sees the new C. */
    OP_RUN("LSTM", .attrs = "activations=['Affine', 'Affine', 'Affine'] input_forget=1",
           .in = {"f32[1, 1, 1]{1}", "f32[1, 4, 1]{0.25 0 9 8}", "f32[1, 4, 1]{0 0 0 0}", "", "",
                  "", "f32[1, 1, 1]{4}", "f32[1, 3]{0 2 9}"},
           .out = {"f32[1, 1, 1, 1]{50}", "f32[1, 1, 1]{50}", "f32[1, 1, 1]{5}"});
    /* z = 0.5, r = 2: h = x + 2 * (10 h) or x + (2 h) * 10, with a bias inside or outside of r. */
    OP_RUN("GRU", .attrs = "activations=['Affine', 'Affine']",
           .in = {"f32[1, 1, 1]{1}", "f32[1, 3, 1]{0.5 2 1}", "f32[1, 3, 1]{0 0 10}",
                  "f32[1, 6]{0 0 0 0 0 100}", "", "f32[1, 1, 1]{3}"},
           .out = {"f32[1, 1, 1, 1]{82}"});
    OP_RUN("GRU", .attrs = "activations=['Affine', 'Affine'] linear_before_reset=1",
           .in = {"f32[1, 1, 1]{1}", "f32[1, 3, 1]{0.5 2 1}", "f32[1, 3, 1]{0 0 10}",
                  "f32[1, 6]{0 0 0 0 0 100}", "", "f32[1, 1, 1]{3}"},
           .out = {"f32[1, 1, 1, 1]{132}"});
}

static void empty(void **state) {
    (void)state;
    OP_RUN(
        "RNN",
        .in = {"f32[0, 1, 1]{}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}", "", "", "f32[1, 1, 1]{3}"},
        .out = {"f32[0, 1, 1, 1]{}", "f32[1, 1, 1]{3}"});
    OP_RUN("LSTM", .in = {"f32[2, 0, 1]{}", "f32[1, 4, 1]{1 ..}", "f32[1, 4, 1]{1 ..}"},
           .out = {"f32[2, 1, 0, 1]{}", "f32[1, 0, 1]{}", "f32[1, 0, 1]{}"});
    OP_RUN("GRU", .in = {"f32[2, 1, 0]{}", "f32[1, 3, 0]{}", "f32[1, 3, 1]{0 0 0}"},
           .out = {"", "f32[1, 1, 1]{0}"});
    OP_RUN("GRU", .in = {"f32[2, 1, 1]{1 2}", "f32[1, 0, 1]{}", "f32[1, 0, 0]{}"},
           .out = {"f32[2, 1, 1, 0]{}"});
    /* 300 sequences are more than are multiplied at once. */
    OP_RUN("RNN", .attrs = LINEAR,
           .in = {"f32[2, 300, 1]{1 ...}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{10}"},
           .out = {"", "f32[1, 300, 1]{11 ...}"});
    OP_RUN("RNN", .attrs = LINEAR,
           .in = {"f32[300, 1, 1]{1 ...}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}"},
           .out = {"f32[300, 1, 1, 1]{1 ..}", "f32[1, 1, 1]{300}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("LSTM", .attrs = "direction='bidirectional'",
             .in = {"f32[t, b, 8]", "f32[2, 64, 8]", "f32[2, 64, 16]", "f32[2, 128]", "s32[b]",
                    "f32[2, b, 16]", "f32[2, b, 16]", "f32[2, 48]"},
             .out = {"f32[t, 2, b, 16]", "f32[2, b, 16]", "f32[2, b, 16]"});
    OP_INFER("GRU", .attrs = "layout=1", .in = {"f32[b, t, 8]", "f32[1, 48, 8]", "f32[1, 48, 16]"},
             .out = {"f32[b, t, 1, 16]", "f32[b, 1, 16]"});
    OP_INFER("RNN", .attrs = "hidden_size=16", .in = {"f32[t, b, 8]", "f32", "f32"},
             .out = {"f32[t, 1, b, 16]", "f32[1, b, 16]"});
    OP_INFER("RNN", .in = {"f32", "f32[1, 1, 1]", "f32[1, 1, 1]"}, .out = {"f32", "f32"});
    OP_INFER("RNN", .attrs = "hidden_size=3",
             .in = {"f32[1, 1, 1]", "f32[1, 2, 1]", "f32[1, 2, 2]"},
             .error = "sizes of R and attribute 'hidden_size' differ: 2 and 3");
    OP_INFER("RNN", .attrs = "hidden_size=-1",
             .in = {"f32[1, 1, 1]", "f32[1, 2, 1]", "f32[1, 2, 2]"},
             .error = "'hidden_size' is -1");
    OP_INFER("LSTM", .in = {"f32[1, 1, 1]", "f32[1, 4, 1]", "f32[1, 3, 1]"},
             .error = "axis 1 of input 2 and what the others ask for differ: 3 and 4");
    OP_INFER("LSTM", .in = {"f32[1, 1, 5]", "f32[1, 4, 1]", "f32[1, 4, 1]"},
             .error = "axis 2 of input 1 and what the others ask for differ: 1 and 5");
    OP_INFER("LSTM", .attrs = "direction='bidirectional'",
             .in = {"f32[1, 1, 1]", "f32[1, 4, 1]", "f32[1, 4, 1]"}, .error = "axis 0 of input 1");
    OP_INFER("GRU", .in = {"f32[1, 2, 1]", "f32[1, 3, 1]", "f32[1, 3, 1]", "", "s32[3]"},
             .error = "axis 0 of input 4");
    OP_RUN("RNN", .attrs = "activations=['Tangent']",
           .in = {"f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}", "f32[1, 1, 1]{1}"},
           .error = "activation 'Tangent' is not known");
    OP_RUN("GRU", .attrs = "activations=['Tanh']",
           .in = {"f32[1, 1, 1]{1}", "f32[1, 3, 1]{1 1 1}", "f32[1, 3, 1]{1 1 1}"},
           .error = "'activations' has 1 values, expected 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain), cmocka_unit_test(lengths), cmocka_unit_test(layouts),
        cmocka_unit_test(gated), cmocka_unit_test(empty),   cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
