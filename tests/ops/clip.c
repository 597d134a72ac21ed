#include "support/op_test.h"

static void limits(void **state) {
    (void)state;
    OP_RUN("Clip", .in = {"f32[5]{-2 0 2 nan inf}", "f32[]{-1}", "f32[]{1}"},
           .out = {"f32[5]{-1 0 1 nan 1}"});
    OP_RUN("Clip", .in = {"f32[2]{-2 2}", "", "f32[]{1}"}, .out = {"f32[2]{-2 1}"});
    OP_RUN("Clip", .in = {"f32[2]{-2 2}", "f32[1]{1}"}, .out = {"f32[2]{1 2}"});
    OP_RUN("Clip", .in = {"f32[2]{-inf 2}"}, .out = {"f32[2]{-inf 2}"});
    OP_RUN("Clip", .in = {"f32[2]{-2 2}", "f32[]{3}", "f32[]{1}"}, .out = {"f32[2]{1 1}"});
    OP_RUN("Clip", .in = {"s8[3]{-128 0 127}", "s8[]{-5}", "s8[]{5}"}, .out = {"s8[3]{-5 0 5}"});
    OP_RUN("Clip",
           .in = {"u64[2]{18446744073709551615 0}", "u64[]{1}", "u64[]{9223372036854775808}"},
           .out = {"u64[2]{9223372036854775808 1}"});
    OP_RUN("Clip", .in = {"f32[0]{}", "f32[]{0}"}, .out = {"f32[0]{}"});
    OP_RUN("Clip", .in = {"f32[1]{0}", "f32[2]{0 0}"}, .error = "min has 2 elements, expected 1");
    OP_RUN("Clip", .in = {"f32[1]{0}", "", "f32[0]{}"}, .error = "max has 0 elements, expected 1");
}

static void shapes_and_contents(void **state) {
    (void)state;
    OP_INFER("Clip", .in = {"f32[n]", "f32[]"}, .out = {"f32[n]"});
    OP_INFER("Clip", .in = {"f32", "f32[2, 1]"}, .error = "input 1 has rank 2");
    OP_INFER("Clip", .in = {"s64[2]{n, -4}", "s64[]{0}"}, .out = {"s64[2]{n, 0}"});
    OP_INFER("Clip", .in = {"s64[1]{7}", "", "s64[]{5}"}, .out = {"s64[1]{5}"});
    OP_INFER("Clip", .in = {"s64[]{7}", "s64[1]{0}"}, .out = {"s64[]{?}"});
    OP_INFER("Clip", .in = {"s64[3]{7 8 9}", "s64[2]{0 1}"}, .error = "min has 2 elements");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(shapes_and_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
