#include "support/op_test.h"

static void instance(void **state) {
    (void)state;
    OP_RUN("InstanceNormalization", .attrs = "epsilon=0.0",
           .in = {"f32[2, 2, 2]{1 3 0 8 5 5.5 -1 1}", "f32[2]{1 2}", "f32[2]{10 20}"},
           .out = {"f32[2, 2, 2]{9 11 18 22 9 11 18 22}"});
    OP_RUN("InstanceNormalization", .attrs = "epsilon=3.0",
           .in = {"f16[1, 1, 1, 2]{1 3}", "f16[1]{1}", "f16[1]{0}"},
           .out = {"f16[1, 1, 1, 2]{-0.5 0.5}"});
    /* One element per channel: all that is left is the bias. */
    OP_RUN("InstanceNormalization", .in = {"f32[1, 2]{7 8}", "f32[2]{1 1}", "f32[2]{3 4}"},
           .out = {"f32[1, 2]{3 4}"});
    OP_RUN("InstanceNormalization", .in = {"f32[0, 2, 3]{}", "f32[2]{1 1}", "f32[2]{3 4}"},
           .out = {"f32[0, 2, 3]{}"});
}

static void group(void **state) {
    (void)state;
    /* Groups {1 1 3 3} and {0 0 8 8}; each channel has a scale and a bias of its own. */
    OP_RUN("GroupNormalization", .attrs = "num_groups=2 epsilon=0.0",
           .in = {"f32[1, 4, 2]{1 1 3 3 0 0 8 8}", "f32[4]{1 2 3 4}", "f32[4]{0 0 10 0}"},
           .out = {"f32[1, 4, 2]{-1 -1 2 2 7 7 4 4}"});
    OP_RUN("GroupNormalization", .attrs = "num_groups=1 epsilon=0.0",
           .in = {"bf16[2, 2]{1 3 5 9}", "bf16[2]{1 1}", "bf16[2]{0 0}"},
           .out = {"bf16[2, 2]{-1 1 -1 1}"});
    OP_RUN("GroupNormalization", .attrs = "num_groups=2",
           .in = {"f32[1, 0]{}", "f32[0]{}", "f32[0]{}"}, .out = {"f32[1, 0]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("InstanceNormalization", .in = {"f32[n, 3, w]", "f32[3]", "f32[3]"},
             .out = {"f32[n, 3, w]"});
    OP_INFER("InstanceNormalization", .in = {"f32", "f32[3]", "f32[3]"}, .out = {"f32"});
    OP_INFER("GroupNormalization", .attrs = "num_groups=2", .in = {"f32[n, c, w]", "f32[3]", "f32"},
             .out = {"f32[n, c, w]"});
    OP_INFER("InstanceNormalization", .in = {"f32[n, 3, w]", "f32[3]", "f32[4]"},
             .error = "input 2 has 4 elements, expected one for each of 3 channels");
    OP_INFER("InstanceNormalization", .in = {"f32[3]", "f32[3]", "f32[3]"}, .error = "rank 1");
    OP_INFER("InstanceNormalization", .in = {"f32", "f32[3, 1]", "f32[3]"}, .error = "rank 2");
    OP_INFER("GroupNormalization", .attrs = "num_groups=2", .in = {"f32[n, 3, w]", "f32", "f32"},
             .error = "3 channels cannot be divided into 2 groups");
    OP_INFER("GroupNormalization", .attrs = "num_groups=0", .in = {"f32", "f32", "f32"},
             .error = "num_groups is 0");
    OP_INFER("GroupNormalization", .in = {"f32", "f32", "f32"}, .error = "'num_groups' is missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instance),
        cmocka_unit_test(group),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
