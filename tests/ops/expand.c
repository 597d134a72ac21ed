#include "support/op_test.h"

static void expand(void **state) {
    (void)state;

    OP_RUN("Expand", .in = {"f32[2, 1]{1 2}", "s64[3]{2 1 3}"},
           .out = {"f32[2, 2, 3]{1 1 1 2 2 2 1 1 1 2 2 2}"});
    OP_RUN("Expand", .in = {"s8[3]{1 2 3}", "s64[1]{1}"}, .out = {"s8[3]{1 2 3}"});
    OP_RUN("Expand", .in = {"s64[]{7}", "s64[2]{2 2}"}, .out = {"s64[2, 2]{7 ...}"});
    OP_RUN("Expand", .in = {"s64[1]{7}", "s64[2]{3 0}"}, .out = {"s64[3, 0]{}"});
    OP_RUN("Expand", .in = {"f64[]{7}", "s64[0]{}"}, .out = {"f64[]{7}"});
}

static void expand_inference(void **state) {
    (void)state;

    OP_INFER("Expand", .in = {"f32[n, 1]", "s64[2]{n m}"}, .out = {"f32[n, m]"});
    OP_INFER("Expand", .in = {"f32[1, 1, s]", "s64[4]{b 1 t s}"}, .out = {"f32[b, 1, t, s]"});
    OP_INFER("Expand", .in = {"f32[n, 4]", "s64[1]{1}"}, .out = {"f32[n, 4]"});
    OP_INFER("Expand", .in = {"f32[n]", "s64[3]"}, .out = {"f32[?, ?, ?]"});
    OP_INFER("Expand", .in = {"f32[n, m, k]", "s64[1]"}, .out = {"f32[?, ?, ?]"});
    OP_INFER("Expand", .in = {"f32", "s64[1]{2}"}, .out = {"f32"});
    OP_INFER("Expand", .in = {"s64[1]{n}", "s64[1]{3}"}, .out = {"s64[3]{n n n}"});
    OP_INFER("Expand", .in = {"s64[1]{n}", "s64[1]{300}"}, .out = {"s64[300]{?}"});
    OP_INFER("Expand", .in = {"f32[3]", "s64[1]{4}"},
             .error = "shape [3] does not broadcast with the shape [4]");
    OP_INFER("Expand", .in = {"f32[3]", "s64[1]{-1}"}, .error = "has -1 at axis 0");
}

static void tile(void **state) {
    (void)state;

    OP_RUN("Tile", .in = {"u8[2, 2]{1 2 3 4}", "s64[2]{2 2}"},
           .out = {"u8[4, 4]{1 2 1 2 3 4 3 4 1 2 1 2 3 4 3 4}"});
    OP_RUN("Tile", .in = {"f32[3]{1 2 3}", "s64[1]{0}"}, .out = {"f32[0]{}"});
    OP_RUN("Tile", .in = {"f32[]{3}", "s64[0]{}"}, .out = {"f32[]{3}"});
    OP_RUN("Tile", .in = {"f32[0, 2]{}", "s64[2]{3 2}"}, .out = {"f32[0, 4]{}"});
    OP_INFER("Tile", .in = {"f32[n, 2]", "s64[2]{2 m}"}, .out = {"f32[2*n, 2*m]"});
    OP_INFER("Tile", .in = {"f32[n, 2]", "s64[2]"}, .out = {"f32[?, ?]"});
    OP_INFER("Tile", .in = {"f32", "s64[2]{1 1}"}, .out = {"f32[?, ?]"});
    OP_INFER("Tile", .in = {"f32[n]", "s64"}, .out = {"f32[?]"});
    OP_INFER("Tile", .in = {"s64[2]{n 1}", "s64[1]{2}"}, .out = {"s64[4]{n 1 n 1}"});
    OP_INFER("Tile", .in = {"f32[n, 2]", "s64[1]{2}"},
             .error = "1 repeats are listed for an input of rank 2");
    OP_INFER("Tile", .in = {"f32[2]", "s64[1]{-1}"}, .error = "axis 0 is repeated -1 times");
    OP_INFER("Tile", .in = {"f32[4611686018427387903]", "s64[1]{4}"}, .error = "62 bits");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expand),
        cmocka_unit_test(expand_inference),
        cmocka_unit_test(tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
