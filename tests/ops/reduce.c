#include "support/op_test.h"

#define DATA "f32[2, 3, 2]{1 2 3 4 5 6 7 8 9 10 11 12}"

static void axes(void **state) {
    (void)state;
    OP_RUN("ReduceSum", .in = {DATA}, .out = {"f32[1, 1, 1]{78}"});
    OP_RUN("ReduceSum", .attrs = "keepdims=0", .in = {DATA}, .out = {"f32[]{78}"});
    OP_RUN("ReduceSum", .in = {DATA, "s64[1]{0}"}, .out = {"f32[1, 3, 2]{8 10 12 14 16 18}"});
    OP_RUN("ReduceSum", .in = {DATA, "s64[1]{-2}"}, .out = {"f32[2, 1, 2]{9 12 27 30}"});
    OP_RUN("ReduceSum", .attrs = "keepdims=0", .in = {DATA, "s64[1]{2}"},
           .out = {"f32[2, 3]{3 7 11 15 19 23}"});
    OP_RUN("ReduceSum", .attrs = "keepdims=0", .in = {DATA, "s64[2]{-1 0}"},
           .out = {"f32[3]{18 26 34}"});
    OP_RUN("ReduceSum", .attrs = "keepdims=0", .in = {DATA, "s64[2]{1 2}"},
           .out = {"f32[2]{21 57}"});
    OP_RUN("ReduceSum", .attrs = "keepdims=0", .in = {"f32[2, 2, 2, 2, 2]{0 ..}", "s64[2]{1 3}"},
           .out = {"f32[2, 2, 2]{20 24 36 40 84 88 100 104}"});
    OP_RUN("ReduceSum", .in = {"f32[]{3}"}, .out = {"f32[]{3}"});
    OP_RUN("ReduceSum", .in = {DATA, "s64[0]{}"}, .out = {"f32[1, 1, 1]{78}"});
    /* Longer than a block both ways. */
    OP_RUN("ReduceSum", .in = {"f32[1200]{1 ...}"}, .out = {"f32[1]{1200}"});
    OP_RUN("ReduceMax", .attrs = "keepdims=0", .in = {"f32[3, 1200]{-5 ..}", "s64[1]{0}"},
           .out = {"f32[1200]{2395 ..}"});
}

/* Without axes nothing is reduced, but the rest of the formula still holds. */
static void no_axes(void **state) {
    (void)state;
#define NOOP(op, in_, out_) \
    OP_RUN(op, .attrs = "noop_with_empty_axes=1", .in = {in_, "s64[0]{}"}, .out = {out_})
    NOOP("ReduceSum", "f32[2]{-3 4}", "f32[2]{-3 4}");
    NOOP("ReduceSumSquare", "f32[2]{-3 4}", "f32[2]{9 16}");
    NOOP("ReduceL1", "f32[2]{-3 4}", "f32[2]{3 4}");
    NOOP("ReduceL2", "s32[2]{-3 4}", "s32[2]{3 4}");
    NOOP("ReduceLogSumExp", "f32[2]{-3 4}", "f32[2]{-3 4}");
    NOOP("ReduceLogSum", "f32[2]{1 0}", "f32[2]{0 -inf}");
    OP_RUN("ReduceProd", .attrs = "noop_with_empty_axes=1", .in = {"f32[]{2}"},
           .out = {"f32[]{2}"});
}

static void formulas(void **state) {
    (void)state;
    OP_RUN("ReduceL1", .in = {"f64[3]{-1 2 -3}"}, .out = {"f64[1]{6}"});
    OP_RUN("ReduceL2", .in = {"f32[2]{3 -4}"}, .out = {"f32[1]{5}"});
    OP_RUN("ReduceLogSum", .in = {"f32[2]{1 2}"}, .out = {"f32[1]{1.0986122887}"});
    OP_RUN("ReduceMean", .in = {"bf16[4]{1 2 3 5}"}, .out = {"bf16[1]{2.75}"});
    OP_RUN("ReduceProd", .in = {"f16[3]{2 -3 0.5}"}, .out = {"f16[1]{-3}"});
    OP_RUN("ReduceMin", .in = {"f32[3]{2 -3 0.5}"}, .out = {"f32[1]{-3}"});
    /* The sum of squares passes what f16 holds, its root does not. */
    OP_RUN("ReduceL2", .in = {"f16[2]{3000 4000}"}, .out = {"f16[1]{5000}"});
    OP_RUN("ReduceLogSumExp", .in = {"f32[2, 2]{1000 1000 -1000 -1000}", "s64[1]{1}"},
           .out = {"f32[2, 1]{1000.6931 -999.30685}"});
    OP_RUN("ReduceLogSumExp", .in = {"f32[2, 4]{-inf 0 -inf inf  -inf 0 1 nan}", "s64[1]{0}"},
           .out = {"f32[1, 4]{-inf 0.6931472 1 nan}"});
    OP_RUN("ReduceLogSumExp", .in = {"f32[2]{inf -inf}"}, .out = {"f32[1]{inf}"});
    OP_RUN("ReduceMax", .in = {"f32[2, 2]{1 nan nan 2}", "s64[1]{1}"},
           .out = {"f32[2, 1]{nan nan}"});
    OP_RUN("ReduceMin", .in = {"f32[3]{inf nan -inf}"}, .out = {"f32[1]{nan}"});
}

static void integers(void **state) {
    (void)state;
    OP_RUN("ReduceSum", .in = {"s32[2]{2147483647 1}"}, .out = {"s32[1]{-2147483648}"});
    OP_RUN("ReduceProd", .in = {"u32[2]{65536 65537}"}, .out = {"u32[1]{65536}"});
    OP_RUN("ReduceSumSquare", .in = {"s32[2]{-65536 3}"}, .out = {"s32[1]{9}"});
    OP_RUN("ReduceL1", .in = {"s64[2]{-9223372036854775808 -5}"},
           .out = {"s64[1]{-9223372036854775803}"});
    /* The mean is that of the true sum, rounded toward zero; so is the norm. */
    OP_RUN("ReduceMean", .in = {"s64[2]{9223372036854775807 9223372036854775805}"},
           .out = {"s64[1]{9223372036854775806}"});
    OP_RUN("ReduceMean", .in = {"s32[2]{-3 -4}"}, .out = {"s32[1]{-3}"});
    OP_RUN("ReduceMean", .in = {"u64[2]{18446744073709551615 18446744073709551613}"},
           .out = {"u64[1]{18446744073709551614}"});
    OP_RUN("ReduceL2", .in = {"s32[2]{-60000 80000}"}, .out = {"s32[1]{100000}"});
    OP_RUN("ReduceL2", .in = {"u64[1]{18446744073709551615}"},
           .out = {"u64[1]{18446744073709551615}"});
    OP_RUN("ReduceL2", .in = {"u64[4]{18446744073709551615 ...}"},
           .out = {"u64[1]{18446744073709551615}"});
    OP_RUN("ReduceL2", .in = {"s64[2]{2 -2}"}, .out = {"s64[1]{2}"});
    OP_RUN("ReduceMax", .in = {"u64[2]{18446744073709551615 1}"},
           .out = {"u64[1]{18446744073709551615}"});
    OP_RUN("ReduceMin", .in = {"s8[3]{-128 127 0}"}, .out = {"s8[1]{-128}"});
    OP_RUN("ReduceMax", .in = {"u8[2, 2]{200 3 100 4}", "s64[1]{0}"}, .out = {"u8[1, 2]{200 4}"});
    OP_RUN("ReduceMax", .in = {"bool[2, 2]{0 1 0 0}", "s64[1]{1}"}, .out = {"bool[2, 1]{1 0}"});
    OP_RUN("ReduceMin", .in = {"bool[2, 2]{1 1 0 1}", "s64[1]{1}"}, .out = {"bool[2, 1]{1 0}"});
    OP_RUN("ReduceLogSum", .in = {"s32[1]{1}"}, .error = "type s32");
}

static void empty_sets(void **state) {
    (void)state;
#define EMPTY(op, type, value) \
    OP_RUN(op, .in = {type "[2, 0]{}", "s64[1]{1}"}, .out = {type "[2, 1]{" value " ...}"})
    EMPTY("ReduceSum", "f32", "0");
    EMPTY("ReduceSumSquare", "s32", "0");
    EMPTY("ReduceL1", "f32", "0");
    EMPTY("ReduceL2", "f16", "0");
    EMPTY("ReduceProd", "s64", "1");
    EMPTY("ReduceProd", "f32", "1");
    EMPTY("ReduceLogSum", "f32", "-inf");
    EMPTY("ReduceLogSumExp", "f32", "-inf");
    EMPTY("ReduceMean", "f32", "nan");
    EMPTY("ReduceMax", "f32", "-inf");
    EMPTY("ReduceMin", "f32", "inf");
    EMPTY("ReduceMax", "s8", "-128");
    EMPTY("ReduceMin", "u64", "18446744073709551615");
    EMPTY("ReduceMax", "bool", "0");
    EMPTY("ReduceMin", "bool", "1");
    OP_RUN("ReduceSum", .in = {"f32[2, 0, 3]{}", "s64[1]{1}"}, .out = {"f32[2, 1, 3]{0 ...}"});
    OP_RUN("ReduceSum", .in = {"f32[2, 0, 3]{}", "s64[1]{0}"}, .out = {"f32[1, 0, 3]{}"});
    OP_RUN("ReduceMean", .in = {"s32[0, 2]{}", "s64[1]{1}"}, .out = {"s32[0, 1]{}"});
    OP_RUN("ReduceMean", .in = {"s32[0]{}"}, .error = "no integers to take the mean of");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("ReduceSum", .in = {"f32[n, 3, m]", "s64[1]{1}"}, .out = {"f32[n, 1, m]"});
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"f32[n, 3, m]", "s64[2]{-1 0}"},
             .out = {"f32[3]"});
    OP_INFER("ReduceSum", .attrs = "noop_with_empty_axes=1", .in = {"f32[n, m]"},
             .out = {"f32[n, m]"});
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"f32"}, .out = {"f32[]"});
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"f32", "s64[0]"}, .out = {"f32[]"});
    OP_INFER("ReduceSum", .in = {"f32"}, .out = {"f32"});
    OP_INFER("ReduceSum", .in = {"f32", "s64[1]{0}"}, .out = {"f32"});
    /* Axes not known: one may be reduced or not, but how many there are may be known. */
    OP_INFER("ReduceSum", .in = {"f32[2, 3]", "s64[1]"}, .out = {"f32[?, ?]"});
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"f32[2, 3, 4]", "s64[1]"},
             .out = {"f32[?, ?]"});
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"f32[2, 3, 4]", "s64[k]"}, .out = {"f32"});
    OP_INFER("ReduceSum", .in = {"f32[2]", "s64[1]{1}"}, .error = "axis 1 is outside [-1, 1)");
    OP_INFER("ReduceSum", .in = {"f32[2, 3]", "s64[2]{1 -1}"}, .error = "listed twice");
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"f32[2]", "s64[2]"},
             .error = "2 entries, expected at most 1");
    OP_INFER("ReduceSum", .in = {"f32[2]", "s64[1, 1]{0}"}, .error = "rank 2");
}

static void known_contents(void **state) {
    (void)state;
    OP_INFER("ReduceProd", .attrs = "keepdims=0", .in = {"s64[3]{n, 3, m}"},
             .out = {"s64[]{3*n*m}"});
    OP_INFER("ReduceSum", .in = {"s64[2, 2]{n, 1, m, 2}", "s64[1]{0}"},
             .out = {"s64[1, 2]{n + m, 3}"});
    OP_INFER("ReduceSum", .attrs = "keepdims=0", .in = {"s32[2, 2]{n, 1, m, 2}", "s64[1]{1}"},
             .out = {"s32[2]{n + 1, m + 2}"});
    OP_INFER("ReduceMax", .in = {"s64[2]{n + 1, n}"}, .out = {"s64[1]{n + 1}"});
    OP_INFER("ReduceMin", .in = {"s64[2]{n + 1, n}"}, .out = {"s64[1]{n}"});
    OP_INFER("ReduceL1", .in = {"s64[2]{n, 2}"}, .out = {"s64[1]{?}"});
    OP_INFER("ReduceSum", .in = {"s32[2]{2147483647, 1}"}, .out = {"s32[1]{?}"});
    OP_INFER("ReduceProd", .in = {"s64[3]{n, 4294967296, 4294967296}"}, .out = {"s64[1]{?}"});
    OP_INFER("ReduceMax", .in = {"u64[1]{18446744073709551615}"}, .out = {"u64[1]{?}"});
    OP_INFER("ReduceProd", .in = {"s64[0]{}"}, .out = {"s64[1]{?}"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes),           cmocka_unit_test(no_axes),    cmocka_unit_test(formulas),
        cmocka_unit_test(integers),       cmocka_unit_test(empty_sets), cmocka_unit_test(shapes),
        cmocka_unit_test(known_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
