#include "support/op_test.h"

static void reverses(void **state) {
    (void)state;

    OP_RUN("ReverseSequence", .in = {"s32[3, 2]{0 ..}", "s64[2]{3 2}"},
           .out = {"s32[3, 2]{4 3 2 1 0 5}"});
    OP_RUN("ReverseSequence", .attrs = "batch_axis=0 time_axis=1",
           .in = {"u8[2, 3, 2]{0 ..}", "s64[2]{2 0}"},
           .out = {"u8[2, 3, 2]{2 3 0 1 4 5 6 7 8 9 10 11}"});
    OP_RUN("ReverseSequence", .in = {"f32[0, 2]{}", "s64[2]{0 0}"}, .out = {"f32[0, 2]{}"});
    OP_INFER("ReverseSequence", .in = {"f32[t, n, 3]", "s64[n]"}, .out = {"f32[t, n, 3]"});
    OP_INFER("ReverseSequence", .in = {"f32", "s64"}, .out = {"f32"});
}

static void refuses(void **state) {
    (void)state;

    OP_RUN("ReverseSequence", .in = {"f32[2, 1]{1 2}", "s64[1]{3}"},
           .error = "sequence_lens has 3 for sample 0, expected 0 to 2");
    OP_RUN("ReverseSequence", .in = {"f32[2, 1]{1 2}", "s64[1]{-1}"},
           .error = "sequence_lens has -1");
    OP_INFER("ReverseSequence", .in = {"f32[2, 1]", "s64[2]"},
             .error = "batch sizes of input and sequence_lens differ: 1 and 2");
    OP_INFER("ReverseSequence", .attrs = "batch_axis=0", .in = {"f32[2, 1]", "s64[2]"},
             .error = "batch_axis is 0 and time_axis 0");
    OP_INFER("ReverseSequence", .in = {"f32[2]", "s64[2]"}, .error = "rank 1, expected 2 to 16");
    OP_RUN("ReverseSequence", .in = {"string[0, 0]{}", "s64[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reverses),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
