#include "support/op_test.h"

static void picks(void **state) {
    (void)state;

    OP_RUN("GatherND", .in = {"s32[2, 2]{0 ..}", "s64[2, 2]{0 0 -1 -1}"}, .out = {"s32[2]{0 3}"});
    OP_RUN("GatherND", .in = {"s32[2, 2]{0 ..}", "s64[1]{1}"}, .out = {"s32[2]{2 3}"});
    OP_RUN("GatherND", .in = {"s32[2, 2]{0 ..}", "s64[2]{1 0}"}, .out = {"s32[]{2}"});
    OP_RUN("GatherND", .attrs = "batch_dims=1",
           .in = {"s32[2, 2, 2]{0 ..}", "s64[2, 3, 1]{1 0 1 0 0 1}"},
           .out = {"s32[2, 3, 2]{2 3 0 1 2 3 4 5 4 5 6 7}"});
    OP_RUN("GatherND", .in = {"s32[2, 2]{0 ..}", "s64[0, 1]{}"}, .out = {"s32[0, 2]{}"});
    OP_RUN("GatherND", .in = {"s32[2, 0]{}", "s64[3, 1]{0 1 0}"}, .out = {"s32[3, 0]{}"});
    OP_INFER("GatherND", .in = {"f32[n, m, k]", "s64[a, b, 2]"}, .out = {"f32[a, b, k]"});
    OP_INFER("GatherND", .attrs = "batch_dims=1", .in = {"f32[n, m, k]", "s64[n, b, 1]"},
             .out = {"f32[n, b, k]"});
    OP_INFER("GatherND", .in = {"f32[n, m, k]", "s64[a, b]"}, .out = {"f32"});
    OP_INFER("GatherND", .in = {"f32", "s64[a, 1]"}, .out = {"f32"});
}

static void refuses(void **state) {
    (void)state;

    OP_RUN("GatherND", .in = {"s32[2, 2]{0 ..}", "s64[1, 2]{0 2}"},
           .error = "index 2 (at position 1 of the indices) is outside [-2, 2)");
    OP_INFER("GatherND", .in = {"s32[2, 2]", "s64[1, 3]"},
             .error = "the last axis of the indices has size 3, expected 1 to 2");
    OP_INFER("GatherND", .in = {"s32[2, 2]", "s64[1, 0]"},
             .error = "the last axis of the indices has size 0");
    OP_INFER("GatherND", .attrs = "batch_dims=2", .in = {"s32[2, 2]", "s64[2, 2]"},
             .error = "batch_dims is 2, expected 0 to 1");
    OP_INFER("GatherND", .attrs = "batch_dims=1", .in = {"s32[2, 2]", "s64[3, 1]"},
             .error = "batch sizes of data and indices differ: 2 and 3");
    OP_INFER("GatherND", .in = {"s32[]", "s64[1]"}, .error = "rank 0");
    OP_RUN("GatherND", .in = {"string[0]{}", "s64[0, 1]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
