#include "support/op_test.h"

static void forward(void **state) {
    (void)state;
    OP_RUN("DFT", .in = {"f32[1, 4, 1]{1 2 3 4}"}, .out = {"f32[1, 4, 2]{10 0 -2 2 -2 0 -2 -2}"});
    OP_RUN("DFT", .attrs = "onesided=1", .in = {"f64[4, 1]{1 2 3 4}"},
           .out = {"f64[3, 2]{10 0 -2 2 -2 0}"});
    OP_RUN("DFT", .in = {"f32[2, 2]{0 1 0 1}"}, .out = {"f32[2, 2]{0 2 0 0}"});
    /* Another axis than the last: columns. */
    OP_RUN("DFT", .in = {"f16[2, 3, 1]{1 2 3 4 5 6}", "", "s64[]{0}"},
           .out = {"f16[2, 3, 2]{5 0 7 0 9 0 -3 0 -3 0 -3 0}"});
    OP_RUN("DFT", .in = {"bf16[2, 3, 1]{1 2 3 4 5 6}", "", "s64[1]{-3}"},
           .out = {"bf16[2, 3, 2]{5 0 7 0 9 0 -3 0 -3 0 -3 0}"});
}

static void lengths(void **state) {
    (void)state;
    OP_RUN("DFT", .in = {"f32[3, 1]{1 2 3}", "s64[]{2}"}, .out = {"f32[2, 2]{3 0 -1 0}"});
    OP_RUN("DFT", .in = {"f32[2, 1]{1 2}", "s32[]{4}"}, .out = {"f32[4, 2]{3 0 1 -2 -1 0 1 2}"});
    OP_RUN("DFT", .attrs = "onesided=1", .in = {"f32[5, 1]{1 ...}", "s64[]{1}"},
           .out = {"f32[1, 2]{1 0}"});
    OP_RUN("DFT", .in = {"f32[0, 1]{}", "s64[]{2}"}, .out = {"f32[2, 2]{0 0 0 0}"});
    OP_RUN("DFT", .in = {"f32[0, 1]{}"}, .out = {"f32[0, 2]{}"});
}

static void inverse(void **state) {
    (void)state;
    OP_RUN("DFT", .attrs = "inverse=1", .in = {"f32[4, 2]{10 0 -2 2 -2 0 -2 -2}"},
           .out = {"f32[4, 2]{1 0 2 0 3 0 4 0}"});
    OP_RUN("DFT", .attrs = "inverse=1", .in = {"f32[2, 1]{3 -1}"}, .out = {"f32[2, 2]{1 0 2 0}"});
    /* From one half of the spectrum: an even length unless another is asked for. */
    OP_RUN("DFT", .attrs = "inverse=1 onesided=1", .in = {"f32[3, 2]{10 0 -2 2 -2 0}"},
           .out = {"f32[4, 1]{1 2 3 4}"});
    OP_RUN("DFT", .attrs = "inverse=1 onesided=1",
           .in = {"f64[2, 2]{6 0 -1.5 0.8660254037844386}", "s64[]{3}"},
           .out = {"f64[3, 1]{1 2 3}"});
    /* What is imaginary at either end does not count. */
    OP_RUN("DFT", .attrs = "inverse=1 onesided=1", .in = {"f32[3, 2]{10 5 -2 2 -2 7}"},
           .out = {"f32[4, 1]{1 2 3 4}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("DFT", .in = {"f32[n, l, 1]"}, .out = {"f32[n, l, 2]"});
    OP_INFER("DFT", .attrs = "onesided=1", .in = {"f32[n, l, 1]"},
             .out = {"f32[n, floor(l/2) + 1, 2]"});
    OP_INFER("DFT", .attrs = "onesided=1 inverse=1", .in = {"f32[n, l, 2]"},
             .out = {"f32[n, 2*l - 2, 1]"});
    OP_INFER("DFT", .attrs = "onesided=1", .in = {"f32[n, l, 1]", "s64[]{k}", "s64[]{0}"},
             .out = {"f32[floor(k/2) + 1, l, 2]"});
    OP_INFER("DFT", .in = {"f32[n, l, 1]", "s64[]"}, .out = {"f32[n, ?, 2]"});
    OP_INFER("DFT", .in = {"f32[n, l, k]", "", "s64[]"}, .out = {"f32[?, ?, 2]"});
    OP_INFER("DFT", .in = {"f32"}, .out = {"f32"});
}

static void errors(void **state) {
    (void)state;
    OP_INFER("DFT", .in = {"f32[4]"}, .error = "rank 1");
    OP_INFER("DFT", .in = {"f32[4, 3]"}, .error = "the last axis has size 3");
    OP_INFER("DFT", .attrs = "onesided=1", .in = {"f32[4, 2]"},
             .error = "a one-sided forward transform takes real input");
    OP_INFER("DFT", .attrs = "onesided=1 inverse=1", .in = {"f32[4, 1]"},
             .error = "a one-sided inverse transform takes complex input");
    OP_INFER("DFT", .in = {"f32[4, 1]", "s64[]{0}"}, .error = "dft_length is 0");
    OP_INFER("DFT", .in = {"f32[4, 1]", "s64[0]"}, .error = "dft_length is empty");
    OP_INFER("DFT", .in = {"f32[4, 1]", "", "s64[]{1}"},
             .error = "axis 1 is the one of real and imaginary parts");
    OP_INFER("DFT", .in = {"f32[4, 1]", "", "s64[]{-3}"}, .error = "axis -3 is outside");
    OP_RUN("DFT", .attrs = "onesided=1", .in = {"f32[0, 1]{}"}, .error = "the signal is empty");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward), cmocka_unit_test(lengths), cmocka_unit_test(inverse),
        cmocka_unit_test(shapes),  cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
