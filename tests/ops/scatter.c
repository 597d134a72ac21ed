#include "support/op_test.h"

static void elements(void **state) {
    (void)state;

    OP_RUN("ScatterElements", .in = {"f32[3]{1 2 3}", "s64[2]{-1 0}", "f32[2]{8 9}"},
           .out = {"f32[3]{9 2 8}"});
    OP_RUN("ScatterElements", .attrs = "axis=1",
           .in = {"u8[2, 2]{1 2 3 4}", "s32[1, 2]{1 0}", "u8[1, 2]{8 9}"},
           .out = {"u8[2, 2]{9 8 3 4}"});
    /* Of two updates of one element the later one stays. */
    OP_RUN("ScatterElements", .in = {"u8[2]{1 2}", "s32[2]{1 1}", "u8[2]{8 9}"},
           .out = {"u8[2]{1 9}"});
    OP_RUN("ScatterElements", .in = {"u8[2]{1 2}", "s32[0]{}", "u8[0]{}"}, .out = {"u8[2]{1 2}"});
}

static void reductions(void **state) {
    (void)state;

    OP_RUN("ScatterElements", .attrs = "reduction='add'",
           .in = {"s8[2]{100 1}", "s64[2]{0 0}", "s8[2]{100 3}"}, .out = {"s8[2]{-53 1}"});
    OP_RUN("ScatterElements", .attrs = "reduction='mul'",
           .in = {"u32[1]{65536}", "s64[1]{0}", "u32[1]{65537}"}, .out = {"u32[1]{65536}"});
    OP_RUN("ScatterElements", .attrs = "reduction='max'",
           .in = {"u64[2]{1 18446744073709551615}", "s64[2]{0 1}", "u64[2]{9223372036854775808 2}"},
           .out = {"u64[2]{9223372036854775808 18446744073709551615}"});
    OP_RUN("ScatterElements", .attrs = "reduction='min'",
           .in = {"s64[2]{-1 5}", "s64[2]{0 1}", "s64[2]{1 -5}"}, .out = {"s64[2]{-1 -5}"});
    OP_RUN("ScatterElements", .attrs = "reduction='max'",
           .in = {"f32[4]{1 nan 1 -1}", "s64[4]{0 1 2 3}", "f32[4]{2 1 nan -inf}"},
           .out = {"f32[4]{2 nan nan -1}"});
    OP_RUN("ScatterElements", .attrs = "reduction='min'",
           .in = {"f32[3]{1 nan 1}", "s64[3]{0 1 2}", "f32[3]{2 1 -inf}"},
           .out = {"f32[3]{1 nan -inf}"});
    OP_RUN("ScatterElements", .attrs = "reduction='add'",
           .in = {"bool[2]{1 0}", "s64[2]{0 1}", "bool[2]{1 1}"}, .out = {"bool[2]{1 1}"});
    OP_RUN("ScatterElements", .attrs = "reduction='mul'",
           .in = {"bool[2]{1 0}", "s64[2]{0 1}", "bool[2]{1 1}"}, .out = {"bool[2]{1 0}"});
    /* Rounded once: 2048 + 1 + 1 is 2050 in f16 although 2048 + 1 is 2048. */
    OP_RUN("ScatterElements", .attrs = "reduction='add'",
           .in = {"f16[1]{2048}", "s64[2]{0 0}", "f16[2]{1 1}"}, .out = {"f16[1]{2050}"},
           .tolerance = 1e-9);
    OP_RUN("ScatterND", .attrs = "reduction='mul'",
           .in = {"f32[2, 2]{1 2 3 4}", "s64[2, 1]{1 1}", "f32[2, 2]{2 3 5 7}"},
           .out = {"f32[2, 2]{1 2 30 84}"});
    OP_RUN("ScatterND", .attrs = "reduction='add'",
           .in = {"c64[1]{1}", "s64[1, 1]{0}", "c64[1]{2}"},
           .error = "reduction 'add' of complex numbers");
}

static void nd(void **state) {
    (void)state;

    OP_RUN("ScatterND", .in = {"s32[4]{1 2 3 4}", "s64[2, 1]{-1 0}", "s32[2]{8 9}"},
           .out = {"s32[4]{9 2 3 8}"});
    OP_RUN("ScatterND", .in = {"s32[2, 2]{1 2 3 4}", "s64[2]{1 0}", "s32[]{9}"},
           .out = {"s32[2, 2]{1 2 9 4}"});
    OP_RUN("ScatterND", .in = {"s32[2, 0]{}", "s64[1, 1]{1}", "s32[1, 0]{}"},
           .out = {"s32[2, 0]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("ScatterElements", .in = {"f32[n, 3]", "s64[k, 2]", "f32[k, 2]"},
             .out = {"f32[n, 3]"});
    OP_INFER("ScatterND", .in = {"f32[n, 3]", "s64[k, 1]", "f32[k, 3]"}, .out = {"f32[n, 3]"});
    OP_INFER("ScatterND", .in = {"f32[n, 3]", "s64[k, j]", "f32"}, .out = {"f32[n, 3]"});
    OP_INFER("ScatterElements", .in = {"f32", "s64[1]", "f32[1]"}, .out = {"f32"});
    OP_INFER("ScatterElements", .in = {"f32[2]", "s64[1]", "f32[2]"},
             .error = "sizes of indices and updates differ: 1 and 2");
    OP_INFER("ScatterElements", .in = {"f32[2, 2]", "s64[1, 3]", "f32[1, 3]"},
             .error = "axis 1 of the indices has size 3");
    OP_INFER("ScatterElements", .in = {"f32[2]", "s64[1, 1]", "f32[1]"},
             .error = "input 1 has rank 2, expected 1");
    OP_INFER("ScatterElements", .attrs = "reduction='avg'", .in = {"f32[2]", "s64[1]", "f32[1]"},
             .error = "expected one of");
    OP_INFER("ScatterND", .in = {"f32[2, 3]", "s64[4, 1]", "f32[4, 2]"},
             .error = "slices the indices name differ: 2 and 3");
    OP_INFER("ScatterND", .in = {"f32[2, 3]", "s64[4, 1]", "f32[4]"},
             .error = "input 2 has rank 1, expected 2");
    OP_INFER("ScatterND", .in = {"f32[2, 3]", "s64[4, 3]", "f32[4]"},
             .error = "size 3, expected 1 to 2");
    OP_RUN("ScatterElements", .in = {"f32[2]{1 2}", "s64[1]{-3}", "f32[1]{1}"},
           .error = "index -3 (at position 0");
    OP_RUN("ScatterND", .in = {"f32[2]{1 2}", "s64[1, 1]{2}", "f32[1]{1}"},
           .error = "index 2 (at position 0");
    OP_RUN("ScatterND", .in = {"string[0]{}", "s64[0, 1]{}", "string[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements),
        cmocka_unit_test(reductions),
        cmocka_unit_test(nd),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
