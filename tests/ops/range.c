#include "support/op_test.h"

static void integers(void **state) {
    (void)state;

    OP_RUN("Range", .in = {"s32[]{3}", "s32[]{9}", "s32[]{3}"}, .out = {"s32[2]{3 6}"});
    OP_RUN("Range", .in = {"s64[]{10}", "s64[]{4}", "s64[]{-2}"}, .out = {"s64[3]{10 8 6}"});
    OP_RUN("Range", .in = {"s16[]{3}", "s16[]{3}", "s16[]{1}"}, .out = {"s16[0]{}"});
    OP_RUN("Range", .in = {"s64[]{0}", "s64[]{-1}", "s64[1]{1}"}, .out = {"s64[0]{}"});
    OP_RUN("Range",
           .in = {"s64[]{-9223372036854775808}", "s64[]{9223372036854775807}",
                  "s64[]{9223372036854775807}"},
           .out = {"s64[3]{-9223372036854775808 -1 9223372036854775806}"});
    OP_RUN("Range",
           .in = {"s64[]{9223372036854775807}", "s64[]{-9223372036854775808}",
                  "s64[]{-9223372036854775808}"},
           .out = {"s64[2]{9223372036854775807 -1}"});
}

static void floats(void **state) {
    (void)state;

    OP_RUN("Range", .in = {"f32[]{1}", "f32[]{2}", "f32[]{0.25}"},
           .out = {"f32[4]{1 1.25 1.5 1.75}"});
    /* As f32 numbers 0.3 / 0.1 is a little more than 3. */
    OP_RUN("Range", .in = {"f32[]{0}", "f32[]{0.3}", "f32[]{0.1}"},
           .out = {"f32[4]{0 0.1 0.2 0.3}"});
    OP_RUN("Range", .in = {"f64[]{0}", "f64[]{-1}", "f64[]{-0.5}"}, .out = {"f64[2]{0 -0.5}"});
    OP_RUN("Range", .in = {"f16[]{2048}", "f16[]{2052}", "f16[]{1}"},
           .out = {"f16[4]{2048 2048 2050 2052}"}, .tolerance = 1e-9);
    OP_RUN("Range", .attrs = "stash_type=11", .in = {"bf16[]{0}", "bf16[]{3}", "bf16[]{1}"},
           .out = {"bf16[3]{0 1 2}"});
    OP_RUN("Range", .in = {"f32[]{0}", "f32[]{-inf}", "f32[]{1}"}, .out = {"f32[0]{}"});
}

/* Longer than what is computed at a time, with and without a rest. */
static void long_ones(void **state) {
    (void)state;

    OP_RUN("Range", .in = {"s32[]{3}", "s32[]{35}", "s32[]{1}"}, .out = {"s32[32]{3 ..}"});
    OP_RUN("Range", .in = {"s64[]{-7}", "s64[]{30}", "s64[]{1}"}, .out = {"s64[37]{-7 ..}"});
    OP_RUN("Range", .in = {"s16[]{-20}", "s16[]{13}", "s16[]{1}"}, .out = {"s16[33]{-20 ..}"});
    OP_RUN("Range", .in = {"s32[]{50}", "s32[]{-10}", "s32[]{-3}"},
           .out = {"s32[20]{50 47 44 41 38 35 32 29 26 23 20 17 14 11 8 5 2 -1 -4 -7}"});
    OP_RUN("Range",
           .in = {"s64[]{4611686018427387904}", "s64[]{2017612633061982208}",
                  "s64[]{-144115188075855872}"},
           .out = {"s64[18]{4611686018427387904 4467570830351532032 4323455642275676160 "
                   "4179340454199820288 4035225266123964416 3891110078048108544 "
                   "3746994889972252672 3602879701896396800 3458764513820540928 "
                   "3314649325744685056 3170534137668829184 3026418949592973312 "
                   "2882303761517117440 2738188573441261568 2594073385365405696 "
                   "2449958197289549824 2305843009213693952 2161727821137838080}"});
    OP_RUN("Range", .in = {"s16[]{-32768}", "s16[]{27232}", "s16[]{3000}"},
           .out = {"s16[20]{-32768 -29768 -26768 -23768 -20768 -17768 -14768 -11768 -8768 "
                   "-5768 -2768 232 3232 6232 9232 12232 15232 18232 21232 24232}"});
    OP_RUN("Range", .in = {"f32[]{1}", "f32[]{6.25}", "f32[]{0.25}"},
           .out = {"f32[21]{1 1.25 1.5 1.75 2 2.25 2.5 2.75 3 3.25 3.5 3.75 4 4.25 4.5 "
                   "4.75 5 5.25 5.5 5.75 6}"});
    OP_RUN("Range", .in = {"f64[]{0}", "f64[]{-9.5}", "f64[]{-0.5}"},
           .out = {"f64[19]{0 -0.5 -1 -1.5 -2 -2.5 -3 -3.5 -4 -4.5 -5 -5.5 -6 -6.5 -7 -7.5 "
                   "-8 -8.5 -9}"});
    OP_RUN("Range", .in = {"f16[]{0}", "f16[]{18}", "f16[]{1}"},
           .out = {"f16[18]{0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17}"});
}

static void inference(void **state) {
    (void)state;

    OP_INFER("Range", .in = {"s64[]{0}", "s64[]{n}", "s64[]{1}"}, .out = {"s64[n]"});
    OP_INFER("Range", .in = {"s64[]{p}", "s64[]{p + n}", "s64[]{1}"}, .out = {"s64[n]"});
    OP_INFER("Range", .in = {"s64[]{0}", "s64[]{n}", "s64[]{2}"}, .out = {"s64[floor((n + 1)/2)]"});
    OP_INFER("Range", .in = {"s64[]{n}", "s64[]{0}", "s64[]{-1}"}, .out = {"s64[n]"});
    OP_INFER("Range", .in = {"s64[]{2}", "s64[]{n}", "s64[]{1}"}, .out = {"s64[max(n - 2, 0)]"});
    OP_INFER("Range", .in = {"s64[]{n}", "s64[]{n + 3}", "s64[]{1}"},
             .out = {"s64[3]{n n + 1 n + 2}"});
    OP_INFER("Range", .in = {"s64[]{0}", "s64[]{9}", "s64[]{k}"}, .out = {"s64[?]"});
    OP_INFER("Range", .in = {"s64[]", "s64[]", "s64[]"}, .out = {"s64[?]"});
    OP_INFER("Range", .in = {"f32[]{0}", "f32[]", "f32[]{1}"}, .out = {"f32[?]"});
}

static void refuses(void **state) {
    (void)state;

    OP_RUN("Range", .in = {"s64[]{0}", "s64[]{5}", "s64[]{0}"}, .error = "delta is 0");
    OP_RUN("Range", .in = {"f32[]{0}", "f32[]{5}", "f32[]{0}"}, .error = "delta is 0");
    OP_INFER("Range", .in = {"s64[]{0}", "s64[]{n}", "s64[]{0}"}, .error = "delta is 0");
    OP_RUN("Range", .in = {"f32[]{0}", "f32[]{inf}", "f32[]{1}"},
           .error = "has no number of elements");
    OP_RUN("Range", .in = {"f32[]{0}", "f32[]{nan}", "f32[]{1}"},
           .error = "has no number of elements");
    OP_RUN("Range", .in = {"s64[]{-9223372036854775808}", "s64[]{9223372036854775807}", "s64[]{1}"},
           .error = "too many elements");
    OP_INFER("Range", .in = {"s64[2]", "s64[]", "s64[]"}, .error = "input 0 has 2 entries");
    OP_INFER("Range", .in = {"s64[]", "s64[0]", "s64[]"}, .error = "input 1 is empty");
    OP_INFER("Range", .attrs = "stash_type=10", .in = {"f16[]", "f16[]", "f16[]"},
             .error = "stash_type is 10");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),  cmocka_unit_test(floats),  cmocka_unit_test(long_ones),
        cmocka_unit_test(inference), cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
