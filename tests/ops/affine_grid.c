#include <stdio.h>

#include "support/op_test.h"

static void planes(void **state) {
    (void)state;
    OP_RUN("AffineGrid", .in = {"f64[1, 2, 3]{1 0 0.5 0 2 -1}", "s64[4]{1 7 2 3}"},
           .out = {"f64[1, 2, 3, 2]{-0.1666666667 -2 0.5 -2 1.1666666667 -2"
                   " -0.1666666667 0 0.5 0 1.1666666667 0}"});
    OP_RUN("AffineGrid", .attrs = "align_corners=1",
           .in = {"f32[1, 2, 3]{1 0 0.5 0 2 -1}", "s64[4]{1 7 2 3}"},
           .out = {"f32[1, 2, 3, 2]{-0.5 -3 0.5 -3 1.5 -3 -0.5 1 0.5 1 1.5 1}"});
    /* Each image has its own map. */
    OP_RUN("AffineGrid", .in = {"f16[2, 2, 3]{1 0 0 0 1 0 0 0 3 0 0 4}", "s64[4]{2 1 1 2}"},
           .out = {"f16[2, 1, 2, 2]{-0.5 0 0.5 0 3 4 3 4}"});
    /* A single element lies in the middle. */
    OP_RUN("AffineGrid", .attrs = "align_corners=1",
           .in = {"bf16[1, 2, 3]{1 0 0 0 1 0}", "s64[4]{1 1 1 1}"},
           .out = {"bf16[1, 1, 1, 2]{0 0}"});
    OP_RUN("AffineGrid", .in = {"f32[1, 2, 3]{1 0 0 0 1 0}", "s64[4]{1 1 0 5}"},
           .out = {"f32[1, 0, 5, 2]{}"});
}

/* Lines that are longer than the blocks they are computed in: x from -1 on in steps of 2 / 1280,
 * y as the first half of x in the second image. */
static void long_lines(void **state) {
    (void)state;
    static char text[64000];
    size_t at = (size_t)snprintf(text, sizeof text, "f32[2, 1, 1281, 2]{");
    for (int i = 0; i < 2 * 1281; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%.9g %.9g ",
                               i % 1281 / 640.0 - 1 + (i < 1281 ? 0 : 3),
                               i < 1281 ? 0.25 : (i % 1281 / 640.0 - 1) / 2);
    snprintf(text + at, sizeof text - at, "}");
    OP_RUN("AffineGrid", .attrs = "align_corners=1",
           .in = {"f32[2, 2, 3]{1 5 0 0 7 0.25 1 0 3 0.5 0 0}", "s64[4]{2 1 1 1281}"},
           .out = {text});
}

static void volumes(void **state) {
    (void)state;
    OP_RUN("AffineGrid", .attrs = "align_corners=1",
           .in = {"f32[1, 3, 4]{1 0 0 0 0 10 0 0 0 0 100 7}", "s64[5]{1 1 2 1 2}"},
           .out = {"f32[1, 2, 1, 2, 3]{-1 0 -93 1 0 -93 -1 0 107 1 0 107}"});
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("AffineGrid", .in = {"f32[n, 2, 3]", "s64[4]{n, 3, h, w}"},
             .out = {"f32[n, h, w, 2]"});
    OP_INFER("AffineGrid", .in = {"f32[n, r, k]", "s64[5]{8, 3, d, h, w}"},
             .out = {"f32[8, d, h, w, 3]"});
    OP_INFER("AffineGrid", .in = {"f32[n, 3, 4]", "s64"}, .out = {"f32[n, ?, ?, ?, 3]"});
    OP_INFER("AffineGrid", .in = {"f32", "s64[4]"}, .out = {"f32[?, ?, ?, 2]"});
    OP_INFER("AffineGrid", .in = {"f32[n, r, k]", "s64[k]"}, .out = {"f32"});
    OP_INFER("AffineGrid", .in = {"f32", "s64[3]"}, .error = "size has 3 entries");
    OP_INFER("AffineGrid", .in = {"f32[n, 4, 5]", "s64"}, .error = "axis 1 of theta has size 4");
    OP_INFER("AffineGrid", .in = {"f32[n, 2, 3]", "s64[5]"},
             .error = "theta is for 2 spatial axes, size has 3");
    OP_INFER("AffineGrid", .in = {"f32[n, 2, 4]", "s64"}, .error = "the columns of theta");
    OP_INFER("AffineGrid", .in = {"f32[2, 2, 3]", "s64[4]{3 1 1 1}"},
             .error = "the batches of theta and size differ: 2 and 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(volumes),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
