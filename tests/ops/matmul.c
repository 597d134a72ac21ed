#include "support/op_test.h"

static void ranks(void **state) {
    (void)state;
    OP_RUN("MatMul", .in = {"f32[2, 3]{1 ..}", "f32[3, 2]{1 ..}"},
           .out = {"f32[2, 2]{22 28 49 64}"});
    OP_RUN("MatMul", .in = {"f32[3]{1 2 3}", "f32[3]{4 5 6}"}, .out = {"f32[]{32}"});
    OP_RUN("MatMul", .in = {"f32[3]{1 2 3}", "f32[2, 3, 2]{1 ..}"},
           .out = {"f32[2, 2]{22 28 58 64}"});
    OP_RUN("MatMul", .in = {"f32[2, 2, 3]{1 ..}", "f32[3]{1 0 -1}"},
           .out = {"f32[2, 2]{-2 -2 -2 -2}"});
    OP_RUN("MatMul", .in = {"f32[2, 1, 1, 2]{1 2 3 4}", "f32[3, 2, 1]{1 1 1 0 0 1}"},
           .out = {"f32[2, 3, 1, 1]{3 1 2 7 3 4}"});
}

static void empty(void **state) {
    (void)state;
    OP_RUN("MatMul", .in = {"f32[2, 0]{}", "f32[0, 3]{}"}, .out = {"f32[2, 3]{0 ...}"});
    OP_RUN("MatMul", .in = {"f32[0, 2]{}", "f32[2, 3]{1 ..}"}, .out = {"f32[0, 3]{}"});
    OP_RUN("MatMul", .in = {"f32[0, 1, 2]{}", "f32[2, 1]{1 2}"}, .out = {"f32[0, 1, 1]{}"});
    OP_RUN("MatMul", .in = {"s32[0]{}", "s32[0]{}"}, .out = {"s32[]{0}"});
    OP_RUN("MatMul", .in = {"f32[1099511627776, 1099511627776, 0, 2]{}", "f32[1, 1, 2, 1]{1 2}"},
           .out = {"f32[1099511627776, 1099511627776, 0, 1]{}"});
}

static void types(void **state) {
    (void)state;
    OP_RUN("MatMul", .in = {"f16[1, 2]{1 0.5}", "f16[2, 1]{2 4}"}, .out = {"f16[1, 1]{4}"});
    OP_RUN("MatMul", .in = {"f64[1, 2]{1e300 1}", "f64[2, 1]{1e10 -inf}"},
           .out = {"f64[1, 1]{nan}"});
    /* In bf16 256 + 1 is 256: only a wider sum sees all four. */
    OP_RUN("MatMul", .in = {"bf16[1, 5]{256 1 1 1 1}", "bf16[5, 1]{1 ...}"},
           .out = {"bf16[1, 1]{260}"}, .tolerance = 1e-9);
    OP_RUN("MatMul", .in = {"s32[1, 2]{2147483647 1}", "s32[2, 1]{2 3}"}, .out = {"s32[1, 1]{1}"});
    OP_RUN("MatMul", .in = {"u32[1, 1]{4294967295}", "u32[1, 1]{4294967295}"},
           .out = {"u32[1, 1]{1}"});
    OP_RUN("MatMul", .in = {"s64[1, 2]{-9223372036854775808 7}", "s64[2, 1]{-1 1}"},
           .out = {"s64[1, 1]{-9223372036854775801}"});
    OP_RUN("MatMul", .in = {"u64[1, 1]{18446744073709551615}", "u64[1, 1]{3}"},
           .out = {"u64[1, 1]{18446744073709551613}"});
    OP_INFER("MatMul", .in = {"s8[1, 1]", "s8[1, 1]"}, .error = "s8");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("MatMul", .in = {"f32[b, 12, s, 64]", "f32[b, 12, 64, s]"},
             .out = {"f32[b, 12, s, s]"});
    OP_INFER("MatMul", .in = {"f32[b, s, k]", "f32[768, 3072]"}, .out = {"f32[b, s, 3072]"});
    OP_INFER("MatMul", .in = {"f32", "f32[3, 4]"}, .out = {"f32"});
    OP_INFER("MatMul", .in = {"f32[]", "f32[3, 4]"}, .error = "rank 0, expected 1");
    OP_INFER("MatMul", .in = {"f32[2, 3]", "f32[4, 2]"},
             .error = "columns of A and rows of B differ: 3 and 4");
    OP_INFER("MatMul", .in = {"f32[2, 2, 3]", "f32[4, 3, 2]"}, .error = "cannot be broadcast");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(empty),
        cmocka_unit_test(types),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
