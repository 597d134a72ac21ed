/* Convolutions through the engine and through the plain executor: the numbers agree, and kernels
 * for convolutions made them, not the definition of one in plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void has_kernels(const engine_facts *f, const char *text) {
    if (strstr(f->kernels, "ref") != NULL || engine_count(f, "reference") != 0)
        fail_msg("%s: %s", f->kernels, text);
}

/* Every step must be of that family, of rows other than the reference, where weights are not
 * constant too; copies do not count. */
static void runs_fast(const char *text, const char *family, int steps) {
    engine_facts f = engine_ran(text), given = engine_ran_given(text);
    int found = engine_count(&f, family);
    if (found != steps) fail_msg("%d steps of %s, expected %d: %s", found, family, steps, f.steps);
    has_kernels(&f, text);
    has_kernels(&given, text);
}

static void computed_weights(void **state) {
    (void)state;
    static const char family[] = "pack";
    runs_fast(
        "m (float[1,20,9,9] x, float[30,20,3,3] v, float[30] b) => (float[1,30,9,9] y) {"
        " c = Conv <pads = [1, 1, 1, 1]> (x, v, b) y = Relu (c) }",
        family, 1);
    runs_fast(
        "m (float[2,20,9,9] x, float[20,1,5,5] v) => (float[2,20,5,5] y) {"
        " y = Conv <group = 20> (x, v) }",
        family, 1);
    runs_fast(
        "m (float[1,3,9,9] x, float[2,3,9,9] r, float[7,2,9,9] v) => (float[1,7,1,1] y) {"
        " s = ReduceSum <keepdims = 0> (r) t = Mul (v, s) u = Concat <axis = 1> (x, x)"
        " w2 = Concat <axis = 1> (t, t, t) y = Conv (u, w2) }",
        family, 1);
    runs_fast("m (float[1,20,50] x, float[4,20,3] v) => (float[1,4,48] y) { y = Conv (x, v) }",
              family, 1);
}

static void three_axes(void **state) {
    (void)state;
    static const char family[] = "conv_f32";
    /* Padding: the first and the last slice reach two taps, the others three. */
    runs_fast(
        "m (float[1,5,6,7,8] x, float[9,5,3,3,3] w, float[9] wb, float[1,9,6,7,8] r)"
        " => (float[1,9,6,7,8] y) {"
        " c = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w, wb) a = Add (c, r) y = Relu (a) }",
        family, 7);
    runs_fast(
        "m (float[2,5,6,7,8] x, float[9,5,1,1,1] w) => (float[2,9,6,7,8] y) {"
        " y = Conv (x, w) }",
        "conv_planes_f32", 1);
    runs_fast(
        "m (float[1,1,9,7,8] x, float[4,1,3,2,2] w) => (float[1,4,3,6,7] y) {"
        " y = Conv <strides = [2, 1, 1], dilations = [2, 1, 1]> (x, w) }",
        family, 3);
    runs_fast(
        "m (float[1,6,5,7,8] x, float[6,1,3,3,3] w) => (float[1,6,5,7,8] y) {"
        " c = Conv <group = 6, pads = [1, 1, 1, 1, 1, 1]> (x, w) y = Sigmoid (c) }",
        family, 7);
    /* Windows that reach no slice, beside others that reach the same tap. */
    engine_agrees(
        "m (float[1,3,2,4,4] x, float[5,3,2,1,1] w, float[5] wb) => (float[1,5,7,4,4] y) {"
        " y = Conv <dilations = [5, 1, 1], pads = [5, 0, 0, 5, 0, 0]> (x, w, wb) }",
        "reference Conv");
    runs_fast(
        "m (float[1,6,5,7,8] x, float[4,6,2,3,3] w, float[7,4,1,1,1] w2)"
        " => (float[1,7,4,5,6] y) { c = Conv (x, w) a = Relu (c) y = Conv (a, w2) }",
        family, 3);
}

/* How many steps there are of conv_planes_f32, beside what copies there are. */
static void runs_planar(const char *text, int steps, bool copies) {
    engine_facts f = engine_ran(text);
    runs_fast(text, "conv_planes_f32", steps);
    if ((strstr(f.kernels, "copy") != NULL) != copies) fail_msg("%s: %s", f.kernels, text);
}

static void planes(void **state) {
    (void)state;
    /* Depthwise, of few channels; grouped; with strides; of one row; 1x1; of three axes. */
    runs_planar(
        "m (float[2,5,19,23] x, float[5,1,3,3] w, float[5] wb) => (float[2,5,19,23] y) {"
        " c = Conv <group = 5, pads = [1, 1, 1, 1]> (x, w, wb) y = Clip (c) }",
        1, false);
    runs_planar(
        "m (float[1,24,13,30] x, float[24,4,3,3] w) => (float[1,24,13,30] y) {"
        " y = Conv <group = 6, pads = [1, 1, 1, 1]> (x, w) }",
        1, false);
    runs_planar(
        "m (float[1,2,9,64] x, float[9,2,3,3] w) => (float[1,9,5,32] y) {"
        " c = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) y = Tanh (c) }",
        1, false);
    runs_planar(
        "m (float[1,1,800] x, float[40,1,10] w) => (float[1,40,159] y) {"
        " y = Conv <strides = [5]> (x, w) }",
        1, false);
    runs_planar(
        "m (float[2,16,9,9] x, float[20,16,1,1] w) => (float[2,20,9,9] y) { y = Conv (x, w) }", 1,
        false);
    runs_planar(
        "m (float[2,16,3,9,9] x, float[20,16,1,1,1] w) => (float[2,20,3,9,9] y) {"
        " y = Conv (x, w) }",
        1, false);
    /* From planes to one channel, with nothing to copy. */
    runs_planar(
        "m (float[1,3,20,20] x, float[1,3,3,3] w) => (float[1,1,18,18] y) { y = Conv (x, w) }", 1,
        false);
    /* What is copied for another step too stays as it was. */
    runs_fast(
        "m (float[1,16,30,30] x, float[20,16,1,1] w, float[24,16,1,1] w2)"
        " => (float[1,20,30,30] y, float[1,24,30,30] z) { y = Conv (x, w) z = Conv (x, w2) }",
        "conv_f32", 2);
    /* So does what is between convolutions, and a residual. */
    runs_fast(
        "m (float[1,16,30,30] x, float[20,16,1,1] w, float[24,20,1,1] w2)"
        " => (float[1,24,30,30] y) { a = Conv (x, w) y = Conv (a, w2) }",
        "conv_f32", 2);
    /* So do windows that reach far, and those that lie in the padding for the most part. */
    runs_fast(
        "m (float[1,1,9,600] x, float[3,1,2,2] w) => (float[1,3,9,600] y) {"
        " y = Conv <dilations = [5000, 5000], pads = [0, 0, 5000, 5000]> (x, w) }",
        "conv_f32", 1);
    engine_survives(
        "m (float[1,16,9,9] x, float[20,16,1,1] w) => (float[1,20,9,9] y) { y = Conv (x, w) }");
}

static void dilated(void **state) {
    (void)state;
    runs_fast(
        "m (float[1,24,16,16] x, float[40,24,3,3] w, float[1,40,16,16] r)"
        " => (float[1,40,16,16] y) {"
        " c = Conv <pads = [12, 12, 12, 12], dilations = [12, 12]> (x, w)"
        " a = Add (c, r) y = Relu (a) }",
        "conv_f32", 1);
}

static void deformable(void **state) {
    (void)state;
    runs_fast(
        "m (float[2,6,7,8] x, float[10,6,3,3] w, float[2,18,7,8] o, float[10] wb,"
        " float[2,9,7,8] k) => (float[2,10,7,8] y) {"
        " c = DeformConv <pads = [1, 1, 1, 1]> (x, w, o, wb, k) y = Relu (c) }",
        "deform_f32", 1);
    /* Offsets that a convolution computes, groups of both kinds, no mask. */
    runs_fast(
        "m (float[1,8,9,9] x, float[10,4,2,3] w, float[24,8,2,3] w2) =>"
        " (float[1,10,4,4] y) { o = Conv <strides = [2, 2]> (x, w2)"
        " y = DeformConv <strides = [2, 2], group = 2, offset_group = 2> (x, w, o) }",
        "deform_f32", 1);
}

static void failures(void **state) {
    (void)state;
    engine_survives(
        "m (float[1,5,6,7,8] x, float[9,5,3,3,3] w) => (float[1,9,6,7,8] y) {"
        " y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }");
    engine_survives(
        "m (float[1,20,9,9] x, float[30,20,3,3] v) => (float[1,30,7,7] y) {"
        " y = Conv (x, v) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes),  cmocka_unit_test(computed_weights), cmocka_unit_test(three_axes),
        cmocka_unit_test(dilated), cmocka_unit_test(deformable),       cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
