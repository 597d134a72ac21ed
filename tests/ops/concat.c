#include "support/op_test.h"

static void joins(void **state) {
    (void)state;

    OP_RUN("Concat", .attrs = "axis=1",
           .in = {"s16[2, 1]{1 2}", "s16[2, 2]{3 4 5 6}", "s16[2, 0]{}"},
           .out = {"s16[2, 3]{1 3 4 2 5 6}"});
    OP_RUN("Concat", .attrs = "axis=-2", .in = {"f64[1, 2]{1 2}", "f64[2, 2]{3 4 5 6}"},
           .out = {"f64[3, 2]{1 2 3 4 5 6}"});
    OP_RUN("Concat", .attrs = "axis=0", .in = {"bool[1]{1}"}, .out = {"bool[1]{1}"});
    OP_RUN("Concat", .attrs = "axis=0", .in = {"f32[0, 3]{}", "f32[0, 3]{}"},
           .out = {"f32[0, 3]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Concat", .attrs = "axis=0", .in = {"f32[n, 3]", "f32[2, k]"},
             .out = {"f32[n + 2, 3]"});
    OP_INFER("Concat", .attrs = "axis=1", .in = {"f32[n, p, 64]", "f32[n, s, 64]"},
             .out = {"f32[n, p + s, 64]"});
    OP_INFER("Concat", .attrs = "axis=1", .in = {"f32[n, 2]", "f32"}, .out = {"f32[n, ?]"});
    OP_INFER("Concat", .attrs = "axis=1", .in = {"f32", "f32"}, .out = {"f32"});
    OP_INFER("Concat", .attrs = "axis=0", .in = {"s64[1]{n}", "s64[2]{12 -1}", "s64[0]{}"},
             .out = {"s64[3]{n 12 -1}"});
    OP_INFER("Concat", .attrs = "axis=-1", .in = {"s64[2, 1]{a b}", "s64[2, 1]{1 2}"},
             .out = {"s64[2, 2]{a 1 b 2}"});
    OP_INFER("Concat", .attrs = "axis=0", .in = {"s64[1]{n}", "s64[1]"}, .out = {"s64[2]{?}"});
}

static void refuses(void **state) {
    (void)state;

    OP_INFER("Concat", .attrs = "axis=0", .in = {"f32[2, 3]", "f32[2, 4]"},
             .error = "axis 1 of input 1 has size 4, expected 3");
    OP_INFER("Concat", .attrs = "axis=0", .in = {"f32[2, 3]", "f32[2]"},
             .error = "input 1 has rank 1, expected 2");
    OP_INFER("Concat", .attrs = "axis=2", .in = {"f32[2, 3]"},
             .error = "axis 2 is outside [-2, 2)");
    OP_INFER("Concat", .attrs = "axis=0", .in = {"f32[]"}, .error = "axis 0 is outside");
    OP_RUN("Concat", .attrs = "axis=0", .in = {"string[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins),
        cmocka_unit_test(inference),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
