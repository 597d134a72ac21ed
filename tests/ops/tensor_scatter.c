#include "support/op_test.h"

static void writes(void **state) {
    (void)state;

    OP_RUN("TensorScatter", .in = {"f32[2, 3, 1]{1 ..}", "f32[2, 1, 1]{8 9}", "s64[2]{0 2}"},
           .out = {"f32[2, 3, 1]{8 2 3 4 5 9}"});
    OP_RUN("TensorScatter", .in = {"u8[1, 3, 2]{1 ..}", "u8[1, 2, 2]{10 11 12 13}"},
           .out = {"u8[1, 3, 2]{10 11 12 13 5 6}"});
    OP_RUN("TensorScatter", .attrs = "mode='circular' axis=1",
           .in = {"s4[1, 3]{1 2 3}", "s4[1, 2]{-1 -2}", "s64[1]{5}"}, .out = {"s4[1, 3]{-2 2 -1}"});
    OP_RUN("TensorScatter", .attrs = "mode='circular' axis=1",
           .in = {"s8[1, 3]{1 2 3}", "s8[1, 3]{4 5 6}", "s64[1]{9223372036854775807}"},
           .out = {"s8[1, 3]{6 4 5}"});
    OP_RUN("TensorScatter", .attrs = "axis=2",
           .in = {"s8[1, 2, 2]{1 2 3 4}", "s8[1, 2, 1]{8 9}", "s64[1]{1}"},
           .out = {"s8[1, 2, 2]{1 8 3 9}"});
    OP_RUN("TensorScatter", .in = {"f32[1, 3, 1]{1 2 3}", "f32[1, 0, 1]{}", "s64[1]{0}"},
           .out = {"f32[1, 3, 1]{1 2 3}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("TensorScatter", .in = {"f32[n, 4, m, 8]", "f32[n, 4, s, 8]", "s64[n]"},
             .out = {"f32[n, 4, m, 8]"});
    OP_INFER("TensorScatter", .in = {"f32", "f32[n, 4, s, 8]"}, .out = {"f32"});
    OP_INFER("TensorScatter", .in = {"f32[2, 3, 4]", "f32[2, 4, 4]"},
             .error = "the update has length 4, the cache only 3");
    OP_INFER("TensorScatter", .in = {"f32[2, 3, 4]", "f32[2, 1, 5]"},
             .error = "sizes of cache and update differ: 4 and 5");
    OP_INFER("TensorScatter", .in = {"f32[2, 3, 4]", "f32[2, 1, 4]", "s64[3]"},
             .error = "batch sizes of cache and write_indices differ");
    OP_INFER("TensorScatter", .in = {"f32[2, 3]", "f32[2, 3]"},
             .error = "axis is 0, which is the batch");
    OP_INFER("TensorScatter", .in = {"f32[3]", "f32[3]"}, .error = "rank 1, expected 2 to 16");
    OP_RUN("TensorScatter", .in = {"f32[1, 3, 1]{1 2 3}", "f32[1, 2, 1]{1 2}", "s64[1]{2}"},
           .error = "write index 2 of sample 0");
    OP_RUN("TensorScatter", .attrs = "mode='circular'",
           .in = {"f32[1, 3, 1]{1 2 3}", "f32[1, 2, 1]{1 2}", "s64[1]{-1}"},
           .error = "write index -1 of sample 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
