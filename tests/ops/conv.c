#include "support/op_test.h"

static void windows(void **state) {
    (void)state;
    OP_RUN("Conv", .in = {"f32[1, 1, 3, 3]{0 ..}", "f32[1, 1, 2, 2]{1 ...}"},
           .out = {"f32[1, 1, 2, 2]{8 12 20 24}"});
    OP_RUN("Conv", .attrs = "pads=[1, 0, 0, 1]",
           .in = {"f32[1, 1, 2, 2]{1 2 3 4}", "f32[1, 1, 2, 2]{1 10 100 1000}"},
           .out = {"f32[1, 1, 2, 2]{2100 200 4321 402}"});
    OP_RUN("Conv", .attrs = "strides=[2] dilations=[2]",
           .in = {"f32[1, 1, 7]{1 ..}", "f32[1, 1, 2]{1 10}", "f32[1]{0.5}"},
           .out = {"f32[1, 1, 3]{31.5 53.5 75.5}"});
    OP_RUN("Conv", .attrs = "auto_pad='SAME_UPPER' strides=[2]",
           .in = {"f32[1, 1, 4]{1 2 3 4}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 2]{321 43}"});
    OP_RUN("Conv", .attrs = "auto_pad='SAME_LOWER' strides=[2]",
           .in = {"f32[1, 1, 4]{1 2 3 4}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 2]{210 432}"});
    OP_RUN("Conv", .attrs = "auto_pad='VALID' pads=[5, 5]",
           .in = {"f32[1, 1, 4]{1 2 3 4}", "f32[1, 1, 3]{1 10 100}"},
           .out = {"f32[1, 1, 2]{321 432}"});
    OP_RUN("Conv", .in = {"f32[1, 1, 2, 2, 2]{1 ..}", "f32[1, 1, 1, 1, 2]{1 10}"},
           .out = {"f32[1, 1, 2, 2, 1]{21 43 65 87}"});
}

static void groups(void **state) {
    (void)state;
    /* Depthwise with two images; then two groups of two. */
    OP_RUN("Conv", .attrs = "group=2",
           .in = {"f32[2, 2, 2]{1 ..}", "f32[2, 1, 1]{10 100}", "f32[2]{1 2}"},
           .out = {"f32[2, 2, 2]{11 21 302 402 51 61 702 802}"});
    OP_RUN("Conv", .attrs = "group=2",
           .in = {"f32[1, 4, 1]{1 2 3 4}", "f32[4, 2, 1]{1 10 2 20 1 10 2 20}"},
           .out = {"f32[1, 4, 1]{21 42 43 86}"});
}

/* More channels, taps and pixels than one block of the product holds. */
static void large(void **state) {
    (void)state;
    OP_RUN("Conv", .in = {"f32[1, 300, 301]{1 ...}", "f32[140, 300, 2]{0.5 ...}"},
           .out = {"f32[1, 140, 300]{300 ...}"});
}

static void types(void **state) {
    (void)state;
    OP_RUN("Conv", .in = {"f16[1, 1, 2]{1 2}", "f16[1, 1, 2]{0.5 0.25}"},
           .out = {"f16[1, 1, 1]{1}"});
    OP_RUN("Conv", .in = {"f64[1, 1, 2]{inf 2}", "f64[1, 1, 2]{0 1}"},
           .out = {"f64[1, 1, 1]{nan}"});
    OP_RUN("Conv", .in = {"bf16[1, 1, 4]{256 1 1 1}", "bf16[1, 1, 4]{1 ...}", "bf16[1]{1}"},
           .out = {"bf16[1, 1, 1]{260}"}, .tolerance = 1e-9);
}

static void empty(void **state) {
    (void)state;
    OP_RUN("Conv", .in = {"f32[0, 1, 3]{}", "f32[1, 1, 2]{1 2}"}, .out = {"f32[0, 1, 2]{}"});
    OP_RUN("Conv", .in = {"f32[1, 0, 3]{}", "f32[2, 0, 2]{}", "f32[2]{1 2}"},
           .out = {"f32[1, 2, 2]{1 1 2 2}"});
    OP_RUN("Conv", .in = {"f32[1, 1, 0]{}", "f32[1, 1, 2]{1 2}"},
           .error = "size 0, padded to 0, is smaller than its window of 2");
    OP_RUN("Conv", .attrs = "pads=[1, 1]", .in = {"f32[1, 1, 0]{}", "f32[1, 1, 2]{1 2}"},
           .out = {"f32[1, 1, 1]{0}"});
    OP_RUN("Conv", .attrs = "strides=[2147483647, 2147483647, 2147483647]",
           .in = {"f32[1, 0, 1099511627776, 1099511627776, 1]{}",
                  "f32[1, 0, 2147483647, 2147483647, 1]{}"},
           .out = {"f32[1, 1, 512, 512, 1]{0 ...}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Conv", .attrs = "pads=[1, 1, 1, 1]", .in = {"f32[n, 3, h, w]", "f32[8, 3, 3, 3]"},
             .out = {"f32[n, 8, h, w]"});
    OP_INFER("Conv", .attrs = "auto_pad='SAME_UPPER'", .in = {"f32[n, c, h]", "f32[8, k, 3]"},
             .out = {"f32[n, 8, h]"});
    OP_INFER("Conv", .attrs = "strides=[2]", .in = {"f32[n, c, 2*h + 1]", "f32[8, 3, 3]"},
             .out = {"f32[n, 8, h]"});
    OP_INFER("Conv", .attrs = "kernel_shape=[5]", .in = {"f32[1, c, 9]", "f32[m, c, k]"},
             .out = {"f32[1, m, 5]"});
    OP_INFER("Conv", .in = {"f32[1, c, 9]", "f32[m, c, k]"}, .out = {"f32[1, m, ?]"});
    OP_INFER("Conv", .in = {"f32", "f32[8, 3, 3]"}, .out = {"f32"});
}

static void contradictions(void **state) {
    (void)state;
    OP_INFER("Conv", .in = {"f32[1, 3]", "f32[8, 3, 3]"}, .error = "rank 2, expected 3 to 16");
    OP_INFER("Conv", .in = {"f32[1, 3, 4]", "f32[8, 3, 3, 3]"},
             .error = "the input has rank 3 but the weights have rank 4");
    OP_INFER("Conv", .attrs = "group=2", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "times groups differ: 3 and 6");
    OP_INFER("Conv", .attrs = "group=3", .in = {"f32[1, 3, 4]", "f32[8, 1, 3]"},
             .error = "8 output channels cannot be split into 3 groups");
    OP_INFER("Conv", .attrs = "group=0", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'group' is 0");
    OP_INFER("Conv", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]", "f32[7]"},
             .error = "sizes of the bias and output channels differ: 7 and 8");
    OP_INFER("Conv", .in = {"f32[1, 3, 2]", "f32[8, 3, 3]"},
             .error = "spatial axis 0 of size 2, padded to 2, is smaller than its window of 3");
    OP_INFER("Conv", .attrs = "kernel_shape=[2]", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'kernel_shape' says 2 along axis 0, the weights have 3");
    OP_INFER("Conv", .attrs = "strides=[1, 1]", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'strides' has 2 values, expected 1");
    OP_INFER("Conv", .attrs = "strides=[0]", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'strides' holds 0, expected 1 to");
    OP_INFER("Conv", .attrs = "pads=[-1, 0]", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'pads' holds -1");
    OP_INFER("Conv", .attrs = "dilations=[9223372036854775807]",
             .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'dilations' holds 9223372036854775807");
    OP_INFER("Conv", .attrs = "auto_pad='SOME'", .in = {"f32[1, 3, 4]", "f32[8, 3, 3]"},
             .error = "'auto_pad' is 'SOME'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),        cmocka_unit_test(groups), cmocka_unit_test(large),
        cmocka_unit_test(types),          cmocka_unit_test(empty),  cmocka_unit_test(shapes),
        cmocka_unit_test(contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
