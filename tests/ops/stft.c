#include "support/op_test.h"

static void frames(void **state) {
    (void)state;
    /* [1 2] [3 4]; the last sample is in no frame. */
    OP_RUN("STFT", .in = {"f32[1, 5, 1]{1 2 3 4 5}", "s64[]{2}", "", "s64[]{2}"},
           .out = {"f32[1, 2, 2, 2]{3 0 -1 0 7 0 -1 0}"});
    OP_RUN("STFT", .in = {"f64[1, 3, 1]{1 2 3}", "s32[]{1}", "f64[2]{1 -1}"},
           .out = {"f64[1, 2, 2, 2]{-1 0 3 0 -1 0 5 0}"});
    OP_RUN(
        "STFT", .attrs = "onesided=0",
        .in = {"f32[2, 3, 2]{0 1 0 1 0 1 2 0 2 0 2 0}", "s64[1]{9}", "f32[3]{1 1 1}", "s64[1]{3}"},
        .out = {"f32[2, 1, 3, 2]{0 3 0 0 0 0 6 0 0 0 0 0}"});
    /* Neither window nor length: one frame, the signal. */
    OP_RUN("STFT", .in = {"f16[1, 4, 1]{1 2 3 4}", "s64[]{1}"},
           .out = {"f16[1, 1, 3, 2]{10 0 -2 2 -2 0}"});
    OP_RUN("STFT", .in = {"f32[0, 4, 1]{}", "s64[]{1}", "", "s64[]{2}"},
           .out = {"f32[0, 3, 2, 2]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("STFT", .in = {"f32[n, l, 1]", "s64[]{160}", "f32[400]"},
             .out = {"f32[n, floor((l - 400)/160) + 1, 201, 2]"});
    OP_INFER("STFT", .attrs = "onesided=0", .in = {"f32[n, l, p]", "s64[]", "f32[w]", "s64[]"},
             .out = {"f32[n, ?, w, 2]"});
    OP_INFER("STFT", .in = {"f32", "s64[]{1}", "", "s64[]"}, .out = {"f32[?, ?, ?, 2]"});
    OP_INFER("STFT", .in = {"f32[n, l, 1]", "s64[]{3}"}, .out = {"f32[n, 1, floor(l/2) + 1, 2]"});
}

static void errors(void **state) {
    (void)state;
    OP_INFER("STFT", .in = {"f32[n, l]", "s64[]"}, .error = "rank 2");
    OP_INFER("STFT", .in = {"f32[n, l, 2]", "s64[]"}, .error = "the signal is complex");
    OP_INFER("STFT", .in = {"f32[n, l, 3]", "s64[]"}, .error = "axis 2 of the signal has size 3");
    OP_INFER("STFT", .in = {"f32[n, l, 1]", "s64[]{0}"}, .error = "frame_step is 0");
    OP_INFER("STFT", .in = {"f32[n, l, 1]", "s64[]", "", "s64[]{0}"},
             .error = "the frames have length 0");
    OP_INFER("STFT", .in = {"f32[n, l, 1]", "s64[]", "", "s64[0]"},
             .error = "frame_length is empty");
    OP_INFER("STFT", .in = {"f32[n, l, 1]", "s64[]", "f32[3]", "s64[]{4}"},
             .error = "the length of the window and frame_length differ: 3 and 4");
    OP_INFER("STFT", .in = {"f32[n, 2, 1]", "s64[]", "f32[3]"},
             .error = "the frames have length 3, the signal only 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames),
        cmocka_unit_test(shapes),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
