#include "support/op_test.h"

static void runs(void **state) {
    (void)state;

    OP_RUN("Reshape", .in = {"f32[2, 3]{1 ..}", "s64[2]{3 -1}"}, .out = {"f32[3, 2]{1 ..}"});
    OP_RUN("Reshape", .in = {"u4[2, 3]{1 ..}", "s64[3]{0 -1 1}"}, .out = {"u4[2, 3, 1]{1 ..}"});
    OP_RUN("Reshape", .in = {"f32[1, 1]{4}", "s64[0]{}"}, .out = {"f32[]{4}"});
    OP_RUN("Reshape", .attrs = "allowzero=1", .in = {"f32[0, 3]{}", "s64[3]{7 0 2}"},
           .out = {"f32[7, 0, 2]{}"});
    OP_RUN("Reshape", .in = {"f32[0, 3]{}", "s64[2]{0 -1}"}, .out = {"f32[0, 3]{}"});
    OP_RUN("Reshape", .in = {"f32[0, 3]{}", "s64[3]{3 0 -1}"}, .out = {"f32[3, 3, 0]{}"});
}

static void symbolic(void **state) {
    (void)state;

    OP_INFER("Reshape", .in = {"f32[b, s, 768]", "s64[4]{0 0 12 64}"},
             .out = {"f32[b, s, 12, 64]"});
    OP_INFER("Reshape", .in = {"f32[b, s, 768]", "s64[4]{b s 12 -1}"},
             .out = {"f32[b, s, 12, 64]"});
    OP_INFER("Reshape", .in = {"f32[b, s, 768]", "s64[2]{-1 768}"}, .out = {"f32[b*s, 768]"});
    OP_INFER("Reshape", .in = {"f32[b*s, 768]", "s64[3]{b -1 768}"}, .out = {"f32[b, s, 768]"});
    /* A sum cancels as a whole. */
    OP_INFER("Reshape", .in = {"f32[b, p + s, 12, 64]", "s64[3]{b p + s -1}"},
             .out = {"f32[b, p + s, 768]"});
    OP_INFER("Reshape", .in = {"f32[b, 12, p + s, 64]", "s64[3]{12*b -1 64}"},
             .out = {"f32[12*b, p + s, 64]"});
    OP_INFER("Reshape", .in = {"f32[6*n, 4]", "s64[2]{-1 8}"}, .out = {"f32[3*n, 8]"});
    OP_INFER("Reshape", .in = {"f32[n, 3]", "s64[2]{-1 2}"}, .out = {"f32[floor(3*n/2), 2]"});
    OP_INFER("Reshape", .in = {"f32", "s64[3]{0 5 -1}"}, .out = {"f32[?, 5, ?]"});
    OP_INFER("Reshape", .attrs = "allowzero=1", .in = {"f32[n, 0]", "s64[2]{0 5}"},
             .out = {"f32[0, 5]"});
}

static void shape_not_known(void **state) {
    (void)state;

    OP_INFER("Reshape", .in = {"f32[2, n]", "s64[3]"}, .out = {"f32[?, ?, ?]"});
    OP_INFER("Reshape", .in = {"f32[2, n]", "s64[1]"}, .out = {"f32[2*n]"});
    OP_INFER("Reshape", .in = {"f32[2, n]", "s64[k]"}, .out = {"f32"});
    OP_INFER("Reshape", .in = {"f32[n]", "s64[0]"}, .out = {"f32[]"});
    OP_INFER("Reshape", .in = {"s64[2]{n 4}", "s64[2]{2 1}"}, .out = {"s64[2, 1]{n 4}"});
}

static void refuses(void **state) {
    (void)state;

    OP_INFER("Reshape", .in = {"f32[2, 3]", "s64[2]{-1 -1}"}, .error = "has -1 at axes 0 and 1");
    OP_INFER("Reshape", .in = {"f32[2, 3]", "s64[2]{4 -1}"},
             .error = "shape [2, 3] does not divide");
    OP_INFER("Reshape", .in = {"f32[2, 3]", "s64[1]{5}"},
             .error = "shape [2, 3] cannot have the shape [5]");
    OP_INFER("Reshape", .in = {"f32[2, 3]", "s64[3]{2 3 0}"}, .error = "size 0 at axis 2 copies");
    OP_INFER("Reshape", .in = {"f32[2, 3]", "s64[1]{-6}"}, .error = "has -6 at axis 0");
    OP_INFER("Reshape", .attrs = "allowzero=1", .in = {"f32[2, 0]", "s64[2]{0 -1}"},
             .error = "both 0 and -1");
    OP_INFER("Reshape", .in = {"f32[4611686018427387903, 4]", "s64[2]{3 -1}"},
             .error = "the sizes overflow");
    OP_INFER("Reshape", .in = {"f32[2]", "s64[17]"},
             .error = "input 1 has 17 entries, expected at most 16");
    OP_INFER("Reshape", .in = {"f32[2]", "s64[1, 1]"}, .error = "input 1 has rank 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs),
        cmocka_unit_test(symbolic),
        cmocka_unit_test(shape_not_known),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
