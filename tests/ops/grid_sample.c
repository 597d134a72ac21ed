#include "support/op_test.h"

/* An image of 2 x 2 looked up at a corner, the middle, on an edge, and far outside. */
#define IMAGE "f32[1, 1, 2, 2]{1 2 3 4}"
#define GRID "f32[1, 1, 4, 2]{-1 -1 0 0 1 0.5 3 0}"

static void linear(void **state) {
    (void)state;
    OP_RUN("GridSample", .in = {IMAGE, GRID}, .out = {"f32[1, 1, 1, 4]{0.25 2.5 2 0}"});
    OP_RUN("GridSample", .attrs = "align_corners=1", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{1 2.5 3.5 0}"});
    OP_RUN("GridSample", .attrs = "padding_mode='border'", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{1 2.5 4 3}"});
    OP_RUN("GridSample", .attrs = "padding_mode='reflection'", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{1 2.5 4 2}"});
    /* Computed as a float, cast to the integer. */
    OP_RUN("GridSample", .in = {"s32[1, 1, 2, 2]{1 2 3 4}", GRID},
           .out = {"s32[1, 1, 1, 4]{0 2 2 0}"});
    OP_RUN("GridSample", .attrs = "align_corners=1",
           .in = {"bf16[1, 2, 2]{1 3 5 9}", "f16[1, 2, 1]{-0.5 1}"},
           .out = {"bf16[1, 2, 2]{1.5 3 6 9}"});
}

static void nearest(void **state) {
    (void)state;
    OP_RUN("GridSample", .attrs = "mode='nearest' align_corners=1", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{1 1 4 0}"});
    OP_RUN("GridSample", .attrs = "mode='nearest' padding_mode='border'", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{1 1 4 2}"});
    OP_RUN("GridSample", .attrs = "mode='nearest' padding_mode='reflection'", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{1 1 4 1}"});
    /* Elements move. */
    OP_RUN("GridSample", .attrs = "mode='nearest'",
           .in = {"s64[1, 2, 2]{4611686018427387905 1 2 3}", "f64[1, 1, 1]{-0.5}"},
           .out = {"s64[1, 2, 1]{4611686018427387905 2}"});
}

static void cubic(void **state) {
    (void)state;
    OP_RUN("GridSample", .attrs = "mode='cubic'", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{0.109375 3.525390625 2.09375 0}"});
    OP_RUN("GridSample", .attrs = "mode='cubic' padding_mode='reflection'", .in = {IMAGE, GRID},
           .out = {"f32[1, 1, 1, 4]{0.4375 2.5 4.1875 1.8125}"});
    /* Beyond the border it is the taps that stay on it, not the position. */
    OP_RUN("GridSample", .attrs = "mode='cubic' padding_mode='border'",
           .in = {"f64[1, 1, 2]{1 2}", "f64[1, 1, 1]{1.2}"}, .out = {"f64[1, 1, 1]{2.04725}"});
}

static void edges(void **state) {
    (void)state;
    /* Coordinates that are no position: NaN counts as -1. */
    OP_RUN("GridSample", .attrs = "padding_mode='border' align_corners=1",
           .in = {"f32[1, 1, 3]{5 6 7}", "f32[1, 4, 1]{nan -inf inf 3e38}"},
           .out = {"f32[1, 1, 4]{5 5 7 7}"});
    OP_RUN("GridSample", .attrs = "padding_mode='zeros'",
           .in = {"f32[1, 1, 3]{5 6 7}", "f64[1, 2, 1]{inf -1e308}"}, .out = {"f32[1, 1, 2]{0 0}"});
    /* One element has no distance to be reflected by. */
    OP_RUN("GridSample", .attrs = "padding_mode='reflection' align_corners=1 mode='cubic'",
           .in = {"f32[1, 1, 1]{5}", "f32[1, 2, 1]{0.3 9}"}, .out = {"f32[1, 1, 2]{5 5}"});
    OP_RUN("GridSample", .in = {"f32[1, 1, 0]{}", "f32[1, 2, 1]{0 1}"},
           .out = {"f32[1, 1, 2]{0 0}"});
    OP_RUN("GridSample", .attrs = "padding_mode='border'",
           .in = {"f32[1, 1, 0]{}", "f32[1, 2, 1]{0 1}"}, .error = "axis 2 of X is empty");
    OP_RUN("GridSample", .in = {"f32[2, 0, 3]{}", "f32[2, 2, 1]{0 ...}"},
           .out = {"f32[2, 0, 2]{}"});
    OP_RUN("GridSample", .attrs = "align_corners=1",
           .in = {"f32[1, 1, 2, 2, 2]{0 ..}", "f32[1, 1, 1, 2, 3]{0 0 0 1 -1 1}"},
           .out = {"f32[1, 1, 1, 1, 2]{3.5 5}"});
    OP_RUN("GridSample", .in = {"c64[1, 1, 1]{1}", "f32[1, 1, 1]{0}"},
           .error = "mode linear is for real numbers, X is c64");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("GridSample", .in = {"f32[n, c, h, w]", "f32[n, a, b, 2]"},
             .out = {"f32[n, c, a, b]"});
    OP_INFER("GridSample", .in = {"f32[n, c, h, w]", "f32[4, a, b, k]"},
             .out = {"f32[4, c, a, b]"});
    OP_INFER("GridSample", .in = {"f32", "f32[n, a, b, 2]"}, .out = {"f32[n, ?, a, b]"});
    OP_INFER("GridSample", .in = {"f32[n, c, h, w]", "f32"}, .out = {"f32[n, c, ?, ?]"});
    OP_INFER("GridSample", .in = {"f32", "f32"}, .out = {"f32"});
    OP_INFER("GridSample", .in = {"f32[n, c, h, w]", "f32[n, a, 2]"},
             .error = "X has rank 4 and grid 3");
    OP_INFER("GridSample", .in = {"f32[n, c, h, w]", "f32[n, a, b, 3]"},
             .error = "the coordinates per position and the spatial axes differ: 3 and 2");
    OP_INFER("GridSample", .in = {"f32[2, c, h, w]", "f32[3, a, b, 2]"},
             .error = "the batches of X and grid differ: 2 and 3");
    OP_INFER("GridSample", .in = {"f32[2, 2]", "f32"}, .error = "rank 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear), cmocka_unit_test(nearest), cmocka_unit_test(cubic),
        cmocka_unit_test(edges),  cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
