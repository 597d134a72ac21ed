#include "support/op_test.h"

static void forms(void **state) {
    (void)state;
    OP_RUN("Gemm", .in = {"f32[2, 3]{1 ..}", "f32[3, 2]{1 ..}"}, .out = {"f32[2, 2]{22 28 49 64}"});
    OP_RUN("Gemm", .attrs = "transA=1", .in = {"f32[3, 2]{1 4 2 5 3 6}", "f32[3, 2]{1 ..}"},
           .out = {"f32[2, 2]{22 28 49 64}"});
    OP_RUN("Gemm", .attrs = "transB=1", .in = {"f32[2, 3]{1 ..}", "f32[2, 3]{1 3 5 2 4 6}"},
           .out = {"f32[2, 2]{22 28 49 64}"});
    OP_RUN("Gemm", .attrs = "alpha=0.5 beta=2.0 transA=1 transB=1",
           .in = {"f32[1, 2]{2 4}", "f32[3, 1]{1 2 3}", "f32[2, 1]{10 20}"},
           .out = {"f32[2, 3]{21 22 23 42 44 46}"});
}

static void bias(void **state) {
    (void)state;
    OP_RUN("Gemm", .in = {"f32[2, 1]{1 2}", "f32[1, 2]{1 2}", "f32[]{10}"},
           .out = {"f32[2, 2]{11 12 12 14}"});
    OP_RUN("Gemm", .in = {"f32[2, 1]{1 2}", "f32[1, 2]{1 2}", "f32[2]{10 20}"},
           .out = {"f32[2, 2]{11 22 12 24}"});
    OP_RUN("Gemm", .in = {"f32[2, 1]{1 2}", "f32[1, 2]{1 2}", "f32[1, 1]{10}"},
           .out = {"f32[2, 2]{11 12 12 14}"});
    OP_RUN("Gemm", .in = {"f32[2, 1]{1 2}", "f32[1, 2]{1 2}", "f32[2, 2]{10 20 30 40}"},
           .out = {"f32[2, 2]{11 22 32 44}"});
    OP_RUN("Gemm", .in = {"f32[2, 0]{}", "f32[0, 1]{}", "f32[1]{3}"}, .out = {"f32[2, 1]{3 3}"});
    OP_RUN("Gemm", .in = {"f32[0, 2]{}", "f32[2, 1]{1 2}", "f32[1]{3}"}, .out = {"f32[0, 1]{}"});
}

static void types(void **state) {
    (void)state;
    OP_RUN("Gemm", .in = {"s32[1, 1]{2147483647}", "s32[1, 1]{1}", "s32[1]{1}"},
           .out = {"s32[1, 1]{-2147483648}"});
    OP_RUN("Gemm", .attrs = "alpha=0.5 beta=0.5",
           .in = {"s64[1, 1]{3}", "s64[1, 1]{3}", "s64[1]{-4}"}, .out = {"s64[1, 1]{2}"});
    OP_RUN("Gemm", .in = {"u64[1, 1]{18446744073709551615}", "u64[1, 1]{1}", "u64[1]{2}"},
           .out = {"u64[1, 1]{1}"});
    /* 2049 is not an f16; one rounding of 2048 + 1 + 1 gives 2050. */
    OP_RUN("Gemm", .in = {"f16[1, 2]{2048 1}", "f16[2, 1]{1 1}", "f16[1]{1}"},
           .out = {"f16[1, 1]{2050}"}, .tolerance = 1e-9);
    OP_RUN("Gemm", .in = {"f64[1, 1]{inf}", "f64[1, 1]{1}", "f64[1]{-inf}"},
           .out = {"f64[1, 1]{nan}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Gemm", .attrs = "transB=1", .in = {"f32[n, 784]", "f32[100, 784]", "f32[100]"},
             .out = {"f32[n, 100]"});
    OP_INFER("Gemm", .in = {"f32", "f32[3, 2]"}, .out = {"f32"});
    OP_INFER("Gemm", .in = {"f32[2, 3]", "f32[2, 3]"},
             .error = "columns of A and rows of B differ: 3 and 2");
    OP_INFER("Gemm", .in = {"f32[2, 3, 1]", "f32[3, 2]"},
             .error = "input 0 has rank 3, expected 2");
    OP_INFER("Gemm", .in = {"f32[2, 3]", "f32[3, 4]", "f32[3]"},
             .error = "sizes of C and A * B differ: 3 and 4");
    OP_INFER("Gemm", .in = {"f32[1, 3]", "f32[3, 4]", "f32[2, 4]"},
             .error = "sizes of C and A * B differ: 2 and 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(bias),
        cmocka_unit_test(types),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
