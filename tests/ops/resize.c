#include "support/op_test.h"

static void nearest(void **state) {
    (void)state;
    OP_RUN("Resize", .in = {"f32[5]{0 ..}", "", "", "s64[1]{2}"}, .out = {"f32[2]{1 3}"});
    OP_RUN("Resize", .attrs = "nearest_mode='floor'", .in = {"f32[5]{0 ..}", "", "", "s64[1]{10}"},
           .out = {"f32[10]{0 0 0 1 1 2 2 3 3 4}"});
    OP_RUN("Resize", .attrs = "nearest_mode='ceil'", .in = {"f32[5]{0 ..}", "", "", "s64[1]{10}"},
           .out = {"f32[10]{0 1 1 2 2 3 3 4 4 4}"});
    /* Every second position is a tie. */
    OP_RUN("Resize", .attrs = "coordinate_transformation_mode='asymmetric'",
           .in = {"f32[5]{0 ..}", "", "", "s64[1]{10}"}, .out = {"f32[10]{0 0 1 1 2 2 3 3 4 4}"});
    OP_RUN("Resize",
           .attrs = "coordinate_transformation_mode='asymmetric' nearest_mode='round_prefer_ceil'",
           .in = {"f32[5]{0 ..}", "", "", "s64[1]{10}"}, .out = {"f32[10]{0 1 1 2 2 3 3 4 4 4}"});
    /* Elements move: nothing is rounded on the way. */
    OP_RUN("Resize",
           .in = {"s64[1, 2]{4611686018427387905 -9223372036854775808}", "", "f32[2]{2 1}"},
           .out = {"s64[2, 2]{4611686018427387905 -9223372036854775808"
                   " 4611686018427387905 -9223372036854775808}"});
    OP_RUN("Resize", .in = {"bool[2]{1 0}", "f32[0]{}", "f32[1]{2}"}, .out = {"bool[4]{1 1 0 0}"});
    OP_RUN("Resize",
           .attrs = "coordinate_transformation_mode='tf_crop_and_resize' extrapolation_value=-7.0",
           .in = {"s8[2, 2]{1 2 3 4}", "f32[4]{0 0.5 1 1.5}", "", "s64[2]{2 3}"},
           .out = {"s8[2, 3]{1 2 -7 3 4 -7}"});
    /* Output 5 lies exactly at 29; by a rounded scale it would fall short of it. */
    OP_RUN("Resize", .attrs = "coordinate_transformation_mode='asymmetric' nearest_mode='floor'",
           .in = {"s32[58]{0 ..}", "", "", "s64[1]{10}"},
           .out = {"s32[10]{0 5 11 17 23 29 34 40 46 52}"});
}

static void linear(void **state) {
    (void)state;
    OP_RUN("Resize", .attrs = "mode='linear'", .in = {"f32[4]{1 2 4 8}", "", "f32[1]{1.7}"},
           .out = {"f32[6]{1 1.38235295 1.97058821 3.11764693 4.5882349 6.94117594}"});
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='half_pixel_symmetric'",
           .in = {"f32[4]{1 2 4 8}", "", "f32[1]{1.7}"},
           .out = {"f32[6]{1.02941179 1.61764705 2.41176462 3.58823538 5.52941179 7.88235283}"});
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='align_corners'",
           .in = {"f32[4]{1 2 4 8}", "", "f32[1]{1.7}"},
           .out = {"f32[6]{1 1.51724136 2.06896544 3.10344815 4.27586174 6.34482718}"});
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='asymmetric'",
           .in = {"f64[4]{1 2 4 8}", "", "f32[1]{2}"}, .out = {"f64[8]{1 1.5 2 3 4 6 8 8}"});
    /* One element of output: the first of the input, or its middle. */
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='pytorch_half_pixel'",
           .in = {"f32[4]{1 2 4 8}", "", "", "s64[1]{1}"}, .out = {"f32[1]{1}"});
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='align_corners'",
           .in = {"f32[4]{1 2 4 8}", "", "", "s64[1]{1}"}, .out = {"f32[1]{1}"});
    OP_RUN("Resize", .attrs = "mode='linear'", .in = {"f32[4]{1 2 4 8}", "", "", "s64[1]{1}"},
           .out = {"f32[1]{3}"});
    OP_RUN("Resize", .attrs = "mode='linear'",
           .in = {"f16[2, 2, 2]{0 ..}", "", "", "s64[3]{3 1 4}"},
           .out = {"f16[3, 1, 4]{1 1.25 1.75 2 3 3.25 3.75 4 5 5.25 5.75 6}"});
    /* Integers: ties to even. An infinity of weight 0 stays out of the sum. */
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='asymmetric'",
           .in = {"s32[3]{0 1 2}", "", "", "s64[1]{6}"}, .out = {"s32[6]{0 0 1 2 2 2}"});
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='asymmetric'",
           .in = {"f32[2]{1 inf}", "", "", "s64[1]{4}"}, .out = {"f32[4]{1 inf inf inf}"});
}

static void cubic(void **state) {
    (void)state;
    OP_RUN("Resize", .attrs = "mode='cubic'", .in = {"f32[4]{1 2 4 8}", "", "f32[1]{2}"},
           .out = {"f32[8]{0.89453125 1.15625 1.5625 2.41796875 3.16015625 5.1171875 7.1640625"
                   " 8.421875}"});
    OP_RUN("Resize", .attrs = "mode='cubic' exclude_outside=1 cubic_coeff_a=-0.5",
           .in = {"f32[4]{1 2 4 8}", "", "f32[1]{2}"},
           .out = {"f32[8]{0.91176468 1.14598536 1.6412214 2.3828125 3.3359375 5.02290058"
                   " 7.28467131 8.35294151}"});
    /* What overshoots saturates. */
    OP_RUN("Resize", .attrs = "mode='cubic'", .in = {"u8[4]{0 255 3 6}", "", "", "s64[1]{7}"},
           .out = {"u8[7]{0 102 252 153 0 0 6}"});
    OP_RUN("Resize", .attrs = "mode='cubic'", .in = {"s8[4]{-128 127 -128 5}", "", "", "s64[1]{7}"},
           .out = {"s8[7]{-128 -25 124 11 -128 -56 18}"});
}

static void antialias(void **state) {
    (void)state;
    OP_RUN("Resize", .attrs = "mode='linear' antialias=1",
           .in = {"f32[4]{1 2 4 8}", "", "f32[1]{0.5}"}, .out = {"f32[2]{1.75 5.75}"});
    OP_RUN("Resize", .attrs = "mode='linear' antialias=1 exclude_outside=1",
           .in = {"f32[4]{1 2 4 8}", "", "f32[1]{0.5}"}, .out = {"f32[2]{1.85714281 5.42857122}"});
    OP_RUN("Resize", .attrs = "mode='cubic' antialias=1",
           .in = {"f32[4]{1 2 4 8}", "", "f32[1]{0.5}"}, .out = {"f32[2]{1.33984375 5.94921875}"});
    /* Growing needs none. */
    OP_RUN("Resize", .attrs = "mode='linear' antialias=1", .in = {"f32[2]{1 2}", "", "f32[1]{2}"},
           .out = {"f32[4]{1 1.25 1.75 2}"});
}

static void crop(void **state) {
    (void)state;
    OP_RUN("Resize",
           .attrs =
               "mode='linear' coordinate_transformation_mode='tf_crop_and_resize'"
               " extrapolation_value=9.0",
           .in = {"f32[4]{1 2 4 8}", "f32[2]{-0.1 1.2}", "", "s64[1]{5}"},
           .out = {"f32[5]{9 1.675 3.3 6.5 9}"});
    OP_RUN("Resize", .attrs = "mode='linear' coordinate_transformation_mode='tf_crop_and_resize'",
           .in = {"f32[4]{1 2 4 8}", "f64[2]{0.2 0.6}", "", "s64[1]{1}"}, .out = {"f32[1]{2.4}"});
    /* The same size, but another part; the axis without roi stays as it is. */
    OP_RUN("Resize",
           .attrs = "mode='linear' coordinate_transformation_mode='tf_crop_and_resize' axes=[-1]",
           .in = {"f32[2, 3]{0 2 4 10 12 14}", "f32[2]{0 0.5}", "", "s64[1]{3}"},
           .out = {"f32[2, 3]{0 1 2 10 11 12}"});
    OP_RUN("Resize",
           .attrs =
               "mode='cubic' coordinate_transformation_mode='tf_crop_and_resize'"
               " extrapolation_value=5.0",
           .in = {"f32[2]{1 2}", "f32[2]{nan inf}", "", "s64[1]{2}"}, .out = {"f32[2]{5 5}"});
    OP_INFER("Resize", .attrs = "coordinate_transformation_mode='tf_crop_and_resize'",
             .in = {"f32[4]", "f32[0]{}", "", "s64[1]{1}"}, .error = "needs a roi");
    OP_INFER("Resize", .attrs = "coordinate_transformation_mode='tf_crop_and_resize'",
             .in = {"f32[4, 4]", "f32[2]", "", "s64[2]"}, .error = "roi has 2 entries, expected 4");
}

static void aspect(void **state) {
    (void)state;
    OP_RUN("Resize", .attrs = "keep_aspect_ratio_policy='not_larger'",
           .in = {"f32[2, 4]{0 ..}", "", "", "s64[2]{7 8}"},
           .out = {"f32[4, 8]{0 0 1 1 2 2 3 3 0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 4 4 5 5 6 6 7 7}"});
    /* 4 * 3/2 and 1.5 rounded half up. */
    OP_RUN("Resize", .attrs = "keep_aspect_ratio_policy='not_smaller' mode='linear'",
           .in = {"f64[1, 4]{0 1 2 3}", "", "", "s64[2]{1 6}"},
           .out = {"f64[2, 6]{0 0.5 1.1666666667 1.8333333333 2.5 3 0 0.5 1.1666666667 1.8333333333"
                   " 2.5 3}"});
    OP_INFER(
        "Resize", .attrs = "keep_aspect_ratio_policy='not_larger' axes=[1, 2]",
        .in = {"f32[n, h, w]", "", "", "s64[2]{100, 200}"},
        .out = {"f32[n, min(floor((400*h + w)/(2*w)), 100), min(floor((200*w + h)/(2*h)), 200)]"});
    OP_INFER("Resize", .attrs = "keep_aspect_ratio_policy='not_smaller' axes=[1]",
             .in = {"f32[n, h]", "", "", "s64[1]{2*h + 1}"}, .out = {"f32[n, 2*h + 1]"});
    OP_INFER("Resize", .attrs = "keep_aspect_ratio_policy='not_larger'",
             .in = {"f32[2, 0]", "", "", "s64[2]{4 4}"}, .error = "axis 1 of the input is empty");
}

static void shapes(void **state) {
    (void)state;
    OP_INFER("Resize", .in = {"f32[n, 3, h, w]", "", "", "s64[4]{n, 3, 2*h, w + 1}"},
             .out = {"f32[n, 3, 2*h, w + 1]"});
    OP_INFER("Resize", .attrs = "axes=[3, -2]", .in = {"f32[n, 3, h, w]", "", "", "s64[2]{a, b}"},
             .out = {"f32[n, 3, b, a]"});
    /* An empty list is an absent one. */
    OP_INFER("Resize", .in = {"f32[n, h]", "f32[0]{}", "f32[0]{}", "s64[2]{n, 7}"},
             .out = {"f32[n, 7]"});
    OP_INFER("Resize", .in = {"f32[n, h, w]", "", "f32[3]{1 2 0.5}", "s64[0]{}"},
             .out = {"f32[n, 2*h, floor(w/2)]"});
    OP_INFER("Resize", .in = {"f32[n, h, w]", "", "f32[3]{1.25 0.3 1e30}"},
             .out = {"f32[floor(5*n/4), ?, ?]"});
    /* In float, 10 * 0.7 is 7. */
    OP_INFER("Resize", .in = {"f32[10]", "", "f32[1]{0.7}"}, .out = {"f32[7]"});
    OP_INFER("Resize", .in = {"f32[n, h]", "", "", "s64[2]"}, .out = {"f32[?, ?]"});
    OP_INFER("Resize", .attrs = "axes=[1]", .in = {"f32[n, h]", "", "f32[1]"},
             .out = {"f32[n, ?]"});
    OP_INFER("Resize", .in = {"f32", "", "", "s64[2]{3 4}"}, .out = {"f32"});
    OP_RUN("Resize", .in = {"f32[0, 3]{}", "", "", "s64[2]{0 6}"}, .out = {"f32[0, 6]{}"});
    OP_RUN("Resize", .in = {"f32[2]{1 2}", "", "f32[1]{0.25}"}, .out = {"f32[0]{}"});
}

static void errors(void **state) {
    (void)state;
    OP_INFER("Resize", .in = {"f32[2]"}, .error = "neither scales nor sizes are given");
    OP_INFER("Resize", .in = {"f32[2]", "", "f32[0]", "s64[0]"}, .error = "neither");
    OP_INFER("Resize", .in = {"f32[2]", "", "f32[1]", "s64[1]"}, .error = "both given");
    OP_INFER("Resize", .in = {"f32[2]", "", "f32[2]"}, .error = "scales has 2 entries, expected 1");
    OP_INFER("Resize", .attrs = "axes=[0]", .in = {"f32[2, 2]", "", "", "s64[2]"},
             .error = "sizes has 2 entries, expected 1");
    OP_INFER("Resize", .attrs = "axes=[0, -2]", .in = {"f32[2, 2]", "", "", "s64[2]"},
             .error = "axis 0 is listed twice");
    OP_INFER("Resize", .attrs = "axes=[2]", .in = {"f32[2, 2]", "", "", "s64[1]"},
             .error = "axis 2 is outside");
    OP_INFER("Resize", .in = {"f32[2]", "", "f32[1]{-1}"}, .error = "a scale is -1");
    OP_INFER("Resize", .in = {"f32[2]", "", "f32[1]{nan}"}, .error = "a scale is nan");
    OP_INFER("Resize", .in = {"f32[2]", "", "f32[1]{1e30}"}, .error = "is too large");
    OP_INFER("Resize", .in = {"f32[2]", "", "", "s64[1]{-3}"}, .error = "gets the size -3");
    OP_RUN("Resize", .in = {"f32[0]{}", "", "", "s64[1]{3}"}, .error = "the input is empty");
    OP_RUN("Resize", .attrs = "mode='linear'", .in = {"bool[1]{1}", "", "", "s64[1]{3}"},
           .error = "mode linear is for real numbers, the input is bool");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest),   cmocka_unit_test(linear), cmocka_unit_test(cubic),
        cmocka_unit_test(antialias), cmocka_unit_test(crop),   cmocka_unit_test(aspect),
        cmocka_unit_test(shapes),    cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
