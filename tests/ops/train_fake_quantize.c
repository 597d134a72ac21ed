#include "support/op_test.h"

static void values(void **state) {
    (void)state;
    /* Halves go to the even code, and codes end at the limits. */
    OP_RUN("hone.FakeQuantize", .attrs = "qmin=-7 qmax=7",
           .in = {"f32[9]{0 0.25 0.75 1.25 -0.25 -0.75 3.4 3.6 -100}", "f32[]{0.5}"},
           .out = {"f32[9]{0 0 1 1 0 -1 3.5 3.5 -3.5}"});
    OP_RUN("hone.FakeQuantize", .attrs = "qmin=0 qmax=15",
           .in = {"f32[5]{-3 -2 0 2.2 9}", "f32[]{0.5}", "f32[]{4}"},
           .out = {"f32[5]{-2 -2 0 2 5.5}"});
    /* A scale and a zero point for each channel. */
    OP_RUN("hone.FakeQuantize", .attrs = "qmin=-1 qmax=1",
           .in = {"f32[2, 2]{0.6 -9 0.6 -9}", "f32[2, 1]{1 0.1}"},
           .out = {"f32[2, 2]{1 -1 0.1 -0.1}"});
    OP_RUN("hone.FakeQuantize", .attrs = "qmin=0 qmax=3",
           .in = {"f32[2, 2]{-7 7 -7 7}", "f32[2, 1]{1 2}", "f32[2, 1]{0 3}"},
           .out = {"f32[2, 2]{0 3 -6 0}"});
    OP_RUN("hone.FakeQuantize", .attrs = "qmin=-1 qmax=1 binary=1",
           .in = {"f32[3]{-0.1 0 7}", "f32[]{0.5}"}, .out = {"f32[3]{-0.5 0.5 0.5}"});
}

static void gradients(void **state) {
    (void)state;
    OP_RUN("hone.FakeQuantizeGrad", .attrs = "qmin=-2 qmax=1",
           .in = {"f32[6]{1 2 3 4 5 6}", "f32[6]{-1.1 -1 -0.2 0.5 0.51 9}", "f32[]{0.5}"},
           .out = {"f32[6]{0 2 3 4 0 0}"});
    /* v = -2.2 -2 -0.4 1 1.02 18: the limit outside, round(v) - v inside. */
    OP_RUN("hone.FakeQuantizeGrad", .attrs = "qmin=-2 qmax=1 by='scale'",
           .in = {"f32[6]{1 2 3 4 5 6}", "f32[6]{-1.1 -1 -0.2 0.5 0.51 9}", "f32[]{0.5}"},
           .out = {"f32[6]{-2 0 1.2 0 5 6}"});
    OP_RUN("hone.FakeQuantizeGrad", .attrs = "qmin=0 qmax=3 by='scale'",
           .in = {"f32[3]{1 1 1}", "f32[3]{-9 0.25 9}", "f32[]{1}", "f32[]{2}"},
           .out = {"f32[3]{-2 -0.25 1}"});
    OP_RUN("hone.FakeQuantizeGrad", .attrs = "qmin=-1 qmax=1 binary=1",
           .in = {"f32[2]{3 4}", "f32[2]{-9 9}", "f32[]{1}"}, .out = {"f32[2]{3 4}"});
    OP_RUN("hone.FakeQuantizeGrad", .attrs = "qmin=-1 qmax=1 binary=1 by='scale'",
           .in = {"f32[2]{3 4}", "f32[2]{-9 9}", "f32[]{1}"}, .out = {"f32[2]{-3 4}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("hone.FakeQuantize", .attrs = "qmin=0 qmax=1", .in = {"f32[n, 4]", "f32[4]"},
             .out = {"f32[n, 4]"});
    OP_INFER("hone.FakeQuantize", .attrs = "qmin=0 qmax=1", .in = {"f32[n, 4]", "f32[3]"},
             .error = "dims of scale and x");
    OP_INFER("hone.FakeQuantize", .attrs = "qmin=0 qmax=1", .in = {"f32[4]", "f32[1, 4]"},
             .error = "scale has rank 2");
    OP_INFER("hone.FakeQuantize", .attrs = "qmin=1 qmax=1", .in = {"f32[4]", "f32[]"},
             .error = "qmin is 1 and qmax 1");
    OP_INFER("hone.FakeQuantizeGrad", .attrs = "qmin=0 qmax=1",
             .in = {"f32[n, 3]", "f32[n, 4]", "f32[]"}, .error = "dims of dY and x");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(gradients),
                                       cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
