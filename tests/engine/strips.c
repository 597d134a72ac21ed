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

/* Quantized images, 108*102*96 bytes of them between. Scales are powers of two: nothing is rounded
 * but once to 8 bits, so the plain executor gives the same bits. */
static void quantized(void **state) {
    (void)state;
    static const struct { int batch, h, w; } sizes[] = {{1, 108, 102}, {8, 39, 38}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int n = sizes[i].batch, h = sizes[i].h, w = sizes[i].w;
        char text[2048];
        snprintf(text, sizeof text,
                 "m (uint8[%d,10,%d,%d] x, int8[96,10,1,1] w, int8[96,1,3,3] wd) => "
                 "(int8[%d,96,%d,%d] y) <float sx = {0.015625}, uint8 zx = {3}, "
                 "float sw = {0.0078125}, int8 zw = {0}, float sa = {0.03125}, uint8 za = {131}, "
                 "float sy = {0.0625}, int8 zy = {-9}> { "
                 "a = QLinearConv (x, sx, zx, w, sw, zw, sa, za) "
                 "y = QLinearConv <group = 96, strides = [2, 2], pads = [1, 1, 1, 1]> "
                 "(a, sa, za, wd, sw, zw, sy, zy) }",
                 n, h, w, n, (h + 1) / 2, (w + 1) / 2);
        engine_agrees(text, "strips QLinearConv, QLinearConv");
        snprintf(text, sizeof text,
                 "m (uint8[%d,10,%d,%d] x, int8[10,10,1,1] ws, int8[96,10,1,1] w, "
                 "int8[96,1,3,3] wd, int8[10,96,1,1] wp) => (uint8[%d,10,%d,%d] y) "
                 "<float sx = {0.015625}, uint8 zx = {3}, float sw = {0.0078125}, int8 zw = {0}, "
                 "float sa = {0.03125}, uint8 za = {131}, float sy = {0.0625}, uint8 zy = {119}> { "
                 "s = QLinearConv (x, sx, zx, ws, sw, zw, sx, zy) "
                 "a = QLinearConv (s, sx, zy, w, sw, zw, sa, za) "
                 "b = QLinearConv <group = 96, pads = [1, 1, 1, 1]> (a, sa, za, wd, sw, zw, sy, zy)"
                 " bf = DequantizeLinear (b, sy, zy) wf = DequantizeLinear (wp, sw, zw) "
                 "c = Conv (bf, wf) sf = DequantizeLinear (s, sx, zy) e = Add (c, sf) "
                 "y = QuantizeLinear (e, sy, za) }",
                 n, h, w, n, h, w);
        engine_agrees(text,
                      "conv_q8 QLinearConv, strips QLinearConv, QLinearConv, "
                      "Conv+Add+QuantizeLinear");
    }
    /* A scale for each channel between, of which the second step knows nothing. */
    engine_agrees(
        "m (uint8[1,10,270,261] x, int8[16,10,1,1] w, int8[16,1,3,3] wd) => "
        "(int8[1,16,270,261] y) <float sx = {0.015625}, uint8 zx = {3}, float sw = {0.0078125}, "
        "int8 zw = {0}, float sy = {0.0625}, int8 zy = {-9}, float[16] sa = {0.03125, 0.0625, "
        "0.125, 0.03125, 0.015625, 0.0625, 0.25, 0.125, 0.03125, 0.0625, 0.125, 0.03125, 0.015625, "
        "0.0625, 0.25, 0.125}, int8[16] za = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}> { "
        "xf = DequantizeLinear (x, sx, zx) wf = DequantizeLinear (w, sw, zw) c = Conv (xf, wf) "
        "a = LeakyRelu <alpha = 0.125> (c) q = QuantizeLinear <axis = 1> (a, sa, za) "
        "qf = DequantizeLinear <axis = 1> (q, sa, za) vf = DequantizeLinear (wd, sw, zw) "
        "d = Conv <group = 16, pads = [1, 1, 1, 1]> (qf, vf) y = QuantizeLinear (d, sy, zy) }",
        "strips Conv+LeakyRelu+QuantizeLinear, Conv+QuantizeLinear");
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
        cmocka_unit_test(depthwise),      cmocka_unit_test(three),     cmocka_unit_test(batches),
        cmocka_unit_test(pools),          cmocka_unit_test(quantized), cmocka_unit_test(apart),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
