/* Transposed convolutions through the engine and through the plain executor: every shape of phase,
 * what is fused into them, and what runs as the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define STEP "conv_f32 ConvTranspose"
#define TWO STEP ", " STEP
#define FOUR TWO ", " TWO
#define THREE_OF(s) s ", " s ", " s
#define NINE(s) THREE_OF(s) ", " THREE_OF(s) ", " THREE_OF(s)
#define PLANES "conv_planes_f32 ConvTranspose"
#define FOUR_PLANES PLANES ", " PLANES ", " PLANES ", " PLANES
#define COLUMNS PLANES ", col2im_f32 ConvTranspose"

/* The node by itself, between planar images; then of what a convolution made, which has channels
 * last, where it must be these steps. */
static void agrees(const char *x, const char *constants, const char *y, const char *node,
                   const char *steps) {
    engine_agrees_node(x, constants, y, node, NULL);
    long long channels = 0, images = 0, one = 0;
    int rank = 2;
    assert_int_equal(sscanf(x, "float[%lld,%lld,%lld", &images, &channels, &one), 3);
    for (const char *c = x; *c != '\0'; c++) rank += *c == ',';
    char text[1024], all[1024];
    int n = snprintf(text, sizeof text,
                     "m (%s x0, float[%lld,%lld%s] w0%s) => (%s y) {"
                     " x = Conv (x0, w0) y = %s }",
                     x, channels, channels,
                     rank == 4   ? ",1"
                     : rank == 5 ? ",1,1"
                                 : ",1,1,1",
                     constants, y, node);
    assert_in_range(n, 1, (int)sizeof text - 1);
    snprintf(all, sizeof all, "conv_f32 Conv, %s", steps);
    engine_agrees(text, all);
}

/* Phases of the width that are alike are one step; a bias is repeated for it. */
static void joined(void **state) {
    (void)state;
    agrees("float[2,6,5,4]", ", float[6,7,2,2] w", "float[2,7,10,8]",
           "ConvTranspose <strides = [2, 2]> (x, w)", TWO);
    agrees("float[1,40,8,8]", ", float[40,33,2,2] w, float[33] wb", "float[1,33,16,16]",
           "ConvTranspose <strides = [2, 2]> (x, w, wb)", TWO);
    agrees("float[1,5,4,6]", ", float[5,3,3,3] w", "float[1,3,12,18]",
           "ConvTranspose <strides = [3, 3]> (x, w)", TWO ", " STEP);
    agrees("float[1,5,4,6]", ", float[5,3,4,4] w", "float[1,3,10,14]",
           "ConvTranspose <strides = [2, 2]> (x, w)", TWO);
}

static void phases(void **state) {
    (void)state;
    agrees("float[2,20,7,5]", ", float[20,18,3,3] w, float[18] wb", "float[2,18,14,10]",
           "ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], "
           "output_padding = [1, 1]> (x, w, wb)",
           FOUR);
    agrees("float[1,9,6,6]", ", float[9,10,4,4] w", "float[1,10,12,12]",
           "ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)", FOUR);
    agrees("float[1,4,5,5]", ", float[4,6,3,5] w", "float[1,6,7,9]", "ConvTranspose (x, w)", STEP);
    agrees("float[1,4,5,6]", ", float[4,6,3,3] w", "float[1,6,5,12]",
           "ConvTranspose <strides = [1, 2], auto_pad = \"SAME_UPPER\"> (x, w)", TWO);
    agrees("float[1,4,5,6]", ", float[4,6,3,4] w", "float[1,6,11,13]",
           "ConvTranspose <strides = [2, 2], output_shape = [11, 13]> (x, w)", FOUR);
    agrees("float[1,4,5,6]", ", float[4,6,3,4] w", "float[1,6,10,12]",
           "ConvTranspose <strides = [2, 2], auto_pad = \"SAME_LOWER\"> (x, w)", FOUR);
}

/* Dilation and stride with and without a common divisor; taps that skip phases altogether. */
static void dilated(void **state) {
    (void)state;
    agrees("float[1,4,5,6]", ", float[4,6,3,2] w", "float[1,6,13,16]",
           "ConvTranspose <strides = [2, 2], dilations = [2, 5]> (x, w)", FOUR);
    agrees("float[1,4,5,6]", ", float[4,6,3,2] w, float[6] wb", "float[1,6,9,10]",
           "ConvTranspose <strides = [1, 1], dilations = [2, 4]> (x, w, wb)", STEP);
    agrees("float[1,3,4]", ", float[3,5,3] w, float[5] wb", "float[1,5,33]",
           "ConvTranspose <strides = [4], dilations = [10]> (x, w, wb)", FOUR);
    /* Kernels smaller than the stride leave gaps that hold the bias. */
    agrees("float[1,5,4,6]", ", float[5,3,1,2] w, float[3] wb", "float[1,3,7,17]",
           "ConvTranspose <strides = [2, 3]> (x, w, wb)", FOUR ", " TWO);
}

static void groups(void **state) {
    (void)state;
    agrees("float[2,6,5,4]", ", float[6,4,2,2] w, float[8] wb", "float[2,8,10,8]",
           "ConvTranspose <strides = [2, 2], group = 2> (x, w, wb)", FOUR);
    agrees("float[1,18,5,4]", ", float[18,1,3,3] w", "float[1,18,11,9]",
           "ConvTranspose <strides = [2, 2], group = 18> (x, w)", FOUR);
    agrees("float[1,6,5,4]", ", float[6,2,3,3] w", "float[1,12,7,6]",
           "ConvTranspose <group = 6> (x, w)", STEP);
    engine_agrees_node("float[1,1,5,4]", ", float[1,3,2,2] w", "float[1,3,10,8]",
                       "ConvTranspose <strides = [2, 2]> (x, w)", FOUR_PLANES);
}

static void one_axis(void **state) {
    (void)state;
    agrees("float[2,6,9]", ", float[6,7,4] w, float[7] wb", "float[2,7,18]",
           "ConvTranspose <strides = [2], pads = [1, 1]> (x, w, wb)", TWO);
    agrees("float[2,6,9]", ", float[6,7,2] w", "float[2,7,18]",
           "ConvTranspose <strides = [2]> (x, w)", STEP);
}

/* A step per tap of each phase of the depth, and per phase of the slices. */
static void three_axes(void **state) {
    (void)state;
    agrees("float[2,6,3,5,4]", ", float[6,7,2,2,2] w, float[7] wb", "float[2,7,6,10,8]",
           "ConvTranspose <strides = [2, 2, 2]> (x, w, wb)", FOUR ", " FOUR);
    agrees("float[1,2,4,4,4]", ", float[2,2,2,2,2] w", "float[1,2,5,5,5]", "ConvTranspose (x, w)",
           FOUR);
    agrees("float[1,9,4,6,6]", ", float[9,10,4,4,4] w, float[10] wb", "float[1,10,8,12,12]",
           "ConvTranspose <strides = [2, 2, 2], pads = [1, 1, 1, 1, 1, 1]> (x, w, wb)",
           FOUR ", " FOUR ", " FOUR ", " FOUR ", " FOUR ", " FOUR);
    agrees("float[1,8,5,4,4]", ", float[8,1,3,1,1] w", "float[1,8,7,4,4]",
           "ConvTranspose <group = 8> (x, w)", NINE(STEP));
    /* Kernels shorter than the stride, and dilated ones, leave slices that hold the bias. */
    agrees("float[1,5,3,4,4]", ", float[5,3,1,2,2] w, float[3] wb", "float[1,3,7,8,8]",
           "ConvTranspose <strides = [3, 2, 2]> (x, w, wb)", FOUR ", " TWO);
    agrees("float[1,5,2,4,4]", ", float[5,3,2,1,1] w, float[3] wb", "float[1,3,7,4,4]",
           "ConvTranspose <dilations = [5, 1, 1]> (x, w, wb)", TWO ", " STEP);
    agrees("float[1,4,5,5,6]", ", float[4,6,3,3,3] w", "float[1,6,9,11,13]",
           "ConvTranspose <strides = [2, 2, 2], output_shape = [9, 11, 13]> (x, w)",
           FOUR ", " FOUR ", " FOUR);
    engine_agrees(
        "m (float[1,8,3,6,5] x, float[1,3,5,6,5] z, float[8,4,3,1,1] w, float[4,3,1,1,1] wr)"
        " => (float[1,4,5,6,5] y) {"
        " k = Conv (z, wr) r = Tanh (k) c = ConvTranspose (x, w) a = Add (c, r) y = Relu (a) }",
        "conv_f32 Conv+Tanh, " NINE(STEP "+Add+Relu"));
    engine_agrees(
        "m (float[1,8,3,6,5] x, float[8,4,3,1,1] w, float[6,4,1,1,1] w2)"
        " => (float[1,6,5,6,5] y) {"
        " c = ConvTranspose (x, w) a = Sigmoid (c) y = Conv (a, w2) }",
        NINE(STEP "+Sigmoid") ", conv_f32 Conv");
}

/* Bias, residual and activation go into every phase. */
static void fused(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,8,6,5] z, float[8,8,1,1] w0, float[8,4,2,2] w, float[4,1,1] wb)"
        " => (float[1,4,12,10] y) { x = Conv (z, w0)"
        " c = ConvTranspose <strides = [2, 2]> (x, w) a = Add (wb, c) y = Relu (a) }",
        "conv_f32 Conv, " STEP "+Add+Relu, " STEP "+Add+Relu");
    /* The residual is made later: the phases wait for it. */
    engine_agrees(
        "m (float[1,8,6,5] x, float[1,3,12,10] z, float[8,4,2,2] w, float[4,3,1,1] wr)"
        " => (float[1,4,12,10] y) {"
        " c = ConvTranspose <strides = [2, 2]> (x, w) k = Conv (z, wr) r = Tanh (k)"
        " a = Add (c, r) y = LeakyRelu (a) }",
        "conv_f32 Conv+Tanh, " STEP "+Add+LeakyRelu, " STEP "+Add+LeakyRelu");
    /* One of few channels among many: the phases of the width lie apart. */
    engine_agrees(
        "m (float[1,8,6,5] x, float[1,20,12,10] z, float[8,4,2,2] w, float[20,20,1,1] wr)"
        " => (float[1,4,12,10] y) <int64[1] from = {7}, int64[1] to = {11}, int64[1] axis = {1}> {"
        " k = Conv (z, wr) t = Tanh (k) r = Slice (t, from, to, axis)"
        " c = ConvTranspose <strides = [2, 2]> (x, w) y = Add (c, r) }",
        "conv_f32 Conv+Tanh, " STEP "+Add, " STEP "+Add, " STEP "+Add, " STEP "+Add");
}

static void declined(void **state) {
    (void)state;
    engine_agrees_node("double[1,3,4,4]", ", double[3,2,2,2] w", "double[1,2,5,5]",
                       "ConvTranspose (x, w)", "reference ConvTranspose");
    engine_agrees_node("float[1,2,3,3,3,3]", ", float[2,2,2,2,2,2] w", "float[1,2,4,4,4,4]",
                       "ConvTranspose (x, w)", "reference ConvTranspose");
    /* One step per tap and output of the depth. */
    engine_agrees_node("float[1,2,20,2,2]", ", float[2,2,20,2,2] w", "float[1,2,39,3,3]",
                       "ConvTranspose (x, w)", "reference ConvTranspose");
    engine_agrees_node("float[1,2,3]", ", float[2,2,2] w", "float[1,2,42]",
                       "ConvTranspose <strides = [20]> (x, w)", "reference ConvTranspose");
}

/* Its elements are apart, so it is copied before it is read. */
static void computed_bias(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,2,4,4] x, float[2,3,2,2] w, float[6] b) =>"
        " (float[1,3,5,5] y) <int64[1] from = {0}, int64[1] to = {6}, int64[1] by = {2}> {"
        " a = Neg (b) s = Slice (a, from, to, from, by) y = ConvTranspose (x, w, s) }",
        "map_f32 Neg, conv_planes_f32 ConvTranspose");
    engine_agrees(
        "m (float[1,2,4,4] x, float[3,2,2,2] w, float[6] b) =>"
        " (float[1,3,3,3] y) <int64[1] from = {0}, int64[1] to = {6}, int64[1] by = {2}> {"
        " a = Neg (b) s = Slice (a, from, to, from, by) y = Conv (x, w, s) }",
        "map_f32 Neg, conv_planes_f32 Conv");
}

static void computed_weights(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,2,4,4] x, float[2,3,2,2] v) => (float[1,3,5,5] y) {"
        " y = ConvTranspose (x, v) }",
        "pack Pack, conv_planes_f32 ConvTranspose");
    engine_agrees(
        "m (float[1,40,7,9] x, float[40,50,2,2] v, float[50] b) => (float[1,50,14,18] y) {"
        " c = ConvTranspose <strides = [2, 2]> (x, v, b) y = Relu (c) }",
        "pack Pack, conv_f32 ConvTranspose+Relu, pack Pack, conv_f32 ConvTranspose+Relu");
    /* Groups whose outputs lie apart: a copy of each phase's weights. */
    engine_agrees(
        "m (float[1,40,7,9] x, float[40,10,1,2] v) => (float[1,20,7,18] y) {"
        " y = ConvTranspose <group = 2, strides = [1, 2]> (x, v) }",
        NULL);
}

/* Between planar images, where outputs are few: by phases, or by all taps at once and added up. */
static void planes(void **state) {
    (void)state;
    engine_agrees_node("float[2,6,5,14]", ", float[6,7,4,4] w, float[7] wb", "float[2,7,10,28]",
                       "ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, wb)",
                       FOUR_PLANES);
    engine_agrees_node("float[2,33,5,17]", ", float[33,1,2,2] w, float[1] wb", "float[2,1,10,34]",
                       "ConvTranspose <strides = [2, 2]> (x, w, wb)", COLUMNS);
    engine_agrees_node("float[1,70,9,40]", ", float[70,3,4,4] w, float[3] wb", "float[1,3,18,80]",
                       "ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, wb)", COLUMNS);
    engine_agrees_node("float[1,40,3,13]", ", float[40,2,1,3] w", "float[1,2,5,38]",
                       "ConvTranspose <strides = [2, 3], pads = [0, 1, 0, 1],"
                       " output_padding = [0, 1]> (x, w)",
                       COLUMNS);
    engine_agrees_node("float[1,40,30]", ", float[40,2,4] w", "float[1,2,66]",
                       "ConvTranspose <strides = [2], dilations = [3], pads = [1, 1]> (x, w)",
                       COLUMNS);
    engine_agrees_node("float[1,3,5,14]", ", float[3,5,3,3] w, float[5] wb", "float[1,5,5,14]",
                       "ConvTranspose <pads = [1, 1, 1, 1]> (x, w, wb)", PLANES);
    engine_agrees(
        "m (float[2,33,5,17] x, float[33,4,2,2] w, float[4] wb) => (float[2,4,10,34] y) {"
        " c = ConvTranspose <strides = [2, 2]> (x, w, wb) y = Sigmoid (c) }",
        "conv_planes_f32 ConvTranspose+Sigmoid, col2im_f32 ConvTranspose+Sigmoid");
    /* More outputs, groups, and a value that something else reads too stay as they were. */
    engine_agrees_node("float[1,6,5,14]", ", float[6,33,4,4] w", "float[1,33,10,28]",
                       "ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w)", FOUR);
    engine_agrees_node("float[1,6,5,14]", ", float[6,2,2,2] w", "float[1,4,10,28]",
                       "ConvTranspose <strides = [2, 2], group = 2> (x, w)", FOUR);
    engine_survives(
        "m (float[1,33,5,17] x, float[33,2,2,2] w, float[2] wb) => (float[1,2,10,34] y) {"
        " y = ConvTranspose <strides = [2, 2]> (x, w, wb) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined),        cmocka_unit_test(phases),
        cmocka_unit_test(dilated),       cmocka_unit_test(groups),
        cmocka_unit_test(one_axis),      cmocka_unit_test(fused),
        cmocka_unit_test(computed_bias), cmocka_unit_test(computed_weights),
        cmocka_unit_test(declined),      cmocka_unit_test(three_axes),
        cmocka_unit_test(planes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
