#include "support/op_test.h"

/* 0 and 1 share 9/11 of what they cover, 2 is elsewhere. */
#define BOXES "f32[1, 3, 4]{0 0 1 1 0 0.1 1 1.1 0 10 1 11}"

static void selects(void **state) {
    (void)state;
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{0.9 0.75 0.6}", "s64[1]{3}", "f32[1]{0.5}"},
           .out = {"s64[2, 3]{0 0 0 0 0 2}"});
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{0.9 0.75 0.6}", "s64[]{3}", "f32[]{0.9}"},
           .out = {"s64[3, 3]{0 0 0 0 0 1 0 0 2}"});
    OP_RUN("NonMaxSuppression", .in = {BOXES, "f32[1, 2, 3]{0.1 0.2 0.3 0.6 0.5 0.4}", "s64[1]{1}"},
           .out = {"s64[2, 3]{0 0 2 0 1 0}"});
    /* Only what is above the score; equal scores in the order of the boxes; NaN last. */
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{0.9 0.5 nan}", "s64[1]{3}", "f32[1]{1}", "f32[1]{0.5}"},
           .out = {"s64[1, 3]{0 0 0}"});
    OP_RUN("NonMaxSuppression",
           .in = {BOXES, "f32[1, 1, 3]{nan 0 -0.0}", "s64[1]{9223372036854775807}", "f32[1]{1}"},
           .out = {"s64[3, 3]{0 0 1 0 0 2 0 0 0}"});
    /* Corners in any order; an overlap equal to the threshold stays. */
    OP_RUN("NonMaxSuppression",
           .in = {"f32[1, 2, 4]{2 1 0 0 2 0 1 1}", "f32[1, 1, 2]{1 1}", "s64[1]{2}", "f32[1]{0.5}"},
           .out = {"s64[2, 3]{0 0 0 0 0 1}"});
    OP_RUN(
        "NonMaxSuppression", .attrs = "center_point_box=1",
        .in = {"f32[1, 2, 4]{0 0 4 2 1 0 2 2}", "f32[1, 1, 2]{1 2}", "s64[1]{2}", "f32[1]{0.4999}"},
        .out = {"s64[1, 3]{0 0 1}"});
}

static void nothing(void **state) {
    (void)state;
    OP_RUN("NonMaxSuppression", .in = {BOXES, "f32[1, 1, 3]{1 2 3}"}, .out = {"s64[0, 3]{}"});
    OP_RUN("NonMaxSuppression", .in = {BOXES, "f32[1, 1, 3]{1 2 3}", "s64[1]{-4}"},
           .out = {"s64[0, 3]{}"});
    OP_RUN("NonMaxSuppression", .in = {"f32[2, 0, 4]{}", "f32[2, 1, 0]{}", "s64[1]{5}"},
           .out = {"s64[0, 3]{}"});
    /* Boxes without area cover nothing. */
    OP_RUN("NonMaxSuppression",
           .in = {"f32[1, 2, 4]{0 0 0 1 0 0 0 1}", "f32[1, 1, 2]{1 1}", "s64[1]{5}"},
           .out = {"s64[2, 3]{0 0 0 0 0 1}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("NonMaxSuppression", .in = {"f32[n, k, 4]", "f32[n, c, k]", "s64[1]"},
             .out = {"s64[?, 3]"});
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32", "s64"}, .out = {"s64[?, 3]"});
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32"}, .out = {"s64[0, 3]"});
    OP_INFER("NonMaxSuppression", .in = {"f32[n, k, 5]", "f32"}, .error = "differ: 5 and 4");
    OP_INFER("NonMaxSuppression", .in = {"f32[2, 6, 4]", "f32[3, c, 6]"},
             .error = "the batches of boxes and scores differ: 2 and 3");
    OP_INFER("NonMaxSuppression", .in = {"f32[2, 6, 4]", "f32[2, c, 7]"},
             .error = "the boxes and their scores differ: 6 and 7");
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32", "s64[2]"}, .error = "input 2 has 2 entries");
    OP_INFER("NonMaxSuppression", .in = {"f32", "f32", "", "f32[0]"}, .error = "input 3 is empty");
    OP_INFER("NonMaxSuppression", .attrs = "center_point_box=2", .in = {"f32", "f32"},
             .error = "center_point_box is 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects),
        cmocka_unit_test(nothing),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
