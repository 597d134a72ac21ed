/* Gradients of every operator that has one, against finite differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ops/grad.h"
#include "support/gradient.h"
#include "support/scratch.h"

/* A node from x [2, 3] to y of the same shape. */
#define SAME(x, node) "m (double[2,3] " x ") => (double[2,3] y) { y = " node " (" x ") }"
#define TWO(a, b, node) \
    "m (double[2,3] " a ", double[2,3] " b ") => (double[2,3] y) { y = " node " (" a ", " b ") }"

static const char *const elementwise[] = {
    SAME("x", "Abs"),
    SAME("u", "Acos"),
    "m (double[2,3] p) => (double[2,3] y) { o = Constant <value = double {1.0}> () "
    "q = Add (p, o) y = Acosh (q) }",
    SAME("u", "Asin"),
    SAME("x", "Asinh"),
    SAME("x", "Atan"),
    SAME("u", "Atanh"),
    SAME("x", "Ceil"),
    SAME("x", "Celu <alpha = 0.7>"),
    SAME("x", "Cos"),
    SAME("x", "Cosh"),
    SAME("x", "Elu <alpha = 0.7>"),
    SAME("x", "Erf"),
    SAME("x", "Exp"),
    SAME("x", "Floor"),
    SAME("x", "Gelu"),
    SAME("x", "Gelu <approximate = \"tanh\">"),
    SAME("x", "com.microsoft.Gelu"),
    SAME("x", "com.microsoft.QuickGelu <alpha = 1.3>"),
    SAME("x", "HardSigmoid <alpha = 0.3>"),
    SAME("x", "HardSwish"),
    SAME("x", "LeakyRelu <alpha = 0.1>"),
    SAME("p", "Log"),
    SAME("x", "Mish"),
    SAME("x", "Neg"),
    SAME("p", "Reciprocal"),
    SAME("x", "Relu"),
    SAME("x", "Round"),
    SAME("x", "Selu"),
    SAME("x", "Shrink <lambd = 0.7, bias = 0.2>"),
    SAME("x", "Sigmoid"),
    SAME("x", "Sign"),
    SAME("x", "EyeLike"),
    SAME("x", "Sin"),
    SAME("x", "Sinh"),
    SAME("x", "Softplus"),
    SAME("x", "Softsign"),
    SAME("p", "Sqrt"),
    SAME("x", "Swish <alpha = 1.5>"),
    SAME("u", "Tan"),
    SAME("x", "Tanh"),
    SAME("x", "ThresholdedRelu <alpha = 0.5>"),
    TWO("a", "b", "Add"),
    TWO("a", "b", "Sub"),
    TWO("a", "b", "Mul"),
    TWO("a", "p", "Div"),
    TWO("p", "b", "Pow"),
    TWO("p", "q", "Mod <fmod = 1>"),
    TWO("a", "b", "Max"),
    TWO("a", "b", "Min"),
    "m (double[2,3] a, double[3] b, double[2,1] c) => (double[2,3] y) { y = Sum (a, b, c) }",
    "m (double[2,3] a, double[3] b, double[2,1] c) => (double[2,3] y) { y = Mean (a, b, c) }",
    "m (double[2,3] a, double[3] b) => (double[2,3] y) { y = Max (a, b) }",
    "m (double[2,3] x, double[3] s) => (double[2,3] y) { y = PRelu (x, s) }",
    "m (double[4,2,3] a, double[3] b) => (double[4,2,3] y) { y = Mul (a, b) }",
    "m (double[2,1] a, double[1,3] b) => (double[2,3] y) { y = Mul (a, b) }",
    "m (double a, double[2,3] p) => (double[2,3] y) { y = Div (a, p) }",
    "m (double[2,3] x) => (double[2,3] y) { e = Constant <value = int64 {2}> () y = Pow (x, e) }",
    "m (double[2,3] x) => (double[2,3] y) { l = Constant <value = double {-0.5}> () "
    "h = Constant <value = double {0.7}> () y = Clip (x, l, h) }",
    "m (double[2,3] x) => (double[2,3] y) { h = Constant <value = double {0.7}> () "
    "y = Clip (x, , h) }",
    "m (double[2,3] x) => (double[2,3] y) { l = Constant <value = double {-0.7}> () "
    "y = Clip (x, l) }",
    "m (double[4,3] x) => (y) { l = Constant <value = double {0.0}> () "
    "h = Constant <value = double {0.9}> () y = Clip (x, l, h) }",
    "m (double[4,3] x) => (y) { l = Constant <value = double {-0.9}> () "
    "h = Constant <value = double {0.9}> () y = Clip (x, l, h) }",
    "m (double[4,3] x) => (y) { y = Clip (x) }",
    "m (double[2,3] a, double[2,1] b, double[3] c) => (double[2,3] y) { k = Less (a, c) "
    "y = Where (k, a, b) }",
    "m (double[4,3] x, int64 s) => (y) { y = hone.Dropout <ratio = 0.4, seed = 3> (x, s) }",
    "m (double[4,3] x) => (y) { y = Dropout (x) }",
    /* Of their input they read the shape alone. */
    "m (double[2,3] x) => (y) { n = RandomNormalLike <seed = 1.0> (x)"
    " u = RandomUniformLike <seed = 1.0> (x) s = Mul (n, u) y = Mul (s, x) }",
    /* Equal ones share: twice the whole would be wrong. */
    "m (double[2,3] x) => (y) { y = Max (x, x) }",
    "m (double[2,3] x) => (y) { q = Concat <axis = 0> (x, x, x) y = ReduceMax (q) }",
    "m (double[2,3] x) => (y) { q = Concat <axis = 0> (x, x) a = Constant <value = int64[1] {0}> ()"
    " y = ReduceMin (q, a) }",
    "m (double[2,3] x) => (y) { i = Constant <value = int64[2,3] {0, 0, 0, 1, 1, 1}> ()"
    " y = ScatterElements <reduction = \"max\"> (x, i, x) }",
    "m (double[1,2,2,2] x) => (y) { q = Concat <axis = 3> (x, x) y = GlobalMaxPool (q) }",
    /* Outside its range, where it is flat in x; inside it the gradient is none of differences:
     * tests/train/fake_quantize.c. */
    "m (double[1] p, double[1] q) => (double[1] y) { k = Constant <value = double {1000.0}> ()"
    " x = Mul (q, k) y = hone.FakeQuantize <qmin = -1, qmax = 1> (x, p) }",
    /* One value that several nodes read, and one that is read twice by a node. */
    "m (double[2,3] x) => (double[2,3] y) { a = Tanh (x) b = Mul (a, a) y = Add (b, x) }",
};

static const char *const products[] = {
    "m (double[2,3] a, double[3,4] b) => (double[2,4] y) { y = MatMul (a, b) }",
    "m (double[2,5,3] a, double[3,4] b) => (double[2,5,4] y) { y = MatMul (a, b) }",
    "m (double[2,1,2,3] a, double[4,3,2] b) => (double[2,4,2,2] y) { y = MatMul (a, b) }",
    "m (double[2,3] a, double[4,3,2] b) => (double[4,2,2] y) { y = MatMul (a, b) }",
    "m (double[3] a, double[3,4] b) => (double[4] y) { y = MatMul (a, b) }",
    "m (double[2,3] a, double[3] b) => (double[2] y) { y = MatMul (a, b) }",
    "m (double[3] a, double[2,3,4] b) => (double[2,4] y) { y = MatMul (a, b) }",
    "m (double[3] a, double[3] b) => (double y) { y = MatMul (a, b) }",
    "m (double[2,3] a, double[3,4] b, double[4] c) => (double[2,4] y) { y = Gemm (a, b, c) }",
    "m (double[3,2] a, double[3,4] b, double[2,1] c) => (double[2,4] y) {"
    " y = Gemm <transA = 1, alpha = 0.5, beta = 2.0> (a, b, c) }",
    "m (double[2,3] a, double[4,3] b) => (double[2,4] y) { y = Gemm <transB = 1> (a, b) }",
#define SUMMED(equation, operands, names) \
    "m (" operands ") => (y) { y = Einsum <equation = \"" equation "\"> (" names ") }"
    SUMMED("ij,jk->ik", "double[2,3] a, double[3,4] b", "a, b"),
    SUMMED("bhid,bhjd->bhij", "double[2,2,3,2] a, double[2,2,4,2] b", "a, b"),
    SUMMED("ij,jk,kl->il", "double[2,3] a, double[3,2] b, double[2,3] c", "a, b, c"),
    SUMMED("...ij,...jk->...ik", "double[2,1,2,3] a, double[4,3,2] b", "a, b"),
    SUMMED("ii->", "double[3,3] a", "a"),
    SUMMED("iij->ji", "double[3,3,2] a", "a"),
    SUMMED("ijk->j", "double[2,3,2] a", "a"),
    SUMMED("i,j->", "double[2] a, double[3] b", "a, b"),
    SUMMED("ij,ij", "double[2,3] a, double[1,3] b", "a, b"),
    SUMMED("ba", "double[2,3] a", "a"),
    SUMMED(",i->i", "double a, double[3] b", "a, b"),
    "m (double[2,3,3] x) => (y) { y = Det (x) }",
    "m (double[1,1] x) => (y) { y = Det (x) }",
    "m (double[2,2,2] x) => (y) { z = Constant <value = int64[1] {0}> () k = Gather <axis = 1> (x, "
    "z)"
    " q = Concat <axis = 1> (k, k) y = Det (q) }", /* singular */
    "m (double[3,2] a, double[4,3] b, double c) => (double[2,4] y) {"
    " y = Gemm <transA = 1, transB = 1, alpha = 0.5> (a, b, c) }",
    "m (double[2,3,5,4] x, double[4,3,3,2] w, double[4] b) => (y) { y = Conv (x, w, b) }",
    "m (double[2,2,6,5] x, double[4,2,3,3] w) => (y) {"
    " y = Conv <strides = [2, 2], pads = [1, 0, 1, 1]> (x, w) }",
    "m (double[1,4,7] x, double[6,2,2] w, double[6] b) => (y) {"
    " y = Conv <group = 2, dilations = [2], strides = [2]> (x, w, b) }",
    "m (double[2,3,5,5] x, double[3,1,3,3] w) => (y) {"
    " y = Conv <group = 3, auto_pad = \"SAME_UPPER\", strides = [2, 2]> (x, w) }",
    "m (double[1,2,3,3,3] x, double[2,2,2,2,2] w) => (y) { y = Conv (x, w) }",
    "m (double[2,3,4,3] x, double[3,2,3,2] w, double[2] b) => (y) {"
    " y = ConvTranspose (x, w, b) }",
    "m (double[1,4,3,3] x, double[4,1,3,3] w) => (y) {"
    " y = ConvTranspose <group = 2, strides = [2, 2], pads = [1, 1, 1, 1],"
    " output_padding = [1, 0]> (x, w) }",
};

static const char *const moves[] = {
    "m (double[2,3] x) => (double[3,2] y) { s = Constant <value = int64[2] {3, -1}> ()"
    " r = Reshape (x, s) y = Tanh (r) }",
    "m (double[2,3,2] x) => (y) { f = Flatten (x) y = Tanh (f) }",
    "m (double[2,1,2] x) => (y) { a = Constant <value = int64[1] {1}> () s = Squeeze (x, a)"
    " u = Unsqueeze (s, a) i = Identity (u) y = Tanh (i) }",
    "m (double[2,3,4] x) => (y) { t = Transpose <perm = [1, 2, 0]> (x) y = Tanh (t) }",
    "m (double[2,3] x) => (y) { y = Transpose (x) }",
    "m (double[2,3] a, double[2,1] b) => (y) { y = Concat <axis = -1> (a, b, a) }",
    "m (double[2,5] x) => (a, b) { s = Constant <value = int64[3] {2, 1, 2}> ()"
    " a, c, b = Split <axis = 1> (x, s) }",
    "m (double[3] x) => (y) { s = Constant <value = int64[2] {2, 3}> () y = Expand (x, s) }",
    "m (double[2,1] x) => (y) { s = Constant <value = int64[3] {4, 1, 3}> () y = Expand (x, s) }",
    "m (double[2,3] x) => (y) { r = Constant <value = int64[2] {3, 2}> () y = Tile (x, r) }",
    "m (double[4,3] x, int64[2,2] i) => (y) { y = Gather (x, i) }",
    "m (double[2,3,2] x, int64[4] i) => (y) { y = Gather <axis = 1> (x, i) }",
    "m (double[4,5] x) => (y) { s = Constant <value = int64[2] {1, -4}> ()"
    " e = Constant <value = int64[2] {3, 100}> () y = Slice (x, s, e) }",
    "m (double[5,7] x) => (y) { s = Constant <value = int64[2] {-1, 1}> ()"
    " e = Constant <value = int64[2] {-6, 6}> () a = Constant <value = int64[2] {0, 1}> ()"
    " t = Constant <value = int64[2] {-2, 3}> () y = Slice (x, s, e, a, t) }",
    "m (double[2,3] x) => (y) { p = Constant <value = int64[4] {1, 0, -1, 2}> () y = Pad (x, p) }",
    "m (double[2,3] x) => (float[2,3] z, double[2,3] y) { z = Cast <to = 1> (x)"
    " t = Tanh (x) c = Cast <to = 11> (t) y = CastLike (c, x) }",
#define PADDED(mode)                                                                   \
    "m (double[3,4] x) => (y) { p = Constant <value = int64[4] {2, -1, 1, 3}> () y = " \
    "Pad <mode = \"" mode "\"> (x, p) }"
    PADDED("reflect"),
    PADDED("edge"),
    PADDED("wrap"),
    "m (double[2,3] x) => (y) { p = Constant <value = int64[2] {1, 2}> ()"
    " a = Constant <value = int64[1] {-1}> () y = Pad <mode = \"reflect\"> (x, p, , a) }",
    "m (double[2,3] x, double c) => (y) { p = Constant <value = int64[4] {1, 0, -1, 2}> ()"
    " y = Pad (x, p, c) }",
    "m (double[5,4,3] x) => (y) { s = Constant <value = int64[3] {2, 7, 6}> ()"
    " y = CenterCropPad (x, s) }",
    "m (double[5,4] x) => (y) { s = Constant <value = int64[1] {7}> ()"
    " y = CenterCropPad <axes = [-1]> (x, s) }",
    "m (double[2,8,2,3] x) => (y) { y = DepthToSpace <blocksize = 2> (x) }",
    "m (double[1,8,2,3] x) => (y) { y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x) }",
    "m (double[2,2,4,6] x) => (y) { y = SpaceToDepth <blocksize = 2> (x) }",
    "m (double[2,3,2] x) => (y) { a = Constant <value = int64 {1}> () y = CumSum (x, a) }",
    "m (double[2,3] x) => (y) { a = Constant <value = int64 {-2}> ()"
    " y = CumSum <exclusive = 1, reverse = 1> (x, a) }",
    "m (double[2,3,2] x) => (y) { a = Constant <value = int64 {1}> () y = CumProd (x, a) }",
    "m (double[2,4] x) => (y) { a = Constant <value = int64 {-1}> ()"
    " y = CumProd <exclusive = 1, reverse = 1> (x, a) }",
    "m (double[2,3] x) => (y) { z = Constant <value = int64[1] {1}> () k = Gather (x, z)"
    " q = Sub (x, k) a = Constant <value = int64 {0}> () y = CumProd <reverse = 1> (q, a) }",
    "m (double[2,3,4] x) => (y) { y = Trilu (x) }",
    "m (double[3,4] x) => (y) { k = Constant <value = int64 {-1}> () y = Trilu <upper = 0> (x, k) "
    "}",
    "m (double[3,4] x, int64[2,3] i) => (y) { y = GatherElements (x, i) }",
    "m (double[3,4] x, int64[3,2] i) => (y) { y = GatherElements <axis = -1> (x, i) }",
    "m (double[3,4] x, int64[5,1] i) => (y) { y = GatherND (x, i) }",
    "m (double[3,4] x) => (y) { i = Constant <value = int64[3,2] {0, -1, 2, 1, 0, 3}> ()"
    " y = GatherND (x, i) }",
    "m (double[2,3,3,2] x, int64[2,3,2,1] i) => (y) { y = GatherND <batch_dims = 2> (x, i) }",
#define SCATTERED(attrs)                                                                           \
    "m (double[3,4] x, double[2,3] u, int64[2,3] i) => (y) { y = ScatterElements <" attrs          \
    "> (x, i, u) }",                                                                               \
        "m (double[3,4] x, double[3,4] u) => (y) { i = Constant <value = int64[3,1] {2, 0, 2}> ()" \
        " y = ScatterND <" attrs "> (x, i, u) }"
    SCATTERED("reduction = \"none\""),
    SCATTERED("reduction = \"add\""),
    SCATTERED("reduction = \"mul\""),
    SCATTERED("reduction = \"max\""),
    SCATTERED("reduction = \"min\""),
    "m (double[3,4] x, double[3,2] u, int64[3,2] i) => (y) {"
    " y = ScatterElements <axis = -1, reduction = \"add\"> (x, i, u) }",
    "m (double[2,3] x, double[2,2] u, int64[2,2] i) => (y) { z = Constant <value = int64[1] {0}> ()"
    " k = Gather (u, z) q = Sub (u, k)" /* a row of zeros */
    " y = ScatterElements <reduction = \"mul\"> (x, i, q) }",
    "m (double[3,5] x) => (y) { k = Constant <value = int64[1] {2}> () y, i = TopK (x, k) }",
    "m (double[5,3] x) => (y) { k = Constant <value = int64[1] {3}> ()"
    " y, i = TopK <axis = 0, largest = 0> (x, k) }",
    "m (double[4,3,2] x) => (y) { l = Constant <value = int64[3] {1, 4, 3}> ()"
    " y = ReverseSequence (x, l) }",
    "m (double[2,3] x) => (y) { l = Constant <value = int64[2] {3, 2}> ()"
    " y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }",
    "m (double[2,4,3] x, double[2,2,3] u) => (y) { w = Constant <value = int64[2] {1, 3}> ()"
    " y = TensorScatter <mode = \"circular\"> (x, u, w) }",
    "m (double[2,3,4] x, double[2,3,2] u) => (y) { y = TensorScatter <axis = -1> (x, u) }",
    "m (double[2] v, int64[2,3] i) => (y) { d = Constant <value = int64 {3}> ()"
    " y = OneHot (i, d, v) }",
    "m (double[2] v, int64[2,2] i) => (y) { d = Constant <value = int64[1] {2}> ()"
    " y = OneHot <axis = 0> (i, d, v) }",
    "m (double[5,2] x) => (y) { c = Constant <value = bool[4] {1, 0, 1, 1}> ()"
    " y = Compress <axis = -2> (x, c) }",
    "m (double[2,3] x) => (y) { c = Constant <value = bool[5] {0, 1, 1, 0, 1}> ()"
    " y = Compress (x, c) }",
    "m (double[1,1,2,2] x) => (y) { i = Constant <value = int64[1,1,2,2] {0, 3, 8, 15}> ()"
    " y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }",
    "m (double[1,1,2,2] x) => (y) { i = Constant <value = int64[1,1,2,2] {0, 3, 8, 15}> ()"
    " s = Constant <value = int64[4] {1, 1, 5, 6}> ()"
    " y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }",
    "m (double[2,12,6] x) => (y) { s = Constant <value = int64[2] {3, 4}> ()"
    " b = Constant <value = int64[2] {2, 2}> () y = Col2Im (x, s, b) }",
    "m (double[1,4,4] x) => (y) { s = Constant <value = int64[2] {5, 5}> ()"
    " b = Constant <value = int64[2] {2, 2}> ()"
    " y = Col2Im <strides = [2, 2], pads = [1, 0, 0, 1], dilations = [2, 2]> (x, s, b) }",
};

static const char *const reductions[] = {
#define REDUCED(x, op)                                      \
    "m (double[2,3,2] " x                                   \
    ") => (y) { a = Constant <value = int64[2] {0, -1}> ()" \
    " y = " op " (" x ", a) }",                             \
        "m (double[2,3,2] " x                               \
        ") => (y) { a = Constant <value = int64[1] {1}> ()" \
        " y = " op " <keepdims = 0> (" x ", a) }",          \
        "m (double[2,3] " x ") => (y) { y = " op " (" x ") }"
    REDUCED("x", "ReduceSum"),
    REDUCED("x", "ReduceMean"),
    REDUCED("x", "ReduceMax"),
    REDUCED("x", "ReduceMin"),
    REDUCED("x", "ReduceL1"),
    REDUCED("x", "ReduceL2"),
    REDUCED("x", "ReduceProd"),
    REDUCED("x", "ReduceSumSquare"),
    REDUCED("p", "ReduceLogSum"),
    REDUCED("x", "ReduceLogSumExp"),
    "m (double[2,3] x) => (y) { z = Constant <value = int64[1] {0}> () k = Gather (x, z)"
    " q = Sub (x, k) y = ReduceProd (q) }", /* one of the factors is 0 */
    "m (double[2,5] x) => (y) { y = Softmax (x) }",
    "m (double[2,3,2] x) => (y) { y = Softmax <axis = 1> (x) }",
    "m (double[2,5] x) => (y) { y = LogSoftmax (x) }",
    "m (double[3,2] x) => (y) { y = LogSoftmax <axis = 0> (x) }",
    "m (double[2,5] x) => (y) { y = Hardmax (x) }",
    "m (double[2,3,4] x, double[4] w, double[4] b) => (y) { y = LayerNormalization (x, w, b) }",
    "m (double[2,3,4] x, double[3,4] w) => (y) {"
    " y = LayerNormalization <axis = 1, epsilon = 0.01> (x, w) }",
    "m (double[2,3,4] x, double[4] w) => (y) { y = RMSNormalization (x, w) }",
    "m (double[2,3,4] x, double[3,4] w) => (y) {"
    " y = SimplifiedLayerNormalization <axis = 1, epsilon = 0.01> (x, w) }",
    "m (double[2,3,4] x, double[4] w) => (y) {"
    " y = com.microsoft.SimplifiedLayerNormalization (x, w) }",
    "m (double[2,3,4] x, double[3] s, double[3] b) => (y) {"
    " m = Constant <value = double[3] {0.1, 0.2, -0.3}> ()"
    " v = Constant <value = double[3] {1.5, 0.6, 0.9}> ()"
    " y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) }",
    "m (double[2,3,4] x, double[3] s, double[3] b) => (y) { y = InstanceNormalization (x, s, b) }",
    "m (double[2,4,3,2] x, double[4] s, double[4] b) => (y) {"
    " y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, s, b) }",
    "m (double[2,4] x, double[4] s, double[4] b) => (y) {"
    " y = GroupNormalization <num_groups = 1> (x, s, b) }",
    "m (double[2,3,2,2] x) => (y) { y = MeanVarianceNormalization (x) }",
    "m (double[2,3,4] x) => (y) { y = MeanVarianceNormalization <axes = [-1, 1]> (x) }",
    "m (double[2,5,2,2] x) => (y) {"
    " y = LRN <size = 3, alpha = 0.3, beta = 0.6, bias = 0.8> (x) }",
    "m (double[2,5] x) => (y) { y = LRN <size = 4, alpha = 0.5> (x) }",
    "m (double[2,3,2] x) => (y) { y = LpNormalization <axis = 1> (x) }",
    "m (double[2,3] x) => (y) { y = LpNormalization <p = 1> (x) }",
    "m (double[3,2,2,2] x, double[2] s, double[2] b) => (y) {"
    " m = Constant <value = double[2] {0.0, 0.0}> () v = Constant <value = double[2] {1.0, 1.0}> ()"
    " y, n, o = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
};

static const char *const windows[] = {
    "m (double[2,2,4,5] x) => (y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
    "m (double[1,2,5,5] x) => (y) {"
    " y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }",
    "m (double[1,2,6] x) => (y) {"
    " y = MaxPool <kernel_shape = [3], strides = [2], dilations = [2], ceil_mode = 1> (x) }",
    "m (double[2,2,4,5] x) => (y) { y = AveragePool <kernel_shape = [2, 3]> (x) }",
    "m (double[1,2,5,5] x) => (y) { y = AveragePool <kernel_shape = [3, 3], strides = [2, 2],"
    " pads = [1, 1, 1, 1], count_include_pad = 1> (x) }",
    "m (double[1,1,6,5] x) => (y) { y = AveragePool <kernel_shape = [3, 2], strides = [2, 2],"
    " pads = [1, 0, 1, 1], ceil_mode = 1, count_include_pad = 1> (x) }",
    "m (double[1,2,5] x) => (y) {"
    " y = AveragePool <kernel_shape = [2], strides = [2], auto_pad = \"SAME_LOWER\"> (x) }",
    "m (double[2,2,4,5] x) => (y) { y = LpPool <kernel_shape = [2, 3]> (x) }",
    "m (double[1,2,5,5] x) => (y) { y = LpPool <kernel_shape = [3, 3], strides = [2, 2],"
    " pads = [1, 1, 1, 1], p = 1> (x) }",
    "m (double[1,2,6] x) => (y) {"
    " y = LpPool <kernel_shape = [3], strides = [2], ceil_mode = 1, p = 3> (x) }",
    "m (double[1,2,7] x) => (y) { y = LpPool <kernel_shape = [2], strides = [3],"
    " dilations = [2], auto_pad = \"SAME_UPPER\"> (x) }",
    "m (double[2,2,3,2] x) => (y) { y = GlobalLpPool (x) }",
    "m (double[2,2,3] x) => (y) { y = GlobalLpPool <p = 3> (x) }",
    "m (double[2,2,3,2] x) => (y) { y = GlobalAveragePool (x) }",
    "m (double[2,2,3,2] x) => (y) { y = GlobalMaxPool (x) }",
};

/* Resize of [1, 2, 4, 5] or other sizes. */
#define RESIZED(attrs, h, w)                                                         \
    "m (double[1,2,4,5] x) => (y) { s = Constant <value = int64[4] {1, 2, " h ", " w \
    "}> ()"                                                                          \
    " y = Resize <" attrs "> (x, , , s) }"

static const char *const samples[] = {
    "m (double[2,1,3,2] x) => (y) { s = Constant <value = float[4] {1.0, 1.0, 2.0, 3.0}> ()"
    " y = Resize <coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\">"
    " (x, , s) }",
    "m (double[1,1,3,2] x) => (y) { s = Constant <value = float[4] {1.0, 1.0, 1.7, 0.5}> ()"
    " y = Resize (x, , s) }",
    "m (double[1,2,3,3] x) => (y) { s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()"
    " y = Resize <mode = \"linear\"> (x, , s) }",
    RESIZED("mode = \"linear\"", "7", "3"),
    RESIZED("mode = \"linear\", coordinate_transformation_mode = \"align_corners\"", "8", "9"),
    RESIZED("mode = \"linear\", antialias = 1", "2", "3"),
    RESIZED("mode = \"cubic\"", "7", "8"),
    RESIZED("mode = \"cubic\", exclude_outside = 1", "3", "9"),
    RESIZED("mode = \"nearest\", nearest_mode = \"ceil\"", "3", "7"),
    "m (double[1,1,4,5] x) => (y) { r = Constant <value = float[8] {0.0, 0.0, 0.2, -0.3, 1.0, 1.0,"
    " 0.8, 1.2}> () s = Constant <value = int64[4] {1, 1, 3, 6}> () y = Resize <mode = \"linear\","
    " coordinate_transformation_mode = \"tf_crop_and_resize\", extrapolation_value = 2.5>"
    " (x, r, , s) }",
    "m (double[4,3] x) => (y) { s = Constant <value = int64[1] {7}> ()"
    " y = Resize <axes = [0], mode = \"linear\"> (x, , , s) }",
#define SAMPLED(attrs) \
    "m (double[1,2,3,4] x, double[1,2,3,2] u) => (y) { y = GridSample <" attrs "> (x, u) }"
    SAMPLED("mode = \"linear\""),
    SAMPLED("mode = \"linear\", align_corners = 1, padding_mode = \"border\""),
    SAMPLED("mode = \"cubic\""),
    SAMPLED("mode = \"cubic\", padding_mode = \"reflection\", align_corners = 1"),
    SAMPLED("mode = \"nearest\""),
    "m (double[2,1,3,4] x, double[2,2,2,2] g) => (y) {"
    " y = GridSample <padding_mode = \"reflection\"> (x, g) }",
    "m (double[1,2,2,3,2] x, double[1,2,1,2,3] g) => (y) { y = GridSample (x, g) }",
    "m (double[2,5,1] x) => (y) { y = DFT (x) }",
    "m (double[2,5,1] x) => (y) { y = DFT <onesided = 1> (x) }",
    "m (double[2,4,3,2] x) => (y) { n = Constant <value = int64 {6}> ()"
    " a = Constant <value = int64 {1}> () y = DFT <inverse = 1> (x, n, a) }",
    "m (double[2,5,2] x) => (y) { n = Constant <value = int64 {3}> () y = DFT (x, n) }",
    "m (double[2,4,2] x) => (y) { y = DFT <inverse = 1, onesided = 1> (x) }",
    "m (double[2,4,2] x) => (y) { n = Constant <value = int64 {5}> ()"
    " y = DFT <inverse = 1, onesided = 1> (x, n) }",
    "m (double[2,9,1] x, double[4] w) => (y) { s = Constant <value = int64 {2}> ()"
    " y = STFT (x, s, w) }",
    "m (double[1,7,2] x) => (y) { s = Constant <value = int64 {3}> ()"
    " l = Constant <value = int64 {4}> () y = STFT <onesided = 0> (x, s, , l) }",
    "m (double[2,2,3] p) => (y) { s = Constant <value = int64[4] {2, 1, 3, 4}> ()"
    " y = AffineGrid (p, s) }",
    "m (double[1,3,4] p) => (y) { s = Constant <value = int64[5] {1, 1, 2, 3, 2}> ()"
    " y = AffineGrid <align_corners = 1> (p, s) }",
    "m (double[2,2,5,6] x) => (y) { r = Constant <value = double[3,4] {0.5, 1.0, 4.2, 3.7, 1.0, "
    "0.0,"
    " 5.5, 5.0, -3.0, 2.0, 2.5, 9.0}> () b = Constant <value = int64[3] {1, 0, 1}> ()"
    " y = RoiAlign <output_height = 2, output_width = 3, sampling_ratio = 2> (x, r, b) }",
    "m (double[1,1,5,6] x) => (y) { r = Constant <value = double[1,4] {1.0, 2.0, 9.0, 8.0}> ()"
    " b = Constant <value = int64[1] {0}> () y = RoiAlign <output_height = 2, spatial_scale = 0.5,"
    " coordinate_transformation_mode = \"output_half_pixel\"> (x, r, b) }",
    "m (double[1,2,5,6] x) => (y) { r = Constant <value = double[2,4] {0.5, 1.0, 4.2, 3.7, -9.0,"
    " 0.0, 5.5, 5.0}> () b = Constant <value = int64[2] {0, 0}> () y = RoiAlign <mode = \"max\","
    " output_height = 2, output_width = 2, sampling_ratio = 2> (x, r, b) }",
    "m (double[1,2,4,5] x, double[2,2,2,2] w, double[1,8,3,4] u, double[2] b) => (y) {"
    " y = DeformConv (x, w, u, b) }",
    "m (double[2,4,4,4] x, double[4,2,3,2] w, double[2,24,2,2] u, double[2,12,2,2] m) => (y) {"
    " y = DeformConv <group = 2, offset_group = 2, strides = [2, 2], pads = [1, 1, 1, 1],"
    " dilations = [1, 2]> (x, w, u, , m) }",
};

/* Layers that keep a state, over lengths that differ. */
#define LENGTHS "l = Constant <value = int32[3] {4, 2, 3}> () "
static const char *const recurrent[] = {
    "m (double[4,3,2] x, double[1,3,2] w, double[1,3,3] r) => (y, h) { y, h = RNN (x, w, r) }",
    "m (double[4,3,2] x, double[2,3,2] w, double[2,3,3] r, double[2,6] b, double[2,3,3] i) => (y, "
    "h)"
    " { " LENGTHS
    "y, h = RNN <direction = \"bidirectional\", activations = [\"Tanh\", \"Elu\"]>"
    " (x, w, r, b, l, i) }",
    "m (double[3,4,2] x, double[1,3,2] w, double[1,3,3] r, double[3,1,3] i) => (y, h) {"
    " y, h = RNN <layout = 1, direction = \"reverse\", clip = 1.1> (x, w, r, , , i) }",
    "m (double[4,3,2] x, double[1,9,2] w, double[1,9,3] r, double[1,18] b) => (y, h) {"
    " y, h = GRU (x, w, r, b) }",
    "m (double[4,3,2] x, double[2,9,2] w, double[2,9,3] r, double[2,18] b, double[2,3,3] i) => (y, "
    "h)"
    " { " LENGTHS
    "y, h = GRU <direction = \"bidirectional\", linear_before_reset = 1>"
    " (x, w, r, b, l, i) }",
    "m (double[2,1,2] x, double[1,6,2] w, double[1,6,2] r) => (h) {"
    " y, h = GRU <activations = [\"HardSigmoid\", \"Softsign\"]> (x, w, r) }",
    "m (double[4,3,2] x, double[1,8,2] w, double[1,8,2] r, double[1,16] b) => (y, h, c) {"
    " y, h, c = LSTM (x, w, r, b) }",
    "m (double[4,3,2] x, double[2,8,2] w, double[2,8,2] r, double[2,16] b, double[2,3,2] i,"
    " double[2,3,2] j, double[2,6] k) => (y, h, c) { " LENGTHS
    "y, h, c = LSTM <direction = \"bidirectional\"> (x, w, r, b, l, i, j, k) }",
    "m (double[3,4,2] x, double[1,8,2] w, double[1,8,2] r) => (h) {"
    " y, h, c = LSTM <layout = 1, input_forget = 1, direction = \"reverse\"> (x, w, r) }",
    "m (float[2,3,4] x, float[2,3,2] k, float[2,3,4] v) => (y, s) {"
    " y, s = LinearAttention <q_num_heads = 2, kv_num_heads = 1, update_rule = \"linear\"> (x, k, "
    "v) }",
    "m (float[2,3,4] u, float[2,3,4] uk, float[2,3,4] uv, float[2,2,2,2] up, float[2,3,2] ud,"
    " float[2,3,2] ub) => (y, s) { y, s = LinearAttention <q_num_heads = 2, kv_num_heads = 2> "
    "(u, uk, uv, up, ud, ub) }",
    "m (float[1,3,2] x, float[1,3,2] k, float[1,3,2] v, float[1,3,2] u) => (y, s) { y, s ="
    " LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"gated\", scale = 0.3>"
    " (x, k, v, , u) }",
    "m (float[2,3,4] x, float[3,1,3] w, float[3] b) => (y, s) {"
    " y, s = CausalConvWithState <activation = \"silu\"> (x, w, b) }",
    "m (float[2,3,4] x, float[3,1,3] w, float[2,3,2] p) => (y, s) {"
    " y, s = CausalConvWithState (x, w, , p) }",
};

static const char *const attentions[] = {
    "m (double[2,2,3,4] x, double[2,2,5,4] k, double[2,2,5,3] v) => (y) {"
    " y = Attention (x, k, v) }",
    "m (double[2,3,8] x, double[2,4,4] k, double[2,4,6] v, double[3,4] b) => (y, q) {"
    " y, , , q = Attention <q_num_heads = 4, kv_num_heads = 2, scale = 0.4, softcap = 2.0,"
    " qk_matmul_output_mode = 3> (x, k, v, b) }",
    "m (double[1,2,3,2] x, double[1,1,2,2] k, double[1,1,2,2] v, double[1,1,1,2] p,"
    " double[1,1,1,2] q) => (y, a, b) { y, a, b = Attention <is_causal = 1> (x, k, v, , p, q) }",
    /* The second row of the mask hides every key. */
    "m (double[1,1,2,2] x, double[1,1,3,2] k, double[1,1,3,2] v) => (y) {"
    " m = Constant <value = bool[2,3] {1, 0, 1, 0, 0, 0}> () y = Attention (x, k, v, m) }",
    "m (double[1,1,2,2] x, double[1,1,3,2] k, double[1,1,3,2] v) => (y) {"
    " m = Constant <value = bool[1,2] {1, 1}> () y = Attention (x, k, v, m) }",
    "m (double[2,1,3,2] x, double[2,1,4,2] k, double[2,1,4,2] v) => (y) {"
    " n = Constant <value = int64[2] {4, 3}> () y = Attention <is_causal = 1, left_window_size = 1,"
    " right_window_size = 1> (x, k, v, , , , n) }",
    "m (double[1,1,4,2] x, double[1,1,4,2] k, double[1,1,4,2] v) => (y, q) { y, , , q = Attention"
    " <left_window_size = 2, right_window_size = 0, qk_matmul_output_mode = 1> (x, k, v) }",
    "m (float[2,3,4] x, float[4,12] w, float[12] b) => (y) {"
    " y = com.microsoft.Attention <num_heads = 2> (x, w, b) }",
    "m (float[2,2,4] x, float[4,12] w, float[2,2,2,1,2] p, float[1,2,2,3] a) => (y, s) {"
    " m = Constant <value = int32[2,3] {1, 1, 0, 1, 1, 1}> ()"
    " y, s = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (x, w, , m, p, a) }",
    "m (float[2,3,4] x, float[2,5,4] k, float[2,5,6] v, float[14] b) => (y) {"
    " m = Constant <value = int32[2] {4, 5}> ()"
    " y = com.microsoft.MultiHeadAttention <num_heads = 2> (x, k, v, b, m) }",
    "m (float[2,3,2,3,2] x) => (y) { y = com.microsoft.MultiHeadAttention <num_heads = 2> (x) }",
    "m (float[1,2,4] x, float[1,2,3,2] k, float[1,2,3,2] v) => (y, q) { y, , , q ="
    " com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.5> (x, k, v) }",
    "m (float[1,2,4] x, float[1,3,2,2,2] k, float[1,2,1,2] p, float[1,2,1,2] q) => (y, a) {"
    " y, a = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1>"
    " (x, k, , , , , p, q) }",
    "m (float[1,2,3,4] x) => (y) { c = Constant <value = float[1,3,2] {0.5, 0.1, 0.2, 0.7, 0.9, "
    "-0.3"
    "}> () s = Constant <value = float[1,3,2] {0.2, 0.8, -0.4, 0.6, 0.1, 0.9}> ()"
    " y = RotaryEmbedding (x, c, s) }",
    "m (float[2,3,12] x, float[4,2] c, float[4,2] s) => (y) {"
    " i = Constant <value = int64[2,3] {0, 1, 3, 2, 2, 0}> () y = RotaryEmbedding <num_heads = 2,"
    " interleaved = 1, rotary_embedding_dim = 4> (x, c, s, i) }",
    "m (float[2,3,12] x, float[2,3,2] c, float[2,3,2] s) => (y) {"
    " y = RotaryEmbedding <num_heads = 2, rotary_embedding_dim = 4> (x, c, s) }",
    TWO("a", "b", "SwiGLU <alpha = 1.3>"),
};

static const char *const fused[] = {
    "m (double[2,3,4] x, double[4] b) => (y) { y = com.microsoft.BiasGelu (x, b) }",
    "m (double[2,4] x, double[4] b) => (y) { y = com.microsoft.FastGelu (x, b) }",
    "m (double[2,4] x) => (y) { y = com.microsoft.FastGelu (x) }",
    "m (double[2,3,5,4] x, double[4,3,3,2] w, double[4] b) => (y) {"
    " y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w, b) }",
    "m (double[1,2,4,4] x, double[2,2,3,3] w, double[1,2,4,4] z) => (y) { y ="
    " com.microsoft.FusedConv <activation = \"HardSigmoid\", activation_params = [0.1, 0.6],"
    " pads = [1, 1, 1, 1]> (x, w, , z) }",
#define ACTIVATED(f)                                                                       \
    "m (double[2,3] a, double[3,4] b, double[4] c) => (y) { y = com.microsoft.FusedGemm <" \
    "activation = \"" f "\", alpha = 0.5> (a, b, c) }"
    ACTIVATED("LeakyRelu"),
    ACTIVATED("Elu"),
    ACTIVATED("Selu"),
    ACTIVATED("ScaledTanh"),
    ACTIVATED("Affine"),
    ACTIVATED("ThresholdedRelu"),
    ACTIVATED("Softplus"),
    ACTIVATED("QuickGelu"),
    ACTIVATED("Clip"),
    "m (double[4,3,2] a, double[4,5,3] b) => (y) {"
    " y = com.microsoft.FusedMatMul <transA = 1, transB = 1, alpha = 0.3> (a, b) }",
    "m (double[2,4,3] a, double[3,4,5] b) => (y) {"
    " y = com.microsoft.FusedMatMul <transBatchA = 1, transBatchB = 1> (a, b) }",
    "m (double[3,2,4] a, double[2,3,5] b) => (y) {"
    " y = com.microsoft.FusedMatMul <transA = 1, transBatchA = 1> (a, b) }",
    "m (float[2,2,16] x, float[3] b) => (y) { w = Constant <value = uint8[3,1,8] {11, 48, 85, 122, "
    "159, 196, 233, 14, 51, 88, 125, 162, 199, 236, 17, 54, 91, 128, 165, 202, 239, 20, 57, 94}> ()"
    " s = Constant <value = float[3,1] {0.1, 0.05, 0.2}> () y = com.microsoft.MatMulNBits"
    " <K = 16, N = 3, bits = 4, block_size = 16> (x, w, s, , , b) }",
    "m (double[3,2] a, double[3,4] b) => (y) { y = com.microsoft.TransposeMatMul <transA = 1> (a, "
    "b) }",
    "m (float[2,3,4] x, float[3,4] s, float[4] w, float[4] b, float[4] c) => (y, z) { y, , , z ="
    " com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, s, w, b, c) }",
    "m (float[2,3,4] x, float[2,3,4] s, float[4] w) => (y) { y ="
    " com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (x, s, w) }",
    "m (float[4,3] x, float[5,3] p, float[3,3] s, float[3] w, float[3] b) => (y, n, z) {"
    " i = Constant <value = int32[2,3] {0, 3, 1, 2, 3, 3}> ()"
    " j = Constant <value = int32[2,3] {0, 1, 2, 2, 0, 0}> ()"
    " y, n, z = com.microsoft.EmbedLayerNormalization <epsilon = 0.01> (i, j, x, p, s, w, b) }",
    "m (float[4,3] x, float[5,3] p, float[3] w, float[3] b) => (y) {"
    " i = Constant <value = int32[2,3] {0, 3, 1, 2, 3, 3}> ()"
    " j = Constant <value = int32[1,3] {4, 1, 2}> ()"
    " y = com.microsoft.EmbedLayerNormalization <epsilon = 0.01> (i, , x, p, , w, b, , j) }",
};

static const char *const losses[] = {
    "m (double[4,3] x, int64[4] i) => (y) { y = SoftmaxCrossEntropyLoss (x, i) }",
    "m (double[4,3] x, int64[4] i) => (y) {"
    " y, l = SoftmaxCrossEntropyLoss <reduction = \"sum\", ignore_index = 1> (x, i) }",
    "m (double[2,3,4] x, int64[2,4] i) => (y) {"
    " w = Constant <value = double[3] {0.5, 1.0, 2.0}> ()"
    " y = SoftmaxCrossEntropyLoss <ignore_index = 2> (x, i, w) }",
    "m (double[4,3] x, int64[4] i) => (y) {"
    " y = SoftmaxCrossEntropyLoss <reduction = \"none\"> (x, i) }",
    "m (double[4,3] x, int64[4] i) => (y) {"
    " w = Constant <value = double[3] {0.5, 1.0, 2.0}> ()"
    " y = NegativeLogLikelihoodLoss (x, i, w) }",
};

static const struct {
    const char *const *texts;
    size_t n;
} tables[] = {
#define TABLE(t) \
    { t, sizeof t / sizeof *t }
    TABLE(elementwise), TABLE(products), TABLE(moves),     TABLE(reductions), TABLE(windows),
    TABLE(losses),      TABLE(samples),  TABLE(recurrent), TABLE(attentions), TABLE(fused),
};
enum { TABLES = sizeof tables / sizeof *tables };

static void agree(int table) {
    for (size_t i = 0; i < tables[table].n; i++) gradient_agrees(tables[table].texts[i]);
}

static void elementwise_agree(void **state) { (void)state, agree(0); }
static void products_agree(void **state) { (void)state, agree(1); }
static void moves_agree(void **state) { (void)state, agree(2); }
static void reductions_agree(void **state) { (void)state, agree(3); }
static void windows_agree(void **state) { (void)state, agree(4); }
static void losses_agree(void **state) { (void)state, agree(5); }
static void samples_agree(void **state) { (void)state, agree(6); }
static void recurrent_agree(void **state) { (void)state, agree(7); }
static void attentions_agree(void **state) { (void)state, agree(8); }
static void fused_agree(void **state) { (void)state, agree(9); }

static bool is_tested(const hn_op_def *op) {
    char with[2][100];
    const char *domain = op->domain != NULL ? op->domain : "";
    for (int k = 0; k < 2; k++)
        snprintf(with[k], sizeof with[k], "= %s%s%s %c", domain, domain[0] != '\0' ? "." : "",
                 op->name, k == 0 ? '(' : '<');
    for (int t = 0; t < TABLES; t++)
        for (size_t i = 0; i < tables[t].n; i++)
            for (int k = 0; k < 2; k++)
                if (strstr(tables[t].texts[i], with[k]) != NULL) return true;
    return false;
}

static void all_are_tested(void **state) {
    (void)state;
    for (int i = 0; i < hn_n_ops; i++)
        if (hn_op_has_grad(hn_ops[i]) && !is_tested(hn_ops[i]))
            fail_msg("no case for the gradient of %s", hn_ops[i]->name);
}

static void the_others_say_why(void **state) {
    (void)state;
    for (int i = 0; i < hn_n_ops; i++) {
        const char *why = hn_op_no_grad(hn_ops[i]);
        assert_true((why == NULL) == hn_op_has_grad(hn_ops[i]));
        if (why != NULL && strstr(why, "no rule") != NULL)
            fail_msg("%s has neither a gradient nor a reason why it has none", hn_ops[i]->name);
    }
}

static void refusals_say_where(void **state) {
    (void)state;
    gradient_refused("m (double[3,3] x) => (y) { a = Relu (x) y = Bernoulli (a) }",
                     "Bernoulli (output 'y') has no gradient: it draws at random");
    gradient_refused("m (double[3,3] x) => (y) { a = Relu (x) y = Bernoulli (a) }",
                     "on the way from 'a' to 'y'");
    gradient_refused(
        "m (double[3,3] x) => (y) { r = Constant <value = float {0.5}> ()"
        " t = Constant <value = bool {1}> () y = Dropout (x, r, t) }",
        "it drops at random");
    /* Scores that hold -inf stay with the operator; what lies beside them is differentiated. */
#define MASKED(outputs)                                                        \
    "m (double[1,1,2,2] x, double[1,1,3,2] k, double[1,1,3,2] v) => (" outputs \
    ") {"                                                                      \
    " b = Constant <value = bool[2,3] {1, 0, 1, 1, 1, 0}> ()"                  \
    " y, , , s = Attention <qk_matmul_output_mode = 2> (x, k, v, b) c = Cast <to = 1> (s) }"
    gradient_agrees(MASKED("y, c"));
    gradient_refused(MASKED("y, s"), "has no gradient: not by this output");
    /* Nothing flows through integers. */
    gradient_agrees(
        "m (double[2,3] x) => (double[2,3] y) { i = ArgMax (x) c = Cast <to = 11> (i)"
        " t = Tanh (x) y = Add (t, c) }");
}

/* A case of each kind of rule: those that make tables, arenas and nodes in the place of others. */
static void memory_may_run_out(void **state) {
    (void)state;
    static const int from[][2] = {{6, 3}, {6, 9}, {7, 1}, {7, 7}, {8, 1}, {8, 8}, {1, 13}};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        assert_true((size_t)from[i][1] < tables[from[i][0]].n);
        gradient_survives(tables[from[i][0]].texts[from[i][1]]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(elementwise_agree),  TEST(products_agree),     TEST(moves_agree),
        TEST(reductions_agree),   TEST(windows_agree),      TEST(losses_agree),
        TEST(samples_agree),      TEST(recurrent_agree),    TEST(attentions_agree),
        TEST(fused_agree),        TEST(all_are_tested),     TEST(the_others_say_why),
        TEST(memory_may_run_out), TEST(refusals_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
