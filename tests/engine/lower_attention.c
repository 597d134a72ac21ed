/* Attention through the engine and through the plain executor: the numbers agree, and the kernel
 * made for it computed them, or not where the graph wants something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/engine_model.h"

#define Q "float[2,3,9,8] q, "
#define KV "float[2,3,8,11] k, float[2,3,11,10] v"
#define Y "(float[2,3,9,10] y)"

static int attention(const engine_facts *f) { return engine_count(f, "attention_f32"); }

/* The whole graph is one step. */
static void alone(const char *text) {
    engine_facts f = engine_ran(text);
    if (f.n != 1 || attention(&f) != 1)
        fail_msg("%d steps of attention of %d, expected one: %s", attention(&f), f.n, text);
}

static void not_at_all(const char *text) {
    engine_facts f = engine_ran(text);
    if (attention(&f) != 0)
        fail_msg("%d steps of attention, expected none: %s", attention(&f), text);
}

static void products_around_a_softmax(void **state) {
    (void)state;
    alone("m (" Q KV ") => " Y "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    alone("m (" Q KV ") => " Y
          "<float scale = {0.25}>"
          "{ s = MatMul (q, k)  t = Mul (s, scale)  w = Softmax <axis: int = 3> (t)"
          "  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[2,1,9,11] mask) => " Y
          "<float scale = {3}>"
          "{ s = MatMul (q, k)  t = Div (s, scale)  u = Add (mask, t)  w = Softmax (u)"
          "  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[9,11] mask) => " Y
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[2,1,1,11] mask) => " Y
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  y = MatMul (w, v) }");
    alone("m (" Q KV ", float[11] mask) => " Y
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  y = MatMul (w, v) }");
    alone(
        "m (float[7,8] q, float[8,13] k, float[13,5] v) => (float[7,5] y)"
        "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    alone("m (float[2,3,9,8] q, float[8,11] k, float[3,11,10] v) => " Y
          "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
}

static void scores_that_a_mask_hides(void **state) {
    (void)state;
    alone("m (" Q KV ", bool[2,1,9,11] mask) => " Y
          "<float fill = {-1e9}, float scale = {0.25}>"
          "{ s = MatMul (q, k)  t = Mul (s, scale)  u = Where (mask, t, fill)  w = Softmax (u)"
          "  y = MatMul (w, v) }");
    alone("m (" Q KV ", bool[1,11] mask) => " Y
          "<float fill = {-3}>"
          "{ s = MatMul (q, k)  u = Where (mask, fill, s)  w = Softmax (u)  y = MatMul (w, v) }");
    /* The mask is computed by the step that would choose. */
    not_at_all("m (" Q KV ", float[2,3,9,11] mask) => " Y
               "<float fill = {-3}>"
               "{ s = MatMul (q, k)  c = Less (mask, fill)  u = Where (c, fill, s)"
               "  w = Softmax (u)  y = MatMul (w, v) }");
    not_at_all(
        "m (float[9,8] q, float[8,11] k, float[11,10] v, bool[2,9,11] mask) =>"
        "(float[2,9,10] y) <float fill = {-3}>"
        "{ s = MatMul (q, k)  u = Where (mask, fill, s)  w = Softmax (u)"
        "  y = MatMul (w, v) }");
    not_at_all("m (" Q KV ", bool[9,1] mask) => " Y
               "<float fill = {-3}>"
               "{ s = MatMul (q, k)  u = Where (mask, fill, s)  w = Softmax (u)"
               "  y = MatMul (w, v) }");
}

static void rows_without_weights_are_zero(void **state) {
    (void)state;
    alone("m (" Q KV ", float[9,11] mask) => " Y
          "<float zero = {0}>"
          "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  n = IsNaN (w)"
          "  u = Where (n, zero, w)  y = MatMul (u, v) }");
    not_at_all("m (" Q KV ", float[9,11] mask) => " Y
               "<float one = {1}>"
               "{ s = MatMul (q, k)  t = Add (s, mask)  w = Softmax (t)  n = IsNaN (w)"
               "  u = Where (n, one, w)  y = MatMul (u, v) }");
}

#define HEADS                                                                                 \
    "<int64[4] split = {2, 9, 3, 8}, int64[3] join = {2, 9, 24}, int64[3] flat = {6, 9, 8}, " \
    "int64[4] deep = {2, 3, 8, 9}>"

static void heads_are_strides(void **state) {
    (void)state;
    engine_facts f = engine_ran(
        "m (float[2,9,24] a, float[2,9,24] b, float[2,9,24] c) => (float[2,9,24] z)" HEADS
        "{ a4 = Reshape (a, split)  q = Transpose <perm: ints = [0, 2, 1, 3]> (a4)"
        "  b4 = Reshape (b, split)  k = Transpose <perm: ints = [0, 2, 3, 1]> (b4)"
        "  c4 = Reshape (c, split)  v = Transpose <perm: ints = [0, 2, 1, 3]> (c4)"
        "  s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v)"
        "  y4 = Transpose <perm: ints = [0, 2, 1, 3]> (y)  r = Reshape (y4, join)"
        "  z = Neg (r) }");
    assert_int_equal(attention(&f), 1);
    assert_int_equal(f.n, 2);
    /* Keys by way of [samples * heads, positions, size]. */
    f = engine_ran(
        "m (float[2,9,24] a, float[2,9,24] b, float[2,9,24] c) => (float[2,9,24] z)" HEADS
        "{ a4 = Reshape (a, split)  q = Transpose <perm: ints = [0, 2, 1, 3]> (a4)"
        "  b4 = Reshape (b, split)  k4 = Transpose <perm: ints = [0, 2, 1, 3]> (b4)"
        "  k3 = Reshape (k4, flat)  kt = Transpose <perm: ints = [0, 2, 1]> (k3)"
        "  k = Reshape (kt, deep)"
        "  c4 = Reshape (c, split)  v = Transpose <perm: ints = [0, 2, 1, 3]> (c4)"
        "  s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v)"
        "  y4 = Transpose <perm: ints = [0, 2, 1, 3]> (y)  r = Reshape (y4, join)"
        "  z = Neg (r) }");
    assert_int_equal(attention(&f), 1);
    assert_int_equal(f.n, 2);
}

static void numbers_become_the_scale(void **state) {
    (void)state;
    alone("m (" Q KV ") => " Y
          "<float a = {0.5}, float b = {0.25}>"
          "{ q2 = Mul (q, a)  k2 = Mul (b, k)  s = MatMul (q2, k2)  w = Softmax (s)"
          "  y = MatMul (w, v) }");
    /* Heads and all. */
    engine_facts f = engine_ran(
        "m (float[2,9,24] a, float[2,9,24] b, float[2,9,24] c) => (float[2,3,9,8] y)"
        "<int64[4] split = {2, 9, 3, 8}, float f = {0.7}>"
        "{ a4 = Reshape (a, split)  q = Transpose <perm: ints = [0, 2, 1, 3]> (a4)"
        "  b4 = Reshape (b, split)  k = Transpose <perm: ints = [0, 2, 3, 1]> (b4)"
        "  c4 = Reshape (c, split)  v = Transpose <perm: ints = [0, 2, 1, 3]> (c4)"
        "  q2 = Mul (q, f)  k2 = Mul (k, f)  s = MatMul (q2, k2)  w = Softmax (s)"
        "  y = MatMul (w, v) }");
    assert_int_equal(attention(&f), 1);
    assert_int_equal(f.n, 1);
    /* What a number multiplies was computed on the way to the product with it: one step more. */
    f = engine_ran("m (" Q KV ") => " Y
                   "<float a = {0.5}>"
                   "{ e = Exp (q)  q2 = Mul (e, a)  s = MatMul (q2, k)  w = Softmax (s)"
                   "  y = MatMul (w, v) }");
    assert_int_equal(attention(&f), 1);
    assert_int_equal(f.n, 2);
    /* No number, but one for each element. */
    f = engine_ran("m (" Q KV ", float[8] a) => " Y
                   "{ q2 = Mul (q, a)  s = MatMul (q2, k)  w = Softmax (s)  y = MatMul (w, v) }");
    assert_int_equal(attention(&f), 1);
    assert_int_equal(f.n, 2);
}

static void what_is_wanted_besides_stays(void **state) {
    (void)state;
    not_at_all("m (" Q KV
               ") => (float[2,3,9,10] y, float[2,3,9,11] w)"
               "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    not_at_all("m (" Q KV
               ") => (float[2,3,9,10] y, float[2,3,9,11] s)"
               "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
    not_at_all("m (" Q KV ") => " Y
               "{ s = MatMul (q, k)  w = Softmax <axis: int = 2> (s)  y = MatMul (w, v) }");
    not_at_all("m (" Q KV ") => " Y
               "{ s = MatMul (q, k)  t = Relu (s)  w = Softmax (t)  y = MatMul (w, v) }");
    not_at_all(
        "m (float[7,8] q, float[8,7] k, float[7,5] v) => (float[7,5] y)"
        "{ s = MatMul (q, k)  t = Transpose (s)  w = Softmax (t)  y = MatMul (w, v) }");
    not_at_all(
        "m (float[1,9,8] q, float[1,8,11] k, float[2,11,10] v) => (float[2,9,10] y)"
        "{ s = MatMul (q, k)  w = Softmax (s)  y = MatMul (w, v) }");
}

#define QKV4 "float[2,6,9,8] q, float[2,6,11,8] k, float[2,6,11,10] v"
#define Y4 "(float[2,6,9,10] y)"

static void the_operator(void **state) {
    (void)state;
    alone("m (" QKV4 ") => " Y4 "{ y = Attention (q, k, v) }");
    alone("m (" QKV4 ") => " Y4
          "{ y = Attention <scale: float = 0.5, is_causal: int = 1> (q, k, v) }");
    alone("m (" QKV4 ", float[9,11] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    alone("m (" QKV4 ", float[2,6,9,11] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    alone("m (float[2,6,9,8] q, float[2,2,11,8] k, float[2,2,11,10] v, float[2,1,9,11] mask) => " Y4
          "{ y = Attention (q, k, v, mask) }");
    alone(
        "m (float[2,9,48] q, float[2,11,16] k, float[2,11,20] v) => (float[2,9,60] y)"
        "{ y = Attention <q_num_heads: int = 6, kv_num_heads: int = 2> (q, k, v) }");
    alone("m (" QKV4 ", bool[9,11] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    not_at_all("m (" QKV4 ") => " Y4 "{ y = Attention <softcap: float = 2.0> (q, k, v) }");
    not_at_all("m (" QKV4 ", float[9,4] mask) => " Y4 "{ y = Attention (q, k, v, mask) }");
    not_at_all("m (" QKV4
               ") => (float[2,6,9,10] y, float[2,6,11,8] pk, float[2,6,11,10] pv)"
               "{ y, pk, pv = Attention (q, k, v) }");
}

static void memory_may_run_out(void **state) {
    (void)state;
    engine_survives(
        "m (" Q KV
        ", bool[9,11] mask) => (float[2,9,3,10] z) <float fill = {-3}>"
        "{ s = MatMul (q, k)  u = Where (mask, s, fill)  w = Softmax (u)  y = MatMul (w, v)"
        "  z = Transpose <perm: ints = [0, 2, 1, 3]> (y) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_around_a_softmax),
        cmocka_unit_test(scores_that_a_mask_hides),
        cmocka_unit_test(rows_without_weights_are_zero),
        cmocka_unit_test(heads_are_strides),
        cmocka_unit_test(numbers_become_the_scale),
        cmocka_unit_test(what_is_wanted_besides_stays),
        cmocka_unit_test(the_operator),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
