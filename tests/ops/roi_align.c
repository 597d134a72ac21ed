#include "support/op_test.h"

#define IMAGE "f32[1, 1, 4, 4]{1 ..}"
/* Inside; reaching out on two sides; upside down. */
#define REGIONS "f32[3, 4]{0 0 3 3 -2 1 2 9 2 2 1 1}", "s64[3]{0 0 0}"
#define SIZE "output_height=2 output_width=1"

static void averages(void **state) {
    (void)state;
    OP_RUN("RoiAlign", .attrs = SIZE, .in = {IMAGE, REGIONS},
           .out = {"f32[3, 1, 2, 1]{3.25 9 7.75 0 0 0}"});
    OP_RUN("RoiAlign", .attrs = SIZE " sampling_ratio=2", .in = {IMAGE, REGIONS},
           .out = {"f32[3, 1, 2, 1]{3.25 9 5.25 0 7 5}"});
    OP_RUN("RoiAlign", .attrs = SIZE " coordinate_transformation_mode='output_half_pixel'",
           .in = {IMAGE, REGIONS}, .out = {"f32[3, 1, 2, 1]{5.5 11.5 6.1875 0 12.5 14.5}"});
    /* Images and channels each have their plane. */
    OP_RUN("RoiAlign", .attrs = "sampling_ratio=1 spatial_scale=0.5",
           .in = {"f64[2, 2, 1, 1]{1 2 3 4}", "f64[2, 4]{0 0 2 2 0 0 2 2}", "s64[2]{1 0}"},
           .out = {"f64[2, 2, 1, 1]{3 4 1 2}"});
    /* Of a region far larger than the image only the points inside are visited: -1, 0 and 1. */
    OP_RUN(
        "RoiAlign",
        .in = {"f32[1, 1, 1, 1]{1073741824}", "f32[1, 4]{-536870912 0 536870912 1}", "s64[1]{0}"},
        .out = {"f32[1, 1, 1, 1]{3}"});
    /* A region without extent: all points are one. */
    OP_RUN("RoiAlign", .attrs = "sampling_ratio=3",
           .in = {"f16[1, 1, 2, 2]{1 2 3 4}", "f16[1, 4]{1 1 1 1}", "s64[1]{0}"},
           .out = {"f16[1, 1, 1, 1]{2.5}"});
    OP_RUN("RoiAlign", .in = {"f32[1, 3, 2, 2]{0 ..}", "f32[0, 4]{}", "s64[0]{}"},
           .out = {"f32[0, 3, 1, 1]{}"});
}

static void maxima(void **state) {
    (void)state;
    OP_RUN("RoiAlign", .attrs = SIZE " mode='max'", .in = {IMAGE, REGIONS},
           .out = {"f32[3, 1, 2, 1]{4.375 9.625 14 0 0 0}"});
    /* Points outside count as 0, so it is the largest where all others are negative. */
    OP_RUN("RoiAlign", .attrs = "mode='max' sampling_ratio=2",
           .in = {"f32[1, 1, 1, 1]{-8}", "f32[2, 4]{0.5 0.5 0.5 0.5 -8 0.5 1 0.5}", "s64[2]{0 0}"},
           .out = {"f32[2, 1, 1, 1]{0 0}"});
}

static void errors(void **state) {
    (void)state;
    OP_RUN("RoiAlign", .in = {IMAGE, "f32[1, 4]{0 0 1 1}", "s64[1]{1}"},
           .error = "batch index 1 of region 0 is outside [0, 1)");
    OP_RUN("RoiAlign", .in = {IMAGE, "f32[1, 4]{0 0 1 nan}", "s64[1]{0}"},
           .error = "coordinate 3 of region 0 is nan");
    OP_RUN("RoiAlign", .in = {IMAGE, "f32[1, 4]{0 1e20 1 1}", "s64[1]{0}"},
           .error = "coordinate 1 of region 0 is 1e+20");
    OP_RUN("RoiAlign", .in = {"f32[1, 1, 0, 2]{}", "f32[1, 4]{0 0 1 1}", "s64[1]{0}"},
           .error = "X is empty");
    OP_INFER("RoiAlign", .attrs = "output_height=0", .in = {"f32", "f32", "s64"},
             .error = "the output is 0 x 1");
    OP_INFER("RoiAlign", .attrs = "sampling_ratio=5000", .in = {"f32", "f32", "s64"},
             .error = "sampling_ratio is 5000, expected 0 to 4096");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("RoiAlign", .attrs = "output_height=7 output_width=5",
             .in = {"f32[n, c, h, w]", "f32[k, 4]", "s64[k]"}, .out = {"f32[k, c, 7, 5]"});
    OP_INFER("RoiAlign", .in = {"f32", "f32", "s64"}, .out = {"f32[?, ?, 1, 1]"});
    OP_INFER("RoiAlign", .in = {"f32", "f32", "s64[k]"}, .out = {"f32[k, ?, 1, 1]"});
    OP_INFER("RoiAlign", .in = {"f32", "f32[k, 5]", "s64"}, .error = "the coordinates per region");
    OP_INFER("RoiAlign", .in = {"f32", "f32[3, 4]", "s64[2]"},
             .error = "the regions and the batch indices differ: 3 and 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages),
        cmocka_unit_test(maxima),
        cmocka_unit_test(errors),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
