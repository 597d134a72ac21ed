#include "support/op_test.h"

static void picks(void **state) {
    (void)state;

    OP_RUN("Gather", .in = {"f32[3, 2]{1 ..}", "s64[2]{2 -3}"}, .out = {"f32[2, 2]{5 6 1 2}"});
    OP_RUN("Gather", .attrs = "axis=-1", .in = {"u8[2, 3]{1 ..}", "s32[]{1}"},
           .out = {"u8[2]{2 5}"});
    OP_RUN("Gather", .attrs = "axis=1", .in = {"s16[2, 3]{1 ..}", "s64[1, 2]{0 0}"},
           .out = {"s16[2, 1, 2]{1 1 4 4}"});
    OP_RUN("Gather", .in = {"f32[3, 2]{1 ..}", "s64[0]{}"}, .out = {"f32[0, 2]{}"});
    OP_RUN("Gather", .in = {"f32[0, 2]{}", "s64[0]{}"}, .out = {"f32[0, 2]{}"});
    OP_RUN("Gather", .in = {"f32[2, 0]{}", "s64[1]{1}"}, .out = {"f32[1, 0]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Gather", .attrs = "axis=1", .in = {"f32[n, 5, m]", "s64[a, b]"},
             .out = {"f32[n, a, b, m]"});
    OP_INFER("Gather", .in = {"f32", "s64[2]"}, .out = {"f32"});
    OP_INFER("Gather", .in = {"f32[n]", "s64"}, .out = {"f32"});
    OP_INFER("Gather", .in = {"s64[3]{n 4 m}", "s64[]{-1}"}, .out = {"s64[]{m}"});
    OP_INFER("Gather", .in = {"s64[3]{n 4 m}", "s64[2]{0 0}"}, .out = {"s64[2]{n n}"});
    OP_INFER("Gather", .attrs = "axis=1", .in = {"s64[2, 2]{a b c d}", "s64[1]{1}"},
             .out = {"s64[2, 1]{b d}"});
    OP_INFER("Gather", .in = {"s64[3]{n 4 m}", "s64[2]"}, .out = {"s64[2]{?}"});
    OP_INFER("Gather", .in = {"s64[3]{n 4 m}", "s64[0]{}"}, .out = {"s64[0]{}"});
}

static void refuses(void **state) {
    (void)state;

    OP_INFER("Gather", .in = {"f32[3]", "s64[2]{0 3}"},
             .error = "index 3 (at position 1 of the indices) is outside [-3, 3)");
    OP_RUN("Gather", .in = {"f32[300]{1 ..}", "s64[257]{0 ..}"}, .out = {"f32[257]{1 ..}"});
    OP_RUN("Gather", .in = {"f32[200]{1 ..}", "s64[257]{0 ..}"},
           .error = "index 200 (at position 200");
    OP_INFER("Gather", .in = {"f32[]", "s64[]"}, .error = "rank 0, expected 1 to 16");
    OP_INFER("Gather", .attrs = "axis=1", .in = {"f32[3]", "s64[]"}, .error = "axis 1 is outside");
    OP_INFER("Gather", .in = {"f32[1, 1, 1, 1, 1, 1, 1, 1, 1]", "s64[1, 1, 1, 1, 1, 1, 1, 1, 1]"},
             .error = "rank 17");
    OP_RUN("Gather", .in = {"string[0]{}", "s64[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks),
        cmocka_unit_test(inference),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
