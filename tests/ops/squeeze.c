#include "support/op_test.h"

static void squeeze(void **state) {
    (void)state;

    OP_RUN("Squeeze", .in = {"f32[1, 2, 1]{3 4}"}, .out = {"f32[2]{3 4}"});
    OP_RUN("Squeeze", .in = {"f32[1, 2, 1]{3 4}", "s64[1]{-1}"}, .out = {"f32[1, 2]{3 4}"});
    OP_RUN("Squeeze", .in = {"f32[1, 1]{3}", "s64[0]{}"}, .out = {"f32[1, 1]{3}"});
    OP_RUN("Squeeze", .in = {"f32[1]{3}", "s64[]{0}"}, .out = {"f32[]{3}"});
    OP_INFER("Squeeze", .in = {"f32[n, 1, m]", "s64[1]{1}"}, .out = {"f32[n, m]"});
    OP_INFER("Squeeze", .in = {"f32[n, m]", "s64[1]{1}"}, .out = {"f32[n]"});
    OP_INFER("Squeeze", .in = {"f32[n, 1]"}, .out = {"f32"});
    OP_INFER("Squeeze", .in = {"f32[n + 2, 1]"}, .out = {"f32[n + 2]"});
    OP_INFER("Squeeze", .in = {"f32[n, 1]", "s64[1]"}, .out = {"f32"});
    OP_INFER("Squeeze", .in = {"f32"}, .out = {"f32"});
    OP_INFER("Squeeze", .in = {"s64[1]{n}", "s64[1]{0}"}, .out = {"s64[]{n}"});
    OP_INFER("Squeeze", .in = {"f32[n, 2]", "s64[1]{1}"}, .error = "axis 1 to take out has size 2");
    OP_INFER("Squeeze", .in = {"f32[1, 1]", "s64[2]{0 -2}"}, .error = "axis 0 is listed twice");
    OP_INFER("Squeeze", .in = {"f32[1]", "s64[1]{1}"}, .error = "axis 1 is outside");
}

static void unsqueeze(void **state) {
    (void)state;

    OP_RUN("Unsqueeze", .in = {"s8[2]{3 4}", "s64[2]{-1 0}"}, .out = {"s8[1, 2, 1]{3 4}"});
    OP_RUN("Unsqueeze", .in = {"s8[]{3}", "s64[1]{0}"}, .out = {"s8[1]{3}"});
    OP_INFER("Unsqueeze", .in = {"f32[n, m]", "s64[2]{1 3}"}, .out = {"f32[n, 1, m, 1]"});
    OP_INFER("Unsqueeze", .in = {"f32[n, m]", "s64[2]"}, .out = {"f32[?, ?, ?, ?]"});
    OP_INFER("Unsqueeze", .in = {"f32[n, m]", "s64"}, .out = {"f32"});
    OP_INFER("Unsqueeze", .in = {"f32", "s64[1]{0}"}, .out = {"f32"});
    OP_INFER("Unsqueeze", .in = {"s64[]{n}", "s64[1]{0}"}, .out = {"s64[1]{n}"});
    OP_INFER("Unsqueeze", .in = {"f32[n]", "s64[2]{0 -3}"}, .error = "axis 0 is listed twice");
    OP_INFER("Unsqueeze", .in = {"f32[n]", "s64[1]{2}"}, .error = "axis 2 is outside [-2, 2)");
    OP_INFER("Unsqueeze", .in = {"f32[1, 1, 1]", "s64[14]"},
             .error = "14 axes are put into rank 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squeeze),
        cmocka_unit_test(unsqueeze),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
