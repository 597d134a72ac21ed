#include "support/op_test.h"

static void numbers(void **state) {
    (void)state;
    OP_RUN("Cast", .attrs = "to=7", .in = {"f32[4]{1.9 -1.9 nan inf}"},
           .out = {"s64[4]{1 -1 0 9223372036854775807}"});
    OP_RUN("Cast", .attrs = "to=3", .in = {"s16[3]{200 -129 5}"}, .out = {"s8[3]{-56 127 5}"});
    OP_RUN("Cast", .attrs = "to=9", .in = {"f32[4]{0 -0 nan 0.25}"}, .out = {"bool[4]{0 0 1 1}"});
    OP_RUN("Cast", .attrs = "to=1", .in = {"bool[2]{0 1}"}, .out = {"f32[2]{0 1}"});
    OP_RUN("Cast", .attrs = "to=10", .in = {"f32[2]{65520 1.00048828125}"},
           .out = {"f16[2]{inf 1}"}, .tolerance = 1e-9);
    OP_RUN("Cast", .attrs = "to=1", .in = {"u64[1]{18446744073709551615}"},
           .out = {"f32[1]{18446744073709551616}"});
    OP_RUN("Cast", .attrs = "to=1", .in = {"f32[0]{}"}, .out = {"f32[0]{}"});
}

static void packed_blocks(void **state) {
    (void)state;
    /* More than a block: each begins at a whole byte in either type. */
    OP_RUN("Cast", .attrs = "to=2", .in = {"u4[1500]{9 ...}"}, .out = {"u8[1500]{9 ...}"});
    OP_RUN("Cast", .attrs = "to=26", .in = {"s32[1500]{-2 ...}"}, .out = {"s2[1500]{-2 ...}"});
    OP_RUN("Cast", .attrs = "to=21", .in = {"f4e2m1[3]{6 0.5 3}"}, .out = {"u4[3]{6 0 3}"});
}

static void fp8(void **state) {
    (void)state;
    OP_RUN("Cast", .attrs = "to=17", .in = {"f32[2]{1000 -inf}"}, .out = {"f8e4m3fn[2]{448 -448}"});
    OP_RUN("Cast", .attrs = "to=17 saturate=0", .in = {"f32[2]{1000 1}"},
           .out = {"f8e4m3fn[2]{nan 1}"});
    OP_RUN("Cast", .attrs = "to=24", .in = {"f32[3]{3 2 0.75}"}, .out = {"f8e8m0[3]{4 2 1}"});
    OP_RUN("Cast", .attrs = "to=24 round_mode='down'", .in = {"f32[2]{3 0.75}"},
           .out = {"f8e8m0[2]{2 0.5}"});
    OP_RUN("Cast", .attrs = "to=24 round_mode='nearest'", .in = {"f32[3]{3 2.5 0.75}"},
           .out = {"f8e8m0[3]{4 2 1}"});
}

static void cast_like(void **state) {
    (void)state;
    OP_RUN("CastLike", .in = {"f32[2]{1.5 -1.5}", "s8[0]{}"}, .out = {"s8[2]{1 -1}"});
    OP_RUN("CastLike", .attrs = "saturate=0", .in = {"f32[1]{1e9}", "f8e4m3fn[1]{0}"},
           .out = {"f8e4m3fn[1]{nan}"});
    OP_INFER("CastLike", .in = {"s64[2]{n, 3}", "s32[]"}, .out = {"s32[2]{n, 3}"});
}

static void bit_cast(void **state) {
    (void)state;
    OP_RUN("BitCast", .attrs = "to=6", .in = {"f32[2]{1 -0}"},
           .out = {"s32[2]{1065353216 -2147483648}"});
    OP_RUN("BitCast", .attrs = "to=1", .in = {"s32[1]{1065353216}"}, .out = {"f32[1]{1}"});
    OP_RUN("BitCast", .attrs = "to=21", .in = {"s4[3]{-1 -8 7}"}, .out = {"u4[3]{15 8 7}"});
    OP_RUN("BitCast", .attrs = "to=6", .in = {"s32[1]{5}"}, .out = {"s32[1]{5}"});
    OP_INFER("BitCast", .attrs = "to=7", .in = {"f32[n]"},
             .error = "f32 has 32 bits and s64 has 64");
    OP_INFER("BitCast", .attrs = "to=8", .in = {"f32[n]"}, .error = "to is string (8)");
}

static void types_and_contents(void **state) {
    (void)state;
    OP_INFER("Cast", .attrs = "to=6", .in = {"s64[2]{n, 3}"}, .out = {"s32[2]{n, 3}"});
    OP_INFER("Cast", .attrs = "to=9", .in = {"s64[3]{n + 1, 0, -3}"}, .out = {"bool[3]{1 0 1}"});
    OP_INFER("Cast", .attrs = "to=9", .in = {"s64[1]{n}"}, .out = {"bool[1]{?}"});
    OP_INFER("Cast", .attrs = "to=3", .in = {"s64[1]{200}"}, .out = {"s8[1]{?}"});
    OP_INFER("Cast", .attrs = "to=1", .in = {"s64[1]{n}"}, .out = {"f32[1]{?}"});
    OP_INFER("Cast", .attrs = "to=7", .in = {"bool[2]{0 1}"}, .out = {"s64[2]{0 1}"});
    OP_INFER("Cast", .attrs = "to=1", .in = {"s64[n, ?]"}, .out = {"f32[n, ?]"});
    OP_INFER("Cast", .attrs = "to=99", .in = {"s64[n]"}, .error = "to is no type hone knows (99)");
    OP_INFER("Cast", .attrs = "to=-1", .in = {"s64[n]"}, .error = "(-1)");
    OP_INFER("Cast", .attrs = "to=14", .in = {"s64[n]"}, .error = "to is c64 (14)");
    OP_INFER("Cast", .in = {"s64[n]"}, .error = "attribute 'to' is missing");
    OP_INFER("Cast", .attrs = "to=1 round_mode='x'", .in = {"s64[n]"}, .error = "up down nearest");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),  cmocka_unit_test(packed_blocks),
        cmocka_unit_test(fp8),      cmocka_unit_test(cast_like),
        cmocka_unit_test(bit_cast), cmocka_unit_test(types_and_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
