#include "support/op_test.h"

static void steps_and_clamps(void **state) {
    (void)state;

    OP_RUN("Slice", .in = {"s32[6]{0 ..}", "s64[1]{1}", "s64[1]{5}", "", "s64[1]{2}"},
           .out = {"s32[2]{1 3}"});
    OP_RUN("Slice", .in = {"s32[6]{0 ..}", "s32[1]{-2}", "s32[1]{100}"}, .out = {"s32[2]{4 5}"});
    OP_RUN("Slice", .in = {"s32[3]{0 ..}", "s64[1]{9}", "s64[1]{20}"}, .out = {"s32[0]{}"});
    OP_RUN("Slice", .in = {"s32[3]{0 ..}", "s64[1]{2}", "s64[1]{1}"}, .out = {"s32[0]{}"});
    OP_RUN("Slice",
           .in = {"s32[3]{0 ..}", "s64[1]{-9223372036854775808}", "s64[1]{9223372036854775807}"},
           .out = {"s32[3]{0 1 2}"});
    OP_RUN("Slice",
           .in = {"s32[3]{0 ..}", "s64[1]{0}", "s64[1]{3}", "", "s64[1]{9223372036854775807}"},
           .out = {"s32[1]{0}"});
    OP_RUN("Slice", .in = {"f32[]{7}", "s64[0]{}", "s64[0]{}"}, .out = {"f32[]{7}"});
    OP_RUN("Slice", .in = {"f32[0, 3]{}", "s64[1]{1}", "s64[1]{3}", "s64[1]{1}"},
           .out = {"f32[0, 2]{}"});
}

static void backwards(void **state) {
    (void)state;

    OP_RUN("Slice",
           .in = {"s32[5]{0 ..}", "s64[1]{-1}", "s64[1]{-9223372036854775808}", "", "s64[1]{-1}"},
           .out = {"s32[5]{4 3 2 1 0}"});
    OP_RUN("Slice", .in = {"s32[5]{0 ..}", "s64[1]{100}", "s64[1]{1}", "", "s64[1]{-2}"},
           .out = {"s32[2]{4 2}"});
    OP_RUN("Slice",
           .in = {"s32[5]{0 ..}", "s64[1]{3}", "s64[1]{-9}", "", "s64[1]{-9223372036854775808}"},
           .out = {"s32[1]{3}"});
    /* A start before the first element is clamped to it. */
    OP_RUN("Slice", .in = {"s32[5]{0 ..}", "s64[1]{-9}", "s64[1]{-9}", "", "s64[1]{-1}"},
           .out = {"s32[1]{0}"});
    OP_RUN("Slice", .in = {"s32[0]{}", "s64[1]{-1}", "s64[1]{-9}", "", "s64[1]{-1}"},
           .out = {"s32[0]{}"});
}

static void several_axes(void **state) {
    (void)state;

    OP_RUN("Slice", .in = {"u8[2, 3, 4]{0 ..}", "s64[2]{1 0}", "s64[2]{3 2}", "s64[2]{-1 1}"},
           .out = {"u8[2, 2, 2]{1 2 5 6 13 14 17 18}"});
    OP_RUN("Slice", .in = {"u4[2, 3]{0 ..}", "s64[1]{1}", "s64[1]{3}", "s64[1]{1}"},
           .error = "does not take");
    OP_RUN("Slice",
           .in = {"bool[4]{1 0 0 1}", "s64[1]{3}", "s64[1]{-5}", "s64[1]{0}", "s64[1]{-3}"},
           .out = {"bool[2]{1 1}"});
}

static void symbolic_sizes(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32[n, m]", "s64[1]{0}", "s64[1]{9223372036854775807}", "s64[1]{1}"},
             .out = {"f32[n, m]"});
    OP_INFER("Slice", .in = {"f32[n, m]", "s64[1]{0}", "s64[1]{2147483647}", "s64[1]{0}"},
             .out = {"f32[n, m]"});
    OP_INFER("Slice", .in = {"f32[n, m]", "s64[1]{2}", "s64[1]{9223372036854775807}", "s64[1]{1}"},
             .out = {"f32[n, max(m - 2, 0)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{5}"}, .out = {"f32[min(n, 5)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{2}", "s64[1]{5}"},
             .out = {"f32[max(min(n - 2, 3), 0)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{-1}"}, .out = {"f32[max(n - 1, 0)]"});
    OP_INFER("Slice", .in = {"f32[n + 1]", "s64[1]{0}", "s64[1]{-1}"}, .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[n + 4]", "s64[1]{-4}", "s64[1]{-1}"}, .out = {"f32[3]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-1}", "s64[1]{9223372036854775807}"},
             .out = {"f32[min(n, 1)]"});
    OP_INFER("Slice", .in = {"f32[n + 1]", "s64[1]{-1}", "s64[1]{9223372036854775807}"},
             .out = {"f32[1]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-3}", "s64[1]{4}"},
             .out = {"f32[max(min(n, 4) - max(n - 3, 0), 0)]"});
    OP_INFER("Slice",
             .in = {"f32[2*n]", "s64[1]{0}", "s64[1]{9223372036854775807}", "", "s64[1]{2}"},
             .out = {"f32[n]"});
    OP_INFER("Slice",
             .in = {"f32[2*n]", "s64[1]{1}", "s64[1]{9223372036854775807}", "", "s64[1]{2}"},
             .out = {"f32[floor((max(2*n - 1, 0) + 1)/2)]"});
    OP_INFER("Slice",
             .in = {"f32[n]", "s64[1]{-1}", "s64[1]{-9223372036854775807}", "", "s64[1]{-1}"},
             .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-2}", "s64[1]{0}", "", "s64[1]{-1}"},
             .out = {"f32[?]"});
}

static void symbolic_bounds(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32[512]", "s64[1]{0}", "s64[1]{n}"}, .out = {"f32[min(512, n)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{0}", "s64[1]{n}"}, .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[p + n]", "s64[1]{p}", "s64[1]{p + n}"}, .out = {"f32[n]"});
    OP_INFER("Slice", .in = {"f32[64]", "s64[1]{p}", "s64[1]{p + n}"},
             .out = {"f32[max(min(n, 64 - p), 0)]"});
    OP_INFER("Slice", .in = {"f32[n]", "s64[1]{-1*k - 1}", "s64[1]{9223372036854775807}"},
             .out = {"f32[min(n, k + 1)]"});
    OP_INFER("Slice", .in = {"f32[8]", "s64[1]{n - 1}", "s64[1]{8}"}, .out = {"f32[?<=8]"});
}

static void contents_not_known(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32", "s64[1]", "s64[1]"}, .out = {"f32"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64[1]", "s64[1]", "s64[1]{0}"},
             .out = {"f32[?<=4, n]"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64[1]{0}", "s64[1]{1}", "s64[1]"},
             .out = {"f32[?<=4, ?]"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64[1]{0}", "s64[1]{1}", "s64[1]{1}", "s64[1]"},
             .out = {"f32[4, ?]"});
    OP_INFER("Slice", .in = {"f32[4, n]", "s64", "s64"}, .out = {"f32[?, ?]"});
}

static void follows_contents(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"s64[3]{n 4 m}", "s64[1]{1}", "s64[1]{9223372036854775807}"},
             .out = {"s64[2]{4 m}"});
    OP_INFER("Slice",
             .in = {"s64[3]{n 4 m}", "s64[1]{-1}", "s64[1]{-9}", "s64[1]{0}", "s64[1]{-1}"},
             .out = {"s64[3]{m 4 n}"});
    OP_INFER("Slice", .in = {"s64[2, 2]{a b c d}", "s64[1]{1}", "s64[1]{2}", "s64[1]{1}"},
             .out = {"s64[2, 1]{b d}"});
    OP_INFER("Slice", .in = {"s64[3]{n 4 m}", "s64[1]{n}", "s64[1]{3}"},
             .out = {"s64[max(3 - n, 0)]{?}"});
}

static void refuses(void **state) {
    (void)state;

    OP_INFER("Slice", .in = {"f32[4]", "s64[1]{0}", "s64[1]{1}", "s64[1]{1}"},
             .error = "axis 1 is outside [-1, 1)");
    OP_INFER("Slice", .in = {"f32[4]", "s64[1]{0}", "s64[1]{1}", "s64[1]{0}", "s64[1]{0}"},
             .error = "step 0 is 0");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[2]{1 1}", "s64[2]{0 -2}"},
             .error = "axis 0 is listed twice");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[1]{1}"},
             .error = "2 starts are listed for 1 ends");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[2]{1 1}", "s64[1]{0}"},
             .error = "1 axes are listed for 2 starts");
    OP_INFER("Slice", .in = {"f32[4, 4]", "s64[2]{0 0}", "s64[2]{1 1}", "", "s64[1]{1}"},
             .error = "1 steps are listed for 2 starts");
    OP_INFER("Slice", .in = {"f32[4]", "s64[2]{0 0}", "s64[2]{1 1}"},
             .error = "input 1 has 2 entries, expected at most 1");
    OP_INFER("Slice", .in = {"f32[4]", "s64[1, 1]", "s64[1]{1}"},
             .error = "input 1 has rank 2, expected 0 to 1");
    OP_RUN("Slice", .in = {"string[0]{}", "s64[1]{0}", "s64[1]{1}"}, .error = "strings");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_clamps), cmocka_unit_test(backwards),
        cmocka_unit_test(several_axes),     cmocka_unit_test(symbolic_sizes),
        cmocka_unit_test(symbolic_bounds),  cmocka_unit_test(contents_not_known),
        cmocka_unit_test(follows_contents), cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
