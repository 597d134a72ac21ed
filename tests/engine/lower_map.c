/* Small models through the engine and through the plain executor: the numbers agree, and the labels
 * of the steps say what was fused. Copies into another layout are left out: whether a kernel needs
 * them depends on the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/engine_model.h"

/* labels: of the steps. NULL: any. */
static engine_facts run(const char *text, const char *labels) {
    engine_facts f = engine_ran(text);
    if (labels != NULL && strcmp(f.labels, labels) != 0)
        fail_msg("labels are '%s', expected '%s': %s", f.labels, labels, text);
    return f;
}

#define CONV_IN "float[2,8,7,6] x, float[16,8,3,3] w"
#define IMAGE "float[2,16,5,4]"

/* ---- one operator each ---- */

static void each_operator(void **state) {
    (void)state;
    static const char *const unary[] = {"Abs",       "Neg",      "Exp",   "Erf",         "Floor",
                                        "Ceil",      "Round",    "Sign",  "Sigmoid",     "Tanh",
                                        "Softplus",  "Softsign", "Relu",  "HardSwish",   "Mish",
                                        "Identity",  "Gelu",     "Swish", "HardSigmoid", "Elu",
                                        "LeakyRelu", "Selu",     "Celu"};
    char text[400];
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        snprintf(text, sizeof text, "m (float[3,37] x) => (float[3,37] y) { y = %s (x) }",
                 unary[i]);
        run(text, strcmp(unary[i], "Identity") == 0 ? "" : unary[i]);
    }
    static const char *const binary[] = {"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"};
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        snprintf(text, sizeof text,
                 "m (float[2,3,37] a, float[3,1] b) => (float[2,3,37] y) "
                 "{ y = %s (a, b) }",
                 binary[i]);
        run(text, binary[i]);
    }
    static const char *const relations[] = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"};
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        snprintf(text, sizeof text,
                 "m (float[5,7] a, float[7] b) => (bool[5,7] y) { y = %s (a, b) }", relations[i]);
        run(text, relations[i]);
    }
    static const char *const logic[] = {"And", "Or", "Xor", "Equal"};
    for (size_t i = 0; i < sizeof logic / sizeof *logic; i++) {
        snprintf(text, sizeof text,
                 "m (bool[5,7] a, bool[5,1] b) => (bool[5,7] y) { y = %s (a, b) }", logic[i]);
        run(text, logic[i]);
    }
    run("m (float[5,37] a, float[37] b) => (float[5,37] y) { y = Mod (a, b) }", "Mod");
    run("m (float[5,37] a, float[5,1] b) => (float[5,37] y) { y = Mod <fmod = 1> (a, b) }", "Mod");
    run("m (float[5,37] odd, float[37] odd2) => (float[5,37] y) { y = Mod <fmod = 1> (odd, odd2) }",
        "Mod");
    run("m (float[5,37] odd, float[37] odd2) => (float[5,37] y) { y = Mod (odd, odd2) }", "Mod");
    run("m (float[4,9] x) => (float[4,9] y) { y = Gelu <approximate: string = \"tanh\"> (x) }",
        "Gelu");
    run("m (bool[4,1] c, float[4,9] a, float[9] b) => (float[4,9] y) { y = Where (c, a, b) }",
        "Where");
    run("m (bool[4,9] x) => (float[4,9] y) { y = Cast <to: int = 1> (x) }", "Cast");
    run("m (float[4,9] x) => (bool[4,9] y) { y = Cast <to: int = 9> (x) }", "Cast");
    run("m (float[4,9] a, float[9] b, float[4,1] c) => (float[4,9] y) { y = Mean (a, b, c) }",
        "Mean");
    run("m (float[4,9] a, float[9] b, float[4,1] c) => (float[4,9] y) { y = Max (a, b, c) }",
        "Max");
    run("m (float a, float b) => (float y) { y = Add (a, b) }", "Add");
    run("m (float[4,9] x) => (float[4,9] y) { y = Celu <alpha: float = 0.3> (x) }", "Celu");
    run("m (float[2,5,9] x, float[5] s, float[5] b, float[5] m) => (float[2,5,9] y)"
        "<float[5] v = {1, 0.5, 2, 3, 0.25}> { y = BatchNormalization (x, s, b, m, v) }",
        "BatchNormalization, BatchNormalization");
    run("m (float[2,5,9] x, float[5] ws, float[5] wb, float[5] wm, float[5] wv) => (float[2,5,9] y)"
        "{ a = Exp (x)  y = BatchNormalization <epsilon: float = 0.1> (a, ws, wb, wm, wv) }",
        "Exp+BatchNormalization");
    run("m (float[4,1,9] x, float[1] ws, float[1] wb, float[1] wm, float[1] wv) => (float[4,1,9] y)"
        "{ y = BatchNormalization (x, ws, wb, wm, wv) }",
        "BatchNormalization");
    /* Factors that are no numbers: those of the reference all the same. */
    run("m (float[2,2,9] x, float[2] ws, float[2] wb, float[2] wm) => (float[2,2,9] y)"
        "<float[2] v = {0, 1}>"
        "{ y = BatchNormalization <epsilon: float = 0.0> (x, ws, wb, wm, v) }",
        "BatchNormalization");
}

static void tests_for_what_is_no_number(void **state) {
    (void)state;
    run("m (float[37] x) => (bool[37] y) { r = Sqrt (x)  y = IsNaN (r) }", "Sqrt+IsNaN");
    run("m (float[37] x) => (bool[37] y) { c = Ceil (x)  r = Div (x, c)  y = IsInf (r) }",
        "Ceil+Div+IsInf");
    run("m (float[37] x) => (bool[37] y)"
        "{ c = Ceil (x)  r = Div (x, c)  y = IsInf <detect_negative: int = 0> (r) }",
        "Ceil+Div+IsInf");
    run("m (float[37] x) => (bool[37] y)"
        "{ c = Ceil (x)  a = Abs (c)  r = Div (x, a)  y = IsInf <detect_positive: int = 0> (r) }",
        "Ceil+Abs+Div+IsInf");
}

static void what_is_no_f32_stays_with_the_reference(void **state) {
    (void)state;
    run("m (int64[40] a, int64[40] b) => (int64[40] y) { y = Add (a, b) }", "Add");
    run("m (float[40] a) => (int32[40] y) { y = Cast <to: int = 6> (a) }", "Cast");
    run("m (float[1,2,1,2,1,2,3] a) => (float[1,2,1,2,1,2,3] y) { y = Exp (a) }", "Exp");
}

/* ---- programs ---- */

static void chains_are_one_program(void **state) {
    (void)state;
    run("m (float[6,50] x, float[50] s, float[50] t) => (float[6,50] y)"
        "{ a = Mul (x, s)  b = Add (a, t)  c = Tanh (b)  y = Mul (c, x) }",
        "Mul+Add+Tanh+Mul");
    run("m (float[6,50] x) => (float[6,50] y) { a = Exp (x)  y = Mul (a, a) }", "Exp+Mul");
    run("m (float[6,50] x, float[6,50] z) => (float[6,50] y)"
        "{ a = Exp (x)  c = Less (a, z)  y = Where (c, x, z) }",
        "Exp+Less+Where");
    run("m (float[6,50] x, float wk) => (float[6,50] y) <int64 two = {2}>"
        "{ a = Sub (wk, x)  b = Pow (a, two)  y = Div (b, wk) }",
        "Sub+Pow+Div");
    /* The first has to wait for an operand made after it. */
    run("m (float[6,50] x, float[5,50] z) => (float[6,50] y)"
        "{ a = Exp (x)  b = ReduceSum <keepdims: int = 1> (z)  y = Sub (a, b) }",
        "ReduceSum, Exp+Sub");
}

static void trees_are_one_program_too(void **state) {
    (void)state;
    run("m (float[3,40] a, float[40] b, float[3,1] c) => (float[3,40] y)"
        "{ s = Add (a, b)  e = Exp (a)  d = Mul (e, c)  y = Div (s, d) }",
        "Exp+Mul+Add+Div");
    /* What broadcasts is not computed for each element anew. */
    run("m (float[3,40] a, float[40] b) => (float[3,40] y)"
        "{ s = Exp (a)  e = Exp (b)  y = Mul (s, e) }",
        "Exp, Exp+Mul");
    /* The other part is wanted elsewhere. */
    run("m (float[3,40] a, float[40] b) => (float[3,40] y, float[3,40] z)"
        "{ s = Add (a, b)  e = Exp (a)  y = Mul (s, e)  z = Neg (e) }",
        "Exp, Add+Mul, Neg");
    /* Both and the node do not fit into one program. */
    char text[2000] =
        "m (float[5,8] x, float[8] z) => (float[5,8] y) { a0 = Add (x, z) b0 = Sub (x, z) ";
    for (int i = 1; i < 12; i++)
        snprintf(text + strlen(text), 90, " a%d = Tanh (a%d) b%d = Tanh (b%d)", i, i - 1, i, i - 1);
    strcat(text, " y = Mul (a11, b11) }");
    run(text,
        "Add+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh, "
        "Sub+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Mul");
}

/* Values that the caller wants besides are outputs of the program, too. */
static void programs_have_several_outputs(void **state) {
    (void)state;
    run("m (float[6,50] x) => (float[6,50] y, float[6,50] a) { a = Exp (x)  y = Neg (a) }",
        "Exp+Neg");
    run("m (float[6,50] x) => (float[6,50] y, float[6,50] a, float[6,50] b)"
        "{ a = Exp (x)  b = Add (a, x)  y = Mul (b, b) }",
        "Exp+Add+Mul");
    run("m (float[6,50] x, float[50] z) => (float[6,50] b, float[6,50] y, float[6,50] a)"
        "{ a = Add (x, z)  b = Exp (x)  c = Sqrt (b)  y = Mul (c, a) }",
        "Exp+Sqrt+Add+Mul");
    /* The same value as both operands, and twice an output. */
    run("m (float[6,50] x, float[6,50] z) => (float[6,50] y, float[6,50] a, float[6,50] a)"
        "{ a = Exp (x)  b = Neg (z)  c = Sub (b, a)  y = Mul (c, a) }",
        "Exp, Neg+Sub+Mul");
    run("m (float[6,50] x) => (float[6,50] y, bool[6,50] a)"
        "{ l = Abs (x)  a = Less (x, l)  y = Where (a, x, l) }",
        "Abs, Less+Where");
    /* As an AdamW step is spelled out. */
    run("m (float[5,8] p, float[5,8] g, float[5,8] m, float[5,8] v, float r) =>"
        "(float[5,8] p2, float[5,8] m2, float[5,8] v2) <float c = {0.1}, float e = {0.5}>"
        "{ a = Sub (g, m)  b = Mul (a, c)  m2 = Add (b, m)"
        "  q = Mul (g, g)  d = Sub (q, v)  h = Mul (d, c)  v2 = Add (h, v)"
        "  w = Abs (v2)  s = Sqrt (w)  t = Add (s, e)  u = Div (m2, t)  k = Mul (u, r)"
        "  p2 = Sub (p, k) }",
        "Mul+Sub+Mul+Add+Abs+Sqrt+Add+Sub+Mul+Add+Div+Mul+Sub");
    /* More than a step has outputs for. */
    run("m (float[5,8] x) => (float[5,8] a, float[5,8] b, float[5,8] c, float[5,8] d, float[5,8] e)"
        "{ a = Exp (x)  b = Neg (a)  c = Abs (b)  d = Sqrt (c)  e = Tanh (d) }",
        "Exp+Neg+Abs+Sqrt, Tanh");
}

static void values_with_other_uses_are_kept(void **state) {
    (void)state;
    run("m (float[6,50] x) => (float[6,50] y, float[6,50] z)"
        "{ a = Exp (x)  y = Neg (a)  z = Abs (a) }",
        "Exp, Neg, Abs");
    /* A program runs over the elements of one shape. */
    run("m (float[50] x, float[6,50] z) => (float[6,50] y) { a = Exp (x)  y = Add (a, z) }",
        "Exp, Add");
}

static void a_full_program_is_followed_by_another(void **state) {
    (void)state;
    char text[2000] = "m (float[5,8] x) => (float[5,8] y) { v0 = Trilu (x) ";
    for (int i = 1; i < 30; i++) snprintf(text + strlen(text), 60, " v%d = Tanh (v%d)", i, i - 1);
    strcat(text, " y = Neg (v29) }");
    run(text,
        "Trilu, "
        "Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+"
        "Tanh+Tanh+Tanh+Tanh+Tanh+Tanh+Tanh, Tanh+Tanh+Tanh+Tanh+Tanh+Neg");
}

/* ---- convolutions ---- */

static void activations_end_a_convolution(void **state) {
    (void)state;
    static const char *const acts[] = {"Relu",      "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid",
                                       "HardSwish", "Gelu",      "Elu",     "Mish", "Swish"};
    char text[400], label[40];
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        snprintf(text, sizeof text,
                 "m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  y = %s (a) }", acts[i]);
        snprintf(label, sizeof label, "Conv+%s", acts[i]);
        run(text, label);
    }
    run("m (" CONV_IN ", float wlo) => (" IMAGE " y) { a = Conv (x, w)  y = Clip (a, wlo) }",
        "Conv+Clip");
    /* Limits within limits are one activation, whichever way they meet. */
    run("m (" CONV_IN ") => (" IMAGE
        " y) <float lo = {-0.5}, float hi = {0.25}>"
        "{ a = Conv (x, w)  b = Relu (a)  y = Clip (b, lo, hi) }",
        "Conv+Relu+Clip");
    run("m (" CONV_IN ") => (" IMAGE
        " y) <float lo = {-0.5}, float hi = {0.25}>"
        "{ a = Conv (x, w)  b = Clip (a, lo, hi)  y = Relu (b) }",
        "Conv+Clip+Relu");
    run("m (" CONV_IN ") => (" IMAGE
        " y) <float lo = {-0.5}, float hi = {-0.25}, float k = {1}>"
        "{ a = Conv (x, w)  b = Relu (a)  c = Clip (b, lo, hi)  y = Add (c, k) }",
        "Conv+Relu+Clip, Add");
    /* Limits that are computed stay with the reference; one activation is all there is room for. */
    run("m (" CONV_IN ", float lo) => (" IMAGE " y) { a = Conv (x, w)  y = Clip (a, lo) }",
        "Conv, Clip");
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  b = Relu (a)  y = Tanh (b) }",
        "Conv+Relu, Tanh");
}

static void residuals_end_a_convolution(void **state) {
    (void)state;
    run("m (" CONV_IN ", float[16,8,3,3] w2) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Conv (x, w2)  c = Add (a, b)  y = Relu (c) }",
        "Conv, Conv+Add+Relu");
    /* The convolution waits for an operand made after it. */
    run("m (" CONV_IN ", float[16,8,3,3] w2) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Conv (x, w2)  r = Relu (b)  r2 = Tanh (r)  c = Add (a, r2)"
        "  y = Relu (c) }",
        "Conv+Relu, Tanh, Conv+Add+Relu");
    run("m (" CONV_IN ", float[16,1,1] wb) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Add (wb, a)  y = Relu (b) }",
        "Conv+Add+Relu");
}

static void no_residual_where_it_does_not_fit(void **state) {
    (void)state;
    /* Broadcast, planar, used twice, an output, after the activation, a second one. */
    run("m (" CONV_IN ", float[2,1,5,4] r) => (" IMAGE " y) { a = Conv (x, w)  y = Add (a, r) }",
        "Conv, Add");
    run("m (" CONV_IN ", " IMAGE " r) => (" IMAGE " y) { a = Conv (x, w)  y = Add (r, a) }", NULL);
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  b = Tanh (a)  y = Add (a, b) }",
        "Conv, Tanh+Add");
    run("m (" CONV_IN ") => (" IMAGE " y, " IMAGE " a) { a = Conv (x, w)  y = Relu (a) }",
        "Conv, Relu");
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  y = Add (a, a) }", "Conv, Add");
    run("m (" CONV_IN ", float[16,8,3,3] w2) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  b = Conv (x, w2)  c = Relu (a)  d = Tanh (b)  y = Add (c, d) }",
        "Conv+Relu, Conv+Tanh, Add");
}

static void gates(void **state) {
    (void)state;
    run("m (" CONV_IN ") => (" IMAGE " y) { a = Conv (x, w)  s = Sigmoid (a)  y = Mul (s, a) }",
        "Conv+Sigmoid+Mul");
    run("m (float[3,37] x) => (float[3,37] y) { a = Exp (x)  s = Sigmoid (a)  y = Mul (a, s) }",
        "Exp+Sigmoid+Mul");
    run("m (" CONV_IN ") => (" IMAGE " y, " IMAGE
        " s)"
        "{ a = Conv (x, w)  s = Sigmoid (a)  y = Mul (s, a) }",
        "Conv, Sigmoid+Mul");
    run("m (" CONV_IN ", float[2,16,1,1] g) => (" IMAGE
        " y)"
        "{ a = Conv (x, w)  s = Sigmoid (g)  y = Mul (a, s) }",
        "Conv, Sigmoid, Mul");
}

/* ---- products ---- */

static void products_have_ends_too(void **state) {
    (void)state;
    run("m (float[2,9,8] x, float[8,12] w, float[12] wb, float[2,9,12] r) => (float[2,9,12] y)"
        "{ a = MatMul (x, w)  b = Add (a, wb)  c = Add (r, b)  y = Gelu (c) }",
        "MatMul+Add+Add+Gelu");
    /* Scores of attention: scaled, and masked for all heads at once. */
    run("m (float[2,3,9,8] q, float[2,3,8,9] k, float wk, float[2,1,1,9] r) => (float[2,3,9,9] y)"
        "{ a = MatMul (q, k)  b = Div (a, wk)  y = Add (b, r) }",
        "MatMul+Div+Add");
    run("m (float[2,3,9,8] q, float[2,3,8,9] k, float wk) => (float[2,3,9,9] y)"
        "{ a = MatMul (q, k)  y = Div (wk, a) }",
        "MatMul, Div");
}

/* ---- views ---- */

static void views_do_not_part_a_step_from_what_follows(void **state) {
    (void)state;
    run("m (float[1,8,9,1] x, float[16,8,3,1] w, float[16,1] wb) => (float[1,16,7] y)"
        "<int64[1] last = {3}>"
        "{ a = Conv (x, w)  b = Squeeze (a, last)  c = Add (b, wb)  y = Gelu (c) }",
        "Conv+Add+Gelu");
    run("m (" CONV_IN
        ", float[2,5,4,16] r) => (float[2,20,16] y)"
        "<int64[3] s = {2, 20, 16}>"
        "{ a = Conv (x, w)  b = Transpose <perm: ints = [0, 2, 3, 1]> (a)  c = Add (b, r)"
        "  d = Reshape (c, s)  y = Sigmoid (d) }",
        "Conv+Add+Sigmoid");
    /* Rows of a square become columns. */
    run("m (float[6,8] q, float[8,6] k, float[6] r) => (float[6,6] y)"
        "{ a = MatMul (q, k)  b = Transpose (a)  y = Add (b, r) }",
        "MatMul+Add");
    /* The value before the view is wanted too. */
    run("m (" CONV_IN ") => (float[2,5,4,16] y, " IMAGE
        " z)"
        "{ a = Conv (x, w)  b = Transpose <perm: ints = [0, 2, 3, 1]> (a)  y = Relu (b)  z = Neg "
        "(a) }",
        "Conv, Relu, Neg");
}

static void slow_functions_are_not_computed_in_empty_vectors(void **state) {
    (void)state;
    run("m (float[1,8,6,6] x, float[3,8,1,1] w) => (float[1,3,6,6] y)"
        "{ a = Conv (x, w)  y = Sigmoid (a) }",
        "Conv, Sigmoid");
    run("m (float[1,8,6,6] x, float[3,8,1,1] w) => (float[1,3,6,6] y)"
        "{ a = Conv (x, w)  y = Relu (a) }",
        "Conv+Relu");
}

/* ---- memory ---- */

#define PLANE "float[64,64]"

/* With s in the place of a or b there are two tensors, not three; Trilu is a reference. */
static void results_take_the_place_of_operands(void **state) {
    (void)state;
    engine_facts f = run("m (" PLANE " x) => (" PLANE " y, " PLANE
                         " z)"
                         "{ a = Trilu (x)  b = Trilu <upper = 0> (x)  s = Add (a, b)  y = Trilu "
                         "(s)  z = Trilu <upper = 0> (s) }",
                         "Trilu, Trilu, Add, Trilu, Trilu");
    assert_int_equal(f.slab, 2 * 64 * 64 * 4);
    /* An operand that is read later keeps its place. */
    f = run("m (" PLANE " x) => (" PLANE " y, " PLANE " z, " PLANE
            " u)"
            "{ a = Trilu (x)  s = Exp (a)  y = Trilu (s)  z = Trilu <upper = 0> (s)  u = Trilu "
            "(a) }",
            "Trilu, Exp, Trilu, Trilu, Trilu");
    assert_int_equal(f.slab, 2 * 64 * 64 * 4);
    /* The residual of a convolution: c, and what was a. */
    f =
        run("m (float[1,16,8,8] x, float[16,16,1,1] w, float[16,16,1,1] w2, float[16,16,1,1] w3)"
            " => (float[1,16,8,8] y)"
            "{ a = Conv (x, w)  b = Conv (a, w2)  c = Relu (b)  d = Conv (c, w3)  y = Add (d, a) }",
            "Conv, Conv+Relu, Conv+Add");
    assert_int_equal(f.slab, 2 * 16 * 64 * 4);
}

static void memory_may_run_out(void **state) {
    (void)state;
    engine_survives(
        "m (" PLANE " x, float[64] b) => (" PLANE
        " y)"
        "{ a = Sin (x)  c = Mul (a, b)  d = Sigmoid (c)  e = Mul (c, d)  y = Add (e, x) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operator),
        cmocka_unit_test(tests_for_what_is_no_number),
        cmocka_unit_test(what_is_no_f32_stays_with_the_reference),
        cmocka_unit_test(chains_are_one_program),
        cmocka_unit_test(trees_are_one_program_too),
        cmocka_unit_test(programs_have_several_outputs),
        cmocka_unit_test(values_with_other_uses_are_kept),
        cmocka_unit_test(a_full_program_is_followed_by_another),
        cmocka_unit_test(activations_end_a_convolution),
        cmocka_unit_test(residuals_end_a_convolution),
        cmocka_unit_test(no_residual_where_it_does_not_fit),
        cmocka_unit_test(gates),
        cmocka_unit_test(products_have_ends_too),
        cmocka_unit_test(views_do_not_part_a_step_from_what_follows),
        cmocka_unit_test(slow_functions_are_not_computed_in_empty_vectors),
        cmocka_unit_test(results_take_the_place_of_operands),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
