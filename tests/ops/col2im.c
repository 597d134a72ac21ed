#include "support/op_test.h"

static void values(void **state) {
    (void)state;
    /* Blocks of 2 at 0, 1, 2 overlap by one. */
    OP_RUN("Col2Im", .in = {"f32[1, 2, 3]{1 2 3 10 20 30}", "s64[1]{4}", "s64[1]{2}"},
           .out = {"f32[1, 1, 4]{1 12 23 30}"});
    OP_RUN("Col2Im", .attrs = "pads=[1, 0] strides=[2]",
           .in = {"f32[1, 4, 2]{1 2 3 4 5 6 7 8}", "s64[1]{3}", "s64[1]{2}"},
           .out = {"f32[1, 2, 3]{3 2 4 7 6 8}"});
    OP_RUN("Col2Im", .attrs = "dilations=[2, 1]",
           .in = {"f32[1, 4, 1]{1 2 3 4}", "s64[2]{3 2}", "s64[2]{2 2}"},
           .out = {"f32[1, 1, 3, 2]{1 2 0 0 3 4}"});
    OP_RUN("Col2Im", .in = {"u8[1, 2, 2]{200 100 100 7}", "s64[1]{3}", "s64[1]{2}"},
           .out = {"u8[1, 1, 3]{200 200 7}"});
    OP_RUN("Col2Im", .in = {"s64[1, 2, 2]{1 9223372036854775807 1 2}", "s64[1]{3}", "s64[1]{2}"},
           .out = {"s64[1, 1, 3]{1 -9223372036854775808 2}"});
    OP_RUN("Col2Im", .in = {"f32[0, 2, 3]{}", "s64[1]{4}", "s64[1]{2}"}, .out = {"f32[0, 1, 4]{}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Col2Im", .in = {"f32[n, 8*c, l]", "s64[2]{h w}", "s64[2]{2 4}"},
             .out = {"f32[n, c, h, w]"});
    OP_INFER("Col2Im", .in = {"f32[n, 8, l]", "s64[2]", "s64[2]{2 4}"}, .out = {"f32"});
    OP_INFER("Col2Im", .in = {"f32[1, 3, 3]", "s64[1]{4}", "s64[1]{2}"},
             .error = "axis 1 has size 3, expected a multiple of the block's 2 elements");
    OP_INFER("Col2Im", .in = {"f32[1, 2, 2]", "s64[1]{4}", "s64[1]{2}"},
             .error = "axis 2 and the number of blocks differ: 2 and 3");
    OP_INFER("Col2Im", .in = {"f32[1, 2, 2]", "s64[2]{4 4}", "s64[1]{2}"},
             .error = "image_shape has 2 values but block_shape has 1");
    OP_INFER("Col2Im", .in = {"f32[1, 2, 2]", "s64[1]{4}", "s64[1]{0}"},
             .error = "block_shape holds 0");
    OP_INFER("Col2Im", .in = {"f32[1, 2, 2]", "s64[1]{-4}", "s64[1]{1}"},
             .error = "image_shape holds -4");
    OP_INFER("Col2Im", .in = {"f32[1, 2]", "s64[1]{4}", "s64[1]{1}"},
             .error = "rank 2, expected 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
