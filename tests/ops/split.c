#include "support/op_test.h"

static void parts(void **state) {
    (void)state;

    OP_RUN("Split", .attrs = "num_outputs=3", .in = {"s32[7]{0 ..}"},
           .out = {"s32[3]{0 1 2}", "s32[3]{3 4 5}", "s32[1]{6}"});
    /* Too short for four parts of two: the last one is empty. */
    OP_RUN("Split", .attrs = "num_outputs=4", .in = {"s32[5]{0 ..}"},
           .out = {"s32[2]{0 1}", "s32[2]{2 3}", "s32[1]{4}", "s32[0]{}"});
    OP_RUN("Split", .attrs = "axis=-1", .in = {"u8[2, 3]{0 ..}", "s64[3]{2 0 1}"},
           .out = {"u8[2, 2]{0 1 3 4}", "u8[2, 0]{}", "u8[2, 1]{2 5}"});
    /* A part nobody wants still takes its place. */
    OP_RUN("Split", .in = {"f16[4]{0 ..}", "s64[3]{1 1 2}"},
           .out = {"f16[1]{0}", "", "f16[2]{2 3}"});
    OP_RUN("Split", .in = {"f16[4]{0 ..}"}, .out = {"f16[2]{0 1}", "f16[2]{2 3}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Split", .attrs = "axis=1 num_outputs=3", .in = {"f32[n, 3*h]"},
             .out = {"f32[n, h]", "f32[n, h]", "f32[n, h]"});
    OP_INFER("Split", .attrs = "num_outputs=2", .in = {"f32[n]"},
             .out = {"f32[floor((n + 1)/2)]", "f32[n - floor((n + 1)/2)]"});
    OP_INFER(
        "Split", .attrs = "num_outputs=3", .in = {"f32[n]"},
        .out = {"f32[floor((n + 2)/3)]", "f32[min(floor((n + 2)/3), max(0, n - floor((n + 2)/3)))]",
                "f32[max(0, n - 2*floor((n + 2)/3))]"});
    OP_INFER("Split", .in = {"f32[n]", "s64[2]{k 3}"}, .out = {"f32[k]", "f32[3]"});
    OP_INFER("Split", .in = {"f32[8]", "s64[2]"}, .out = {"f32[?<=8]", "f32[?<=8]"});
    OP_INFER("Split", .in = {"f32"}, .out = {"f32"});
    OP_INFER("Split", .in = {"s64[3]{n 4 m}", "s64[2]{1 2}"}, .out = {"s64[1]{n}", "s64[2]{4 m}"});
    OP_INFER("Split", .attrs = "axis=1", .in = {"s64[2, 2]{a b c d}"},
             .out = {"s64[2, 1]{a c}", "s64[2, 1]{b d}"});
}

static void refuses(void **state) {
    (void)state;

    OP_INFER("Split", .in = {"f32[4]", "s64[2]{1 2}"}, .out = {"f32", "f32"},
             .error = "the sum of the lengths and the size of the axis differ: 3 and 4");
    OP_INFER("Split", .in = {"f32[4]", "s64[2]{-1 5}"}, .out = {"f32", "f32"},
             .error = "length 0 is -1");
    OP_INFER("Split", .in = {"f32[4]", "s64[3]{1 1 2}"}, .out = {"f32", "f32"},
             .error = "expected at most 2");
    OP_INFER("Split", .in = {"f32[4]", "s64[1]{4}"}, .out = {"f32", "f32"},
             .error = "1 lengths are listed for 2 outputs");
    OP_INFER("Split", .attrs = "num_outputs=3", .in = {"f32[4]"}, .out = {"f32", "f32"},
             .error = "num_outputs is 3, but there are 2 outputs");
    OP_INFER("Split", .attrs = "axis=1", .in = {"f32[4]"}, .error = "axis 1 is outside");
    OP_RUN("Split", .in = {"string[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(inference),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
