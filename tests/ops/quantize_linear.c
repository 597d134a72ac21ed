#include "support/op_test.h"

static void per_tensor(void **state) {
    (void)state;
    /* Ties go to even, before the zero point is added. */
    OP_RUN("QuantizeLinear", .in = {"f32[6]{0 1 3 -5 1000 -1000}", "f32[]{2}", "u8[]{128}"},
           .out = {"u8[6]{128 128 130 126 255 0}"});
    OP_RUN("QuantizeLinear", .in = {"f32[4]{nan inf -inf 2}", "f32[1]{1}", "s8[]{3}"},
           .out = {"s8[4]{-128 127 -128 5}"});
    OP_RUN("QuantizeLinear", .in = {"f32[2]{1 300}", "f32[]{1}"}, .out = {"u8[2]{1 255}"});
    OP_RUN("QuantizeLinear", .in = {"s32[2]{7 -100}", "f32[]{2}", "s16[]{0}"},
           .out = {"s16[2]{4 -50}"});
    OP_RUN("QuantizeLinear", .in = {"f32[0, 2]{}", "f32[]{1}"}, .out = {"u8[0, 2]{}"});
    OP_RUN("QuantizeLinear", .in = {"f32[1]{1}", "f32[]{0}"}, .out = {"u8[1]{255}"});
    OP_RUN("DequantizeLinear", .in = {"u8[3]{0 128 255}", "f32[]{0.5}", "u8[]{128}"},
           .out = {"f32[3]{-64 0 63.5}"});
    OP_RUN("DequantizeLinear", .in = {"s32[2]{-2147483648 2147483647}", "f32[]{2}"},
           .out = {"f32[2]{-4294967296 4294967296}"});
    OP_RUN("DequantizeLinear", .in = {"s16[1]{-32768}", "f16[]{0.5}", "s16[]{32767}"},
           .out = {"f16[1]{-32768}"});
}

static void small_types(void **state) {
    (void)state;
    OP_RUN("QuantizeLinear", .in = {"f32[4]{-9 -3.5 6.5 9}", "f32[]{1}", "s4[]{1}"},
           .out = {"s4[4]{-8 -3 7 7}"});
    OP_RUN("QuantizeLinear", .attrs = "output_dtype=25", .in = {"f32[5]{-1 0 1 2 9}", "f32[]{1}"},
           .out = {"u2[5]{0 0 1 2 3}"});
    OP_RUN("QuantizeLinear", .attrs = "output_dtype=23",
           .in = {"f32[4]{0.4 2.4 5 100}", "f32[]{1}"}, .out = {"f4e2m1[4]{0.5 2 4 6}"});
    OP_RUN("QuantizeLinear", .attrs = "output_dtype=17", .in = {"f32[2]{900 3}", "f32[]{2}"},
           .out = {"f8e4m3fn[2]{448 1.5}"});
    OP_RUN("QuantizeLinear", .attrs = "output_dtype=17 saturate=0",
           .in = {"f32[2]{1000 3}", "f32[]{2}"}, .out = {"f8e4m3fn[2]{nan 1.5}"});
    OP_RUN("QuantizeLinear", .attrs = "output_dtype=3", .in = {"f32[2]{1 -3}", "f8e8m0[]{0.5}"},
           .out = {"s8[2]{2 -6}"});
    OP_RUN("DequantizeLinear", .in = {"u4[3]{0 8 15}", "f32[]{2}", "u4[]{8}"},
           .out = {"f32[3]{-16 0 14}"});
    OP_RUN("DequantizeLinear", .in = {"s2[4]{-2 -1 0 1}", "bf16[]{2}"},
           .out = {"bf16[4]{-4 -2 0 2}"});
    OP_RUN("DequantizeLinear", .attrs = "output_dtype=10",
           .in = {"f4e2m1[2]{6 -0.5}", "f8e8m0[]{4}"}, .out = {"f16[2]{24 -2}"});
    OP_RUN("DequantizeLinear", .in = {"f8e5m2[2]{-1.5 nan}", "f32[]{2}"},
           .out = {"f32[2]{-3 nan}"});
}

static void precision(void **state) {
    (void)state;
    /* 10004 is 10000 in f16 and 9984 in bf16, and their thirds are rounded again. */
    OP_RUN("QuantizeLinear", .in = {"f32[1]{10004}", "f32[]{3}", "s16[]{0}"},
           .out = {"s16[1]{3335}"});
    OP_RUN("QuantizeLinear", .attrs = "precision=10",
           .in = {"f32[1]{10004}", "f32[]{3}", "s16[]{0}"}, .out = {"s16[1]{3334}"});
    OP_RUN("QuantizeLinear", .attrs = "precision=16",
           .in = {"f32[1]{10004}", "f32[]{3}", "s16[]{0}"}, .out = {"s16[1]{3328}"});
    /* Without the attribute the scale's type decides. */
    OP_RUN("QuantizeLinear", .in = {"f32[1]{10004}", "bf16[]{3}", "s16[]{0}"},
           .out = {"s16[1]{3328}"});
    OP_RUN("QuantizeLinear", .attrs = "precision=7", .in = {"f32[1]{1}", "f32[]{3}"},
           .error = "precision is 7");
}

static void per_axis(void **state) {
    (void)state;
    OP_RUN("QuantizeLinear", .in = {"f32[1, 2, 2]{2 4 8 16}", "f32[2]{2 4}", "u8[2]{0 10}"},
           .out = {"u8[1, 2, 2]{1 2 12 14}"});
    OP_RUN("QuantizeLinear", .attrs = "axis=-1", .in = {"f32[2, 2]{2 4 8 16}", "f32[2]{2 4}"},
           .out = {"u8[2, 2]{1 1 4 4}"});
    OP_RUN("DequantizeLinear", .attrs = "axis=0",
           .in = {"s8[2, 2]{1 2 3 4}", "f32[2]{1 10}", "s8[2]{0 3}"},
           .out = {"f32[2, 2]{1 2 0 10}"});
    OP_RUN("DequantizeLinear", .in = {"s8[3]{1 2 3}", "f32[3]{1 10 100}"},
           .out = {"f32[3]{1 20 300}"});
    OP_RUN("DequantizeLinear", .attrs = "axis=0", .in = {"s8[3, 300]{1 ...}", "f32[3]{1 1 1}"},
           .out = {"f32[3, 300]{1 ...}"});
}

static void blocked(void **state) {
    (void)state;
    OP_RUN("QuantizeLinear", .attrs = "axis=1 block_size=2",
           .in = {"f32[2, 3]{1 2 3 4 5 6}", "f32[2, 2]{1 2 0.5 3}", "u8[2, 2]{0 1 2 3}"},
           .out = {"u8[2, 3]{1 2 3 10 12 5}"});
    OP_RUN("DequantizeLinear", .attrs = "axis=0 block_size=2",
           .in = {"s4[3, 2]{1 2 3 4 5 6}", "f32[2, 2]{1 2 10 20}"},
           .out = {"f32[3, 2]{1 4 3 8 50 120}"});
    OP_RUN("DequantizeLinear", .attrs = "axis=-2 block_size=8",
           .in = {"s8[3, 2]{1 2 3 4 5 6}", "f32[1, 2]{1 2}", "s8[1, 2]{1 2}"},
           .out = {"f32[3, 2]{0 0 2 4 4 8}"});
}

static void types(void **state) {
    (void)state;
    OP_INFER("QuantizeLinear", .in = {"f32[n]", "f32[]"}, .out = {"u8[n]"});
    OP_INFER("QuantizeLinear", .in = {"f32[n]", "f32[]", "s4[]"}, .out = {"s4[n]"});
    OP_INFER("QuantizeLinear", .attrs = "output_dtype=5", .in = {"f32[n]", "f32[]"},
             .out = {"s16[n]"});
    OP_INFER("QuantizeLinear", .attrs = "output_dtype=5", .in = {"f32[n]", "f32[]", "s8[]"},
             .error = "output_dtype is s16 but the zero point is s8");
    OP_INFER("QuantizeLinear", .attrs = "output_dtype=7", .in = {"f32[n]", "f32[]"},
             .error = "output_dtype is s64 (7)");
    OP_INFER("DequantizeLinear", .in = {"s8[n]", "bf16[]"}, .out = {"bf16[n]"});
    OP_INFER("DequantizeLinear", .attrs = "output_dtype=1", .in = {"s8[n]", "f8e8m0[]"},
             .out = {"f32[n]"});
    OP_INFER("DequantizeLinear", .in = {"s8[n]", "f8e8m0[]"}, .error = "needs output_dtype");
    OP_INFER("DequantizeLinear", .in = {"s8[n]", "f32[]", "u8[]"}, .error = "DequantizeLinear");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("QuantizeLinear", .in = {"f32", "f32[3]"}, .out = {"u8"});
    OP_INFER("QuantizeLinear", .in = {"f32[n, c]", "f32[3]"}, .out = {"u8[n, c]"});
    OP_INFER("QuantizeLinear", .in = {"f32[n, 4]", "f32[3]"},
             .error = "scales and the size of the axis differ: 3 and 4");
    OP_INFER("QuantizeLinear", .attrs = "axis=2", .in = {"f32[n, 4]", "f32[3]"},
             .error = "axis 2 is outside");
    OP_INFER("QuantizeLinear", .in = {"f32[]", "f32[3]"}, .error = "axis 1 is outside");
    OP_INFER("QuantizeLinear", .in = {"f32[n, 3]", "f32[1, 3]"}, .error = "without block_size");
    OP_INFER("QuantizeLinear", .in = {"f32[n, 3]", "f32[3]", "u8[4]"},
             .error = "dims of scale and zero point differ: 3 and 4");
    OP_INFER("QuantizeLinear", .in = {"f32[n, 3]", "f32[3]", "u8[]"}, .error = "zero point rank 0");
    OP_INFER("QuantizeLinear", .attrs = "block_size=-1", .in = {"f32[n, 3]", "f32[]"},
             .error = "block_size is -1");
    OP_INFER("QuantizeLinear", .attrs = "block_size=2", .in = {"f32[n, 5]", "f32[n, 3]"},
             .out = {"u8[n, 5]"});
    OP_INFER("QuantizeLinear", .attrs = "block_size=2", .in = {"f32[n, 5]", "f32[n, 2]"},
             .error = "blocks of the scale and of x differ: 2 and 3");
    OP_INFER("QuantizeLinear", .attrs = "block_size=2", .in = {"f32[2, 4]", "f32[3, 2]"},
             .error = "dims of scale and x differ: 3 and 2");
    OP_INFER("QuantizeLinear", .attrs = "block_size=2", .in = {"f32[2, 4]", "f32[2]"},
             .error = "scale of blocks rank 1");
}

static void microsoft(void **state) {
    (void)state;
    OP_RUN("com.microsoft.QuantizeLinear", .in = {"f16[2]{1 -300}", "f16[]{2}", "s16[]{-5}"},
           .out = {"s16[2]{-5 -155}"});
    OP_RUN("com.microsoft.QuantizeLinear", .attrs = "axis=0",
           .in = {"f32[2, 1]{1 6}", "f32[2]{1 2}"}, .out = {"u8[2, 1]{1 3}"});
    OP_RUN("com.microsoft.DequantizeLinear", .in = {"u4[2]{1 15}", "f32[]{0.5}", "u4[]{8}"},
           .out = {"f32[2]{-3.5 3.5}"});
    OP_INFER("com.microsoft.DequantizeLinear", .in = {"u16[n]", "f16[]"}, .out = {"f16[n]"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(per_tensor), cmocka_unit_test(small_types), cmocka_unit_test(precision),
        cmocka_unit_test(per_axis),   cmocka_unit_test(blocked),     cmocka_unit_test(types),
        cmocka_unit_test(shapes),     cmocka_unit_test(microsoft),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
