#include "support/op_test.h"

static void picks(void **state) {
    (void)state;

    OP_RUN("GatherElements", .attrs = "axis=1",
           .in = {"f32[2, 2]{1 2 3 4}", "s32[2, 3]{0 -1 1 1 0 0}"},
           .out = {"f32[2, 3]{1 2 2 4 3 3}"});
    OP_RUN("GatherElements", .in = {"u8[3, 2]{1 ..}", "s64[1, 1]{2}"}, .out = {"u8[1, 1]{5}"});
    OP_RUN("GatherElements", .in = {"f32[0]{}", "s64[0]{}"}, .out = {"f32[0]{}"});
    OP_INFER("GatherElements", .in = {"f32[n, 2]", "s64[k, 2]"}, .out = {"f32[k, 2]"});
    OP_INFER("GatherElements", .in = {"f32", "s64[k, 2]"}, .out = {"f32[k, 2]"});
    OP_INFER("GatherElements", .in = {"f32[n, 2]", "s64"}, .out = {"f32"});
}

static void refuses(void **state) {
    (void)state;

    OP_RUN("GatherElements", .in = {"f32[2]{1 2}", "s64[1]{2}"},
           .error = "index 2 (at position 0 of the indices) is outside [-2, 2)");
    OP_RUN("GatherElements", .in = {"f32[0]{}", "s64[1]{0}"}, .error = "is outside [-0, 0)");
    OP_INFER("GatherElements", .in = {"f32[2, 2]", "s64[1, 3]"},
             .error = "axis 1 of the indices has size 3, more than the 2");
    OP_INFER("GatherElements", .in = {"f32[2, 2]", "s64[2]"}, .error = "rank 1, expected 2");
    OP_INFER("GatherElements", .attrs = "axis=-3", .in = {"f32[2, 2]", "s64[2, 2]"},
             .error = "axis -3 is outside");
    OP_RUN("GatherElements", .in = {"string[0]{}", "s64[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
