#include "support/op_test.h"

static void runs(void **state) {
    (void)state;

    OP_RUN("Flatten", .in = {"f32[2, 3, 1]{1 ..}"}, .out = {"f32[2, 3]{1 ..}"});
    OP_RUN("Flatten", .attrs = "axis=0", .in = {"s2[2, 3]{-2 -1 0 1 0 -1}"},
           .out = {"s2[1, 6]{-2 -1 0 1 0 -1}"});
    OP_RUN("Flatten", .attrs = "axis=0", .in = {"f32[]{3}"}, .out = {"f32[1, 1]{3}"});
    OP_RUN("Flatten", .attrs = "axis=2", .in = {"f32[2, 0]{}"}, .out = {"f32[0, 1]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Flatten", .attrs = "axis=-1", .in = {"f32[n, 3, h]"}, .out = {"f32[3*n, h]"});
    OP_INFER("Flatten", .attrs = "axis=-3", .in = {"f32[n, 3, h]"}, .out = {"f32[1, 3*h*n]"});
    OP_INFER("Flatten", .in = {"f32"}, .out = {"f32[?, ?]"});
    OP_INFER("Flatten", .attrs = "axis=0", .in = {"s64[2]{n 1}"}, .out = {"s64[1, 2]{n 1}"});
    OP_INFER("Flatten", .attrs = "axis=4", .in = {"f32[n, 3, h]"},
             .error = "axis 4 is outside [-3, 3]");
    OP_INFER("Flatten", .in = {"f32[]"}, .error = "axis 1 is outside [-0, 0]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
