#include "support/op_test.h"

static void elements(void **state) {
    (void)state;

    OP_RUN("Unique", .in = {"f32[6]{2 1 1 3 4 3}"},
           .out = {"f32[4]{1 2 3 4}", "s64[4]{1 0 3 4}", "s64[6]{1 0 0 2 3 2}", "s64[4]{2 1 2 1}"});
    OP_RUN(
        "Unique", .attrs = "sorted=0", .in = {"s64[2, 3]{2 1 1 -3 4 -3}"},
        .out = {"s64[4]{2 1 -3 4}", "s64[4]{0 1 3 4}", "s64[6]{0 1 1 2 3 2}", "s64[4]{1 2 2 1}"});
    OP_RUN("Unique", .in = {"u64[3]{18446744073709551615 0 18446744073709551615}"},
           .out = {"u64[2]{0 18446744073709551615}", "", "s64[3]{1 0 1}"});
    OP_RUN("Unique", .in = {"f32[5]{nan 0 -0 nan inf}"},
           .out = {"f32[3]{0 inf nan}", "s64[3]{1 4 0}", "s64[5]{2 0 0 2 1}", "s64[3]{2 1 2}"});
    OP_RUN("Unique", .in = {"bool[3]{1 0 1}"}, .out = {"bool[2]{0 1}"});
    OP_RUN("Unique", .in = {"c64[3]{2 1 2}"}, .out = {"c64[2]{1 2}", "s64[2]{1 0}"});
    OP_RUN("Unique", .in = {"c128[3]{2 1 2}"}, .out = {"c128[2]{1 2}", "s64[2]{1 0}"});
    OP_RUN("Unique", .in = {"f32[]{3}"}, .out = {"f32[1]{3}"});
    OP_RUN("Unique", .in = {"f32[0, 4]{}"},
           .out = {"f32[0]{}", "s64[0]{}", "s64[0]{}", "s64[0]{}"});
}

static void slices(void **state) {
    (void)state;

    OP_RUN("Unique", .attrs = "axis=0", .in = {"s32[3, 2]{2 3 1 0 2 3}"},
           .out = {"s32[2, 2]{1 0 2 3}", "s64[2]{1 0}", "s64[3]{1 0 1}", "s64[2]{1 2}"});
    OP_RUN("Unique", .attrs = "axis=-1 sorted=0", .in = {"s32[2, 3]{2 1 2 5 4 5}"},
           .out = {"s32[2, 2]{2 1 5 4}", "s64[2]{0 1}", "s64[3]{0 1 0}", "s64[2]{2 1}"});
    OP_RUN("Unique", .attrs = "axis=1", .in = {"u8[2, 2, 2]{1 2 1 2 3 4 3 4}"},
           .out = {"u8[2, 1, 2]{1 2 3 4}", "s64[1]{0}", "s64[2]{0 0}", "s64[1]{2}"});
    OP_RUN("Unique", .attrs = "axis=0", .in = {"f32[3, 0]{}"},
           .out = {"f32[1, 0]{}", "s64[1]{0}", "s64[3]{0 0 0}", "s64[1]{3}"});
    OP_RUN("Unique", .attrs = "axis=0", .in = {"f32[0, 3]{}"}, .out = {"f32[0, 3]{}", "s64[0]{}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Unique", .in = {"f32[2, 3]"},
             .out = {"f32[?<=6]", "s64[?<=6]", "s64[6]", "s64[?<=6]"});
    OP_INFER("Unique", .attrs = "axis=1", .in = {"f32[n, 3]"},
             .out = {"f32[n, ?<=3]", "s64[?<=3]", "s64[3]", "s64[?<=3]"});
    OP_INFER("Unique", .in = {"f32"}, .out = {"f32[?]", "s64[?]", "s64[?]", "s64[?]"});
    OP_INFER("Unique", .attrs = "axis=0", .in = {"f32"}, .out = {"f32", "s64[?]"});
    OP_INFER("Unique", .attrs = "axis=2", .in = {"f32[n, 3]"}, .error = "axis 2 is outside");
    OP_RUN("Unique", .in = {"string[0]{}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements),
        cmocka_unit_test(slices),
        cmocka_unit_test(inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
