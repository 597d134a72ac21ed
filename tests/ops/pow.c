#include "support/op_test.h"

static void powers(void **state) {
    (void)state;
    OP_RUN("Pow", .in = {"f32[3]{2 4 -8}", "f32[3]{3 0.5 2}"}, .out = {"f32[3]{8 2 64}"});
    OP_RUN("Pow", .in = {"f32[2, 1]{2 3}", "s64[2]{2 -1}"},
           .out = {"f32[2, 2]{4 0.5 9 0.33333333}"});
    OP_RUN("Pow", .in = {"f64[4]{0 -1 nan 1}", "f64[4]{-1 0.5 0 nan}"},
           .out = {"f64[4]{inf nan 1 1}"});
}

static void integer_bases_are_exact(void **state) {
    (void)state;
    OP_RUN("Pow", .in = {"s64[3]{3 -3 7}", "s32[3]{39 39 0}"},
           .out = {"s64[3]{4052555153018976267 -4052555153018976267 1}"});
    OP_RUN("Pow", .in = {"s32[2]{3 2}", "u8[2]{21 31}"}, .out = {"s32[2]{1870418611 -2147483648}"});
    OP_RUN("Pow", .in = {"s32[4]{2 4 1 -1}", "f32[4]{-1 0.5 -3 -3}"}, .out = {"s32[4]{0 2 1 -1}"});
    OP_RUN("Pow", .in = {"s32[2]{0 0}", "s32[2]{0 -1}"}, .out = {"s32[2]{1 2147483647}"});
    OP_RUN("Pow", .in = {"s64[1]{2}", "f64[1]{inf}"}, .out = {"s64[1]{9223372036854775807}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Pow", .in = {"f32[n, 1]", "s64[3]"}, .out = {"f32[n, 3]"});
    OP_INFER("Pow", .in = {"u8[1]", "s64[3]"}, .error = "Pow");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers),
        cmocka_unit_test(integer_bases_are_exact),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
