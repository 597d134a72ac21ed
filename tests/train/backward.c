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
    SAME("x", "Sigmoid"),
    SAME("x", "Sign"),
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
    "m (double[2,3] a, double[2,1] b, double[3] c) => (double[2,3] y) { k = Less (a, c) "
    "y = Where (k, a, b) }",
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
    "m (double[2,2,3,2] x) => (y) { y = GlobalAveragePool (x) }",
    "m (double[2,2,3,2] x) => (y) { y = GlobalMaxPool (x) }",
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
    TABLE(elementwise), TABLE(products), TABLE(moves),
    TABLE(reductions),  TABLE(windows),  TABLE(losses),
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

static void refusals_say_where(void **state) {
    (void)state;
    gradient_refused("m (double[3,3] x) => (double y) { a = Relu (x) y = Det (a) }",
                     "on the way from 'a' to 'y'");
    /* Nothing flows through integers. */
    gradient_agrees(
        "m (double[2,3] x) => (double[2,3] y) { i = ArgMax (x) c = Cast <to = 11> (i)"
        " t = Tanh (x) y = Add (t, c) }");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(elementwise_agree), TEST(products_agree),     TEST(moves_agree),
        TEST(reductions_agree),  TEST(windows_agree),      TEST(losses_agree),
        TEST(all_are_tested),    TEST(refusals_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
