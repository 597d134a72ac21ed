/* Values that are computed where they will be needed: parts of a concatenation, operands of a
 * reshape. The numbers are those of the plain executor, and copies are made only where they must
 * be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/engine_model.h"

static void copies(const char *text, int expected) {
    int found = engine_agrees(text, NULL);
    if (found != expected) fail_msg("%d copies, expected %d: %s", found, expected, text);
}

/* x is an image, made channels last by one copy; p, q are convolutions of it, and outputs, which
 * are planar, take a copy each. */
static void images(const char *outputs, const char *nodes, int expected) {
    char text[1024];
    snprintf(text, sizeof text,
             "m (float[2,6,5,4] x, float[9,6,1,1] wp, float[7,6,3,3] wq) => (%s) "
             "<int64[4] starts = {0, 2, 4, 0}, int64[4] ends = {2, 8, -6, 4}, "
             "int64[4] steps = {1, 2, -2, 1}, int64[4] axes = {0, 1, 2, 3}, "
             "int64[3] rows = {2, 20, 9}, int64[3] planes = {2, 9, 20}> { "
             "p = Conv (x, wp) q = Conv <pads = [1, 1, 1, 1]> (x, wq) %s }",
             outputs, nodes);
    copies(text, expected);
}

static void channels(void **state) {
    (void)state;
    images("float[2,16,5,4] y", "y = Concat <axis = 1> (p, q)", 2);
    images("float[2,16,5,4] y", "r = Relu (p) s = Sigmoid (q) y = Concat <axis = 1> (r, s)", 2);
    /* What reads a part before the concatenation is there, and after. */
    images("float[2,16,5,4] y, float[2,9,3,2] u, float[2,9,5,4] v, float[2,7,1,1] z",
           "u = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (p) "
           "y = Concat <axis = 1> (p, q) v = Neg (p) z = GlobalAveragePool (q)",
           4);
    /* A part that is an output too. */
    images("float[2,16,5,4] y, float[2,9,5,4] p", "y = Concat <axis = 1> (p, q)", 3);
    /* The same part twice, and the part of another concatenation. */
    images("float[2,25,5,4] y", "y = Concat <axis = 1> (p, q, p)", 3);
    images("float[2,16,5,4] y, float[2,18,5,4] z",
           "y = Concat <axis = 1> (p, q) z = Concat <axis = 1> (p, p)", 5);
    /* A concatenation as a part. */
    images("float[2,32,5,4] z",
           "y = Concat <axis = 1> (p, q) r = Abs (y) z = Concat <axis = 1> (r, y)", 2);
    /* Inputs and constants are where they are. */
    images("float[2,22,5,4] y", "y = Concat <axis = 1> (p, x, q)", 3);
    copies(
        "m (float[1,6,3,3] x, float[5,6,1,1] w, float[1,2,3,3] wc) => (float[1,7,3,3] y) "
        "{ p = Conv (x, w) y = Concat <axis = 1> (wc, p) }",
        3);
    /* One channel: its pixels are adjacent before, and not after. */
    copies(
        "m (float[1,6,6,5] x, float[1,6,1,1] wa, float[3,6,3,3] wb, float[2,1,3,3] wc) => "
        "(float[1,4,6,5] y, float[1,2,4,3] z) { a = Conv (x, wa) z = Conv (a, wc) "
        "b = Conv <pads = [1, 1, 1, 1]> (x, wb) y = Concat <axis = 1> (a, b) }",
        3);
    /* A grouped, a transposed and a flat convolution. */
    copies(
        "m (float[1,6,5,4] x, float[6,1,3,3] wa, float[6,5,2,2] wb, float[6,5,3,3] wc) => "
        "(float[1,11,5,4] y) { a = Conv <group = 6, pads = [1, 1, 1, 1]> (x, wa) "
        "b = ConvTranspose <pads = [1, 1, 1, 1]> (a, wc) c = Relu (b) y = Concat <axis = 1> "
        "(a, c) }",
        2);
    copies(
        "m (float[2,6,9] x, float[3,6,3] wa, float[4,6,1] wb) => (float[2,7,9] y) "
        "{ a = Conv <pads = [1, 1]> (x, wa) b = Conv (x, wb) y = Concat <axis = 1> (a, b) }",
        2);
}

/* A transposed convolution writes its phases into a part, and reads one. */
static void transposed(void **state) {
    (void)state;
    copies(
        "m (float[1,6,5,4] x, float[5,6,1,1] wa, float[5,3,2,2] wb, float[2,6,1,1] wc, "
        "float[3,5,1,1] wd) => (float[1,7,5,4] y, float[1,6,10,8] z) { a = Conv (x, wa) "
        "b = ConvTranspose <strides = [2, 2]> (a, wb) c = Conv (x, wc) "
        "y = Concat <axis = 1> (a, c) d = Neg (b) z = Concat <axis = 1> (b, d) }",
        3);
}

static void other_axes(void **state) {
    (void)state;
    images("float[2,9,10,4] y", "r = Neg (p) y = Concat <axis = 2> (r, p)", 2);
    images("float[2,9,5,8] y", "r = Neg (p) y = Concat <axis = -1> (p, r)", 2);
    images("float[4,9,5,4] y", "r = Neg (p) y = Concat <axis = 0> (r, p)", 2);
    /* One after the other, they are the caller's output itself. */
    copies(
        "m (float[3,4] a, float[2,4] b) => (float[5,4] y) "
        "{ p = Exp (a) q = Neg (b) y = Concat <axis = 0> (p, q) }",
        0);
    copies(
        "m (float[3,4] a, float[3,2] b) => (float[3,6] y) "
        "{ p = Exp (a) q = Neg (b) y = Concat <axis = 1> (p, q) }",
        0);
    copies(
        "m (float[3,4] a, float[3,2] b) => (bool[3,6] y) "
        "{ p = Less (a, a) r = Not (p) s = Cast <to = 9> (b) y = Concat <axis = 1> (r, s) }",
        0);
}

/* Views of a part that were there before it moved. */
static void views(void **state) {
    (void)state;
    images("float[2,16,5,4] y, float[2,3,3,4] u",
           "s = Slice (p, starts, ends, axes, steps) u = Abs (s) y = Concat <axis = 1> (p, q)", 3);
    images("float[2,16,5,4] y, float[2,4,5,9] u",
           "t = Transpose <perm = [0, 3, 2, 1]> (p) u = Abs (t) y = Concat <axis = 1> (p, q)", 3);
}

/* Every kernel that may write a part, and read one. */
static void families(void **state) {
    (void)state;
    copies(
        "m (float[3,4,8] a, float[3,8,6] b, float[6] ws, float[6] wb) => "
        "(float[3,4,30] y, float[3,4,6] l) { p = MatMul (a, b) q = Softmax (p) "
        "r = LayerNormalization (p, ws, wb) s = Sqrt (q) t = Add (p, q) "
        "y = Concat <axis = 2> (p, q, r, s, t) l = LogSoftmax (p) }",
        0);
    copies(
        "m (float[2,6,5,4] x, float[6,6,1,1] wp, float[6] ws, float[6] wb) => "
        "(float[2,30,5,4] y) { p = Conv (x, wp) q = InstanceNormalization (p, ws, wb) "
        "r = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (p) "
        "s = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (q) "
        "t = Softmax <axis = 1> (r) y = Concat <axis = 1> (p, q, r, s, t) }",
        2);
    copies(
        "m (float[3,5,8] a) => (float[3,8] y, float[3,4,8] z) <int64[1] i = {1}> { "
        "p = ReduceSum <keepdims = 0> (a, i) y = Neg (p) q = ReduceMax <keepdims = 1> (a, i) "
        "r = ReduceMean <keepdims = 1> (a, i) s = Exp (q) t = Abs (r) "
        "z = Concat <axis = 1> (q, r, s, t) }",
        0);
    copies(
        "m (float[4,2,5] x, float[1,28,5] w, float[1,28,7] wr) => (float[4,2,14] y, float[1,2,7] h)"
        " <int64[1] i = {1}> { a, h = LSTM <hidden_size = 7> (x, w, wr) b = Squeeze (a, i) "
        "c = Neg (b) y = Concat <axis = 2> (b, c) }",
        0);
    /* An operator without a kernel reads and writes dense memory. */
    images("float[2,9,5,4] r, float[2,16,5,4] y", "r = Trilu (p) y = Concat <axis = 1> (p, q)", 3);
    copies(
        "m (float[3,4] a) => (float[6,4] y) "
        "{ p = Trilu (a) q = Neg (a) y = Concat <axis = 0> (p, q) }",
        0);
}

/* A product writes what is then transposed and reshaped in the order that takes. */
static void reshapes(void **state) {
    (void)state;
    copies(
        "m (float[2,3,5,4] a, float[2,3,4,7] b) => (float[2,5,21] y) "
        "<int64[3] s = {2, 5, 21}> { p = MatMul (a, b) "
        "t = Transpose <perm = [0, 2, 1, 3]> (p) y = Reshape (t, s) }",
        0);
    /* Somebody reads it as it was. */
    copies(
        "m (float[2,3,5,4] a, float[2,3,4,7] b) => (float[2,5,21] y, float[2,3,5,7] z) "
        "<int64[3] s = {2, 5, 21}> { p = MatMul (a, b) z = Softmax (p) "
        "t = Transpose <perm = [0, 2, 1, 3]> (p) y = Reshape (t, s) }",
        1);
    /* Channels would be apart. */
    images("float[2,20,9] y", "t = Transpose <perm = [0, 2, 3, 1]> (p) y = Reshape (t, rows)", 1);
    images("float[2,9,20] y", "y = Reshape (p, planes)", 2);
}

/* A shuffle of channels keeps them innermost: one copy, and none for the convolution behind it. */
static void shuffles(void **state) {
    (void)state;
    static const char text[] =
        "m (float[2,6,5,4] x, float[%d,6,1,1] wp, float[3,%d,1,1] wq) => (float[2,3,5,4] y) "
        "<int64[5] s = {2, %d, %d, 5, 4}, int64[4] u = {2, %d, 5, 4}> "
        "{ p = Conv (x, wp) r = Reshape (p, s) t = Transpose <perm = [0, 2, 1, 3, 4]> (r) "
        "v = Reshape (t, u) y = Conv (v, wq) }";
    static const int groups[][2] = {{2, 29}, {2, 3}, {3, 5}, {2, 40}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char model[1024];
        int g = groups[i][0], c = groups[i][1];
        snprintf(model, sizeof model, text, g * c, g * c, g, c, g * c);
        copies(model, 3);
    }
}

static void without_memory(void **state) {
    (void)state;
    engine_survives(
        "m (float[1,6,5,4] x, float[9,6,1,1] w) => (float[1,24,5,4] y) { "
        "p = Conv (x, w) q = Neg (p) y = Concat <axis = 1> (p, x, q) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels), cmocka_unit_test(transposed),     cmocka_unit_test(other_axes),
        cmocka_unit_test(views),    cmocka_unit_test(families),       cmocka_unit_test(reshapes),
        cmocka_unit_test(shuffles), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
