#include "support/op_test.h"

static void floats(void **state) {
    (void)state;
    OP_RUN("Add", .in = {"f32[2, 1]{1, 2}", "f32[2]{10, 20}"}, .out = {"f32[2, 2]{11 21 12 22}"});
    OP_RUN("Sub", .in = {"f64[]{1}", "f64[2]{0.25 inf}"}, .out = {"f64[2]{0.75 -inf}"});
    OP_RUN("Mul", .in = {"bf16[3]{1 -2 nan}", "bf16[]{0.5}"}, .out = {"bf16[3]{0.5 -1 nan}"});
    OP_RUN("Div", .in = {"f16[3]{1 -1 0}", "f16[1]{0}"}, .out = {"f16[3]{inf -inf nan}"});
    OP_RUN("Add", .in = {"f32[0, 3]{}", "f32[3]{1 2 3}"}, .out = {"f32[0, 3]{}"});
    /* The sum is rounded once: 1 + 2^-12 is a tie in f16 and goes to the even 1. */
    OP_RUN("Add", .in = {"f16[1]{1}", "f16[1]{0.000244140625}"}, .out = {"f16[1]{1}"},
           .tolerance = 1e-9);
}

static void integers_wrap(void **state) {
    (void)state;
    OP_RUN("Add", .in = {"s8[2]{127 -128}", "s8[2]{1 -1}"}, .out = {"s8[2]{-128 127}"});
    OP_RUN("Sub", .in = {"u8[2]{0 5}", "u8[2]{1 5}"}, .out = {"u8[2]{255 0}"});
    OP_RUN("Mul", .in = {"s32[1]{65536}", "s32[1]{65537}"}, .out = {"s32[1]{65536}"});
    OP_RUN("Add", .in = {"s64[1]{9223372036854775807}", "s64[1]{1}"},
           .out = {"s64[1]{-9223372036854775808}"});
    OP_RUN("Mul", .in = {"u64[1]{18446744073709551615}", "u64[1]{2}"},
           .out = {"u64[1]{18446744073709551614}"});
}

static void division(void **state) {
    (void)state;
    OP_RUN("Div", .in = {"s32[4]{7 -7 7 -7}", "s32[4]{2 2 -2 -2}"}, .out = {"s32[4]{3 -3 -3 3}"});
    OP_RUN("Div", .in = {"s64[1]{-9223372036854775808}", "s64[1]{-1}"},
           .out = {"s64[1]{-9223372036854775808}"});
    OP_RUN("Div", .in = {"u64[1]{18446744073709551615}", "u64[1]{2}"},
           .out = {"u64[1]{9223372036854775807}"});
    OP_RUN("Div", .in = {"s8[1]{1}", "s8[2]{1 0}"},
           .error = "division by zero: element 1 of the divisor");
    OP_RUN("Div", .in = {"s8[1]{1}", "s8[600]{1 1 1 ...}"}, .out = {"s8[600]{1 ...}"});
    OP_RUN("Div", .in = {"s8[0]{}", "s8[1]{0}"}, .out = {"s8[0]{}"});
}

static void modulo(void **state) {
    (void)state;
    OP_RUN("Mod", .in = {"s32[4]{7 -7 7 -7}", "s32[4]{3 3 -3 -3}"}, .out = {"s32[4]{1 2 -2 -1}"});
    OP_RUN("Mod", .attrs = "fmod=1", .in = {"s32[4]{7 -7 7 -7}", "s32[4]{3 3 -3 -3}"},
           .out = {"s32[4]{1 -1 1 -1}"});
    OP_RUN("Mod", .in = {"s64[1]{-9223372036854775808}", "s64[1]{-1}"}, .out = {"s64[1]{0}"});
    OP_RUN("Mod", .in = {"u64[1]{18446744073709551615}", "u64[1]{10}"}, .out = {"u64[1]{5}"});
    OP_RUN("Mod", .in = {"f32[6]{5.5 -5.5 5.5 inf 1 -1}", "f32[6]{2 2 -2 2 inf inf}"},
           .out = {"f32[6]{1.5 0.5 -0.5 nan 1 inf}"});
    OP_RUN("Mod", .attrs = "fmod=1", .in = {"f32[4]{5.5 -5.5 -1 1}", "f32[4]{2 2 inf 0}"},
           .out = {"f32[4]{1.5 -1.5 -1 nan}"});
    OP_RUN("Mod", .in = {"u8[1]{1}", "u8[1]{0}"}, .error = "division by zero");
    OP_INFER("Mod", .attrs = "fmod=2", .in = {"f32[1]", "f32[1]"}, .error = "fmod is 2");
}

static void prelu(void **state) {
    (void)state;
    OP_RUN("PRelu", .in = {"f32[2, 2]{-1 2 nan -4}", "f32[2]{0.5 2}"},
           .out = {"f32[2, 2]{-0.5 2 nan -8}"});
    OP_RUN("PRelu", .in = {"s32[2]{-3 3}", "s32[]{5}"}, .out = {"s32[2]{-15 3}"});
    OP_RUN("PRelu", .in = {"u64[1]{18446744073709551615}", "u64[]{5}"},
           .out = {"u64[1]{18446744073709551615}"});
    OP_INFER("PRelu", .in = {"f32[n, 3]", "f32[3]"}, .out = {"f32[n, 3]"});
    OP_INFER("PRelu", .in = {"f32", "f32[3]"}, .out = {"f32"});
    OP_INFER("PRelu", .in = {"f32[3]", "f32[1, 3]"},
             .error = "input 1 of shape [1, 3] does not broadcast to [3]");
    OP_INFER("PRelu", .in = {"f32[2, 1]", "f32[3]"},
             .error = "input 1 of shape [3] does not broadcast to [2, 1]");
    OP_INFER("PRelu", .in = {"f32[2, 4]", "f32[3]"}, .error = "does not broadcast");
}

static void logic(void **state) {
    (void)state;
    OP_RUN("And", .in = {"bool[2, 1]{0 1}", "bool[2]{0 1}"}, .out = {"bool[2, 2]{0 0 0 1}"});
    OP_RUN("Or", .in = {"bool[2, 1]{0 1}", "bool[2]{0 1}"}, .out = {"bool[2, 2]{0 1 1 1}"});
    OP_RUN("Xor", .in = {"bool[2, 1]{0 1}", "bool[2]{0 1}"}, .out = {"bool[2, 2]{0 1 1 0}"});
    OP_INFER("And", .in = {"bool[n]", "bool[1]"}, .out = {"bool[n]"});
    OP_INFER("And", .in = {"s32[1]", "s32[1]"}, .error = "And");
}

static void bits(void **state) {
    (void)state;
    OP_RUN("BitwiseAnd", .in = {"s8[3]{-1 12 -128}", "s8[1]{10}"}, .out = {"s8[3]{10 8 0}"});
    OP_RUN("BitwiseOr", .in = {"u16[2]{65280 3}", "u16[2]{255 4}"}, .out = {"u16[2]{65535 7}"});
    OP_RUN("BitwiseXor", .in = {"u64[1]{18446744073709551615}", "u64[1]{1}"},
           .out = {"u64[1]{18446744073709551614}"});
}

static void shifts(void **state) {
    (void)state;
    OP_RUN("BitShift", .attrs = "direction='LEFT'",
           .in = {"u8[4]{1 129 255 1}", "u8[4]{7 1 8 200}"}, .out = {"u8[4]{128 2 0 0}"});
    OP_RUN("BitShift", .attrs = "direction='RIGHT'", .in = {"u8[3]{128 129 255}", "u8[3]{7 1 8}"},
           .out = {"u8[3]{1 64 0}"});
    OP_RUN("BitShift", .attrs = "direction='RIGHT'",
           .in = {"s8[6]{-128 -1 -2 64 -1 64}", "s8[6]{7 3 1 6 -1 8}"},
           .out = {"s8[6]{-1 -1 -1 1 -1 0}"});
    OP_RUN("BitShift", .attrs = "direction='LEFT'", .in = {"s8[3]{64 -1 1}", "s8[3]{1 7 -1}"},
           .out = {"s8[3]{-128 -128 0}"});
    OP_RUN("BitShift", .attrs = "direction='RIGHT'",
           .in = {"u64[3]{18446744073709551615 18446744073709551615 1}",
                  "u64[3]{63 0 18446744073709551615}"},
           .out = {"u64[3]{1 18446744073709551615 0}"});
    OP_RUN("BitShift", .attrs = "direction='RIGHT'",
           .in = {"s64[3]{-9223372036854775808 -5 5}", "s64[3]{63 0 64}"},
           .out = {"s64[3]{-1 -5 0}"});
    OP_INFER("BitShift", .attrs = "direction='UP'", .in = {"u8[1]", "u8[1]"},
             .error = "LEFT RIGHT");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Add", .in = {"f32[n, 1]", "f32[3]"}, .out = {"f32[n, 3]"});
    OP_INFER("Add", .in = {"f32[n, 3]", "f32[n, 1]"}, .out = {"f32[n, 3]"});
    OP_INFER("Mul", .in = {"f32[n, 3]", "f32"}, .out = {"f32"});
    OP_INFER("Add", .in = {"f32[2]", "f32[3]"}, .error = "does not broadcast");
    OP_INFER("Add", .in = {"f32[2]", "s32[2]"}, .error = "Add");
}

static void known_contents(void **state) {
    (void)state;
    OP_INFER("Add", .in = {"s64[2]{n, 4}", "s64[]{2}"}, .out = {"s64[2]{n + 2, 6}"});
    OP_INFER("Sub", .in = {"s64[2]{n, 4}", "s64[1]{n}"}, .out = {"s64[2]{0, 4 - n}"});
    OP_INFER("Mul", .in = {"s64[2]{n, m}", "s64[2, 1]{2, m}"},
             .out = {"s64[2, 2]{2*n, 2*m, n*m, m*m}"});
    OP_INFER("Div", .in = {"s64[]{6*n}", "s64[]{2}"}, .out = {"s64[]{3*n}"});
    OP_INFER("Mod", .in = {"s64[]{6*n + 1}", "s64[]{2}"}, .out = {"s64[]{1}"});
    /* Truncation is not floor below zero, and n may be anything. */
    OP_INFER("Div", .in = {"s64[]{n - 3}", "s64[]{2}"}, .out = {"s64[]{?}"});
    OP_INFER("Div", .in = {"s64[]{6}", "s64[]{n}"}, .out = {"s64[]{?}"});
    /* What wraps, or is only known to be large, is not known. */
    OP_INFER("Add", .in = {"s8[]{100}", "s8[]{100}"}, .out = {"s8[]{?}"});
    OP_INFER("Sub", .in = {"s64[]{9223372036854775807}", "s64[]{n}"}, .out = {"s64[]{?}"});
    OP_INFER("Mul", .in = {"s64[]{4611686018427387904}", "s64[]{n}"}, .out = {"s64[]{?}"});
    OP_INFER("Add", .in = {"f32[1]{1}", "f32[1]{1}"}, .out = {"f32[1]{?}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),   cmocka_unit_test(integers_wrap),
        cmocka_unit_test(division), cmocka_unit_test(modulo),
        cmocka_unit_test(prelu),    cmocka_unit_test(logic),
        cmocka_unit_test(bits),     cmocka_unit_test(shifts),
        cmocka_unit_test(shapes),   cmocka_unit_test(known_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
