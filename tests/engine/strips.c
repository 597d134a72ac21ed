/* Convolutions and pools in strips of rows: the numbers are those of the plain executor, and steps
 * are joined only where nobody else needs what lies between them. */
#include "engine/strips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* The image between is over a megabyte: 72*71*64 floats. */

static void depthwise(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,5,72,71] x, float[64,5,1,1] w, float[64] wb, float[64,1,3,3] wd) => "
        "(float[2,64,72,71] y) { a = Conv (x, w, wb) "
        "b = Conv <group = 64, pads = [1, 1, 1, 1]> (a, wd) y = Relu (b) }",
        "strips Conv, Conv+Relu");
    engine_agrees(
        "m (float[1,5,72,71] x, float[64,5,1,1] w, float[64,1,3,3] wd) => "
        "(float[1,64,36,36] y) { a = Conv (x, w) b = Clip (a) "
        "y = Conv <group = 64, strides = [2, 2], pads = [0, 1, 1, 1]> (b, wd) }",
        "strips Conv+Clip, Conv");
    engine_agrees(
        "m (float[1,5,72,71] x, float[64,5,1,1] w, float[64,1,5,3] wd) => "
        "(float[1,64,25,67] y) { a = Conv (x, w) y = Conv <group = 64, "
        "strides = [3, 1], dilations = [2, 2], pads = [5, 0, 4, 0]> (a, wd) }",
        "strips Conv, Conv");
}

/* An inverted residual: expand, filter, project, add. */
static void three(void **state) {
    (void)state;
    engine_agrees(
        "m (float[2,6,73,70] x, float[6,6,1,1] ws, float[60,6,1,1] w, float[60,1,3,3] wd, "
        "float[6,60,1,1] wp) => (float[2,6,73,70] y) { s = Conv (x, ws) a = Conv (s, w) "
        "b = Relu (a) c = Conv <group = 60, pads = [1, 1, 1, 1]> (b, wd) d = Conv (c, wp) "
        "e = Add (d, s) y = Tanh (e) }",
        "conv_f32 Conv, strips Conv+Relu, Conv, Conv+Add+Tanh");
    /* Of five, those stay together between which most would lie. */
    engine_agrees(
        "m (float[2,6,72,71] x, float[32,6,1,1] wa, float[32,1,3,3] wb, float[64,32,1,1] wc, "
        "float[64,1,3,3] wd) => (float[2,64,36,35] y) { a = Conv (x, wa) "
        "b = Conv <group = 32, pads = [1, 1, 1, 1]> (a, wb) c = Conv (b, wc) "
        "d = Conv <group = 64, pads = [1, 1, 1, 1]> (c, wd) "
        "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (d) }",
        "strips Conv, Conv, strips Conv, Conv, MaxPool");
    engine_agrees(
        "m (float[1,6,73,70] x, float[60,6,1,1] w, float[60,1,3,3] wd, float[60,60,1,1] wp) => "
        "(float[1,60,36,35] y) { a = Conv (x, w) "
        "b = Conv <group = 60, pads = [1, 1, 1, 1]> (a, wd) c = Conv (b, wp) "
        "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c) }",
        "strips Conv, Conv, strips Conv, MaxPool");
}

/* Images that are small by themselves, but not all of them: one is a strip. */
static void batches(void **state) {
    (void)state;
    engine_agrees(
        "m (float[9,6,22,23] x, float[6,6,1,1] ws, float[60,6,1,1] w, float[60,1,3,3] wd, "
        "float[6,60,1,1] wp) => (float[9,6,22,23] y) { s = Conv (x, ws) a = Conv (s, w) "
        "b = Relu (a) c = Conv <group = 60, pads = [1, 1, 1, 1]> (b, wd) d = Conv (c, wp) "
        "y = Add (d, s) }",
        "conv_f32 Conv, strips Conv+Relu, Conv, Conv+Add");
}

static void pools(void **state) {
    (void)state;
    static const struct {
        const char *node, *steps;
    } pools[] = {
        {"MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
         "strips Conv+Relu, MaxPool"},
        {"MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = 1>",
         "strips Conv+Relu, MaxPool"},
        {"AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>",
         "strips Conv+Relu, AveragePool"},
        {"AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], "
         "count_include_pad = 1>",
         "strips Conv+Relu, AveragePool"},
    };
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "m (float[2,3,145,143] x, float[64,3,3,3] w) => (float[2,64,36,36] y) { "
                 "a = Conv <strides = [2, 2], pads = [0, 1, 0, 0]> (x, w) b = Relu (a) "
                 "y = %s (b) }",
                 pools[i].node);
        engine_agrees(text, pools[i].steps);
    }
}

/* Somebody else needs the image, it is small, or the work takes longer than the memory; rows with
 * nothing to compute. */
static void apart(void **state) {
    (void)state;
    engine_agrees(
        "m (float[1,5,72,71] x, float[64,5,1,1] w, float[64,1,3,3] wd) => "
        "(float[1,64,70,69] y, float[1,64,1,1] z) { a = Conv (x, w) "
        "y = Conv <group = 64> (a, wd) z = GlobalMaxPool (a) }",
        "conv_f32 Conv, conv_f32 Conv, pool_f32 GlobalMaxPool");
    engine_agrees(
        "m (float[1,5,72,71] x, float[64,5,1,1] w, float[64,1,3,3] wd) => "
        "(float[1,64,70,69] y, float[1,64,72,71] a) { a = Conv (x, w) "
        "y = Conv <group = 64> (a, wd) }",
        "conv_f32 Conv, conv_f32 Conv");
    engine_agrees(
        "m (float[1,5,40,40] x, float[64,5,1,1] w, float[64,1,3,3] wd) => "
        "(float[1,64,38,38] y) { a = Conv (x, w) y = Conv <group = 64> (a, wd) }",
        "conv_f32 Conv, conv_f32 Conv");
    engine_agrees(
        "m (float[1,24,72,71] x, float[64,24,3,3] w, float[64,1,3,3] wd) => "
        "(float[1,64,70,69] y) { a = Conv <pads = [1, 1, 1, 1]> (x, w) "
        "y = Conv <group = 64> (a, wd) }",
        "conv_f32 Conv, conv_f32 Conv");
}

static void without_memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[1,5,72,71] x, float[64,5,1,1] w, float[64,1,3,3] wd) => "
        "(float[1,64,36,36] y) { a = Conv (x, w) b = Clip (a) "
        "y = Conv <group = 64, strides = [2, 2], pads = [0, 1, 1, 1]> (b, wd) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depthwise), cmocka_unit_test(three), cmocka_unit_test(batches),
        cmocka_unit_test(pools),     cmocka_unit_test(apart), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
