#include "passes/set_dim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "support/scratch.h"
#include "support/stack.h"

static hn_error err;

static hn_model *parse(const char *text) {
    hn_model *m = NULL;
    if (hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_model_bind_ops(m);
    return m;
}

typedef struct buffer {
    char text[16384];
    size_t n;
} buffer;

static hone_status collect(void *ctx, const void *data, size_t bytes, hn_error *e) {
    buffer *b = ctx;
    if (bytes >= sizeof b->text - b->n) return HN_FAIL(e, HONE_E_LIMIT, "larger than a test");
    memcpy(b->text + b->n, data, bytes);
    b->n += bytes;
    b->text[b->n] = '\0';
    return HONE_OK;
}

/* The model from its first line on, without the header, types and all. */
static void print(const hn_model *m, buffer *b) {
    b->n = 0;
    hn_text_out out = {.text = collect, .text_ctx = b, .all_types = true};
    if (hn_text_print(m, &out, &err) != HONE_OK) fail_msg("%s", err.text);
}

static void check_sound(hn_model *m) {
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_infer(m, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
}

static void expect(const hn_model *m, const char *text) {
    static buffer b;
    print(m, &b);
    assert_string_equal(strstr(b.text, ">\n") + 2, text);
}

static void set(hn_model *m, const char *input, int axis, const char *to) {
    if (hn_model_set_dim(m, input, axis, to, &err) != HONE_OK) fail_msg("%s", err.text);
    check_sound(m);
}

/* Setting fails with a message that begins like this, and leaves no trace. */
static void refuse(hn_model *m, const char *input, int axis, const char *to, const char *message) {
    static buffer before, after;
    if (hn_model_infer(m, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    print(m, &before);
    assert_int_not_equal(hn_model_set_dim(m, input, axis, to, &err), HONE_OK);
    if (strncmp(err.text, message, strlen(message)) != 0) assert_string_equal(err.text, message);
    print(m, &after);
    assert_string_equal(after.text, before.text);
    check_sound(m);
}

/* The first input's axis made symbolic turns the graph into `wanted`, and its numbers are right. */
static void stacks(const char *text, int axis, int out_axis, const char *wanted) {
    hn_model *a = parse(text), *b = parse(text);
    check_sound(a);
    set(b, a->graph->inputs[0]->name, axis, "n");
    expect(b, wanted);
    stack_check(a, b, axis, out_axis);
    hn_model_destroy(a);
    hn_model_destroy(b);
}

/* ---- Reshape ---- */

static void reshape_copies(void **state) {
    (void)state;
    stacks("g (float[1,4,2] x) => (float[1,8] y) <int64[2] s = {1, 8}> { y = Reshape (x, s) }", 0,
           0,
           "g (float[n,4,2] x) => (float[n,8] y)\n"
           "<\n   int64[2] s_1 = {0, 8}\n>\n"
           "{\n   y = Reshape (x, s_1)\n}\n");
    stacks("g (float[1,4,2] x) => (float[] y) <int64[2] s = {1, -1}> { y = Reshape (x, s) }", 0, 0,
           "g (float[n,4,2] x) => (float[n,8] y)\n"
           "<\n   int64[2] s_1 = {0, -1}\n>\n"
           "{\n   y = Reshape (x, s_1)\n}\n");
    /* Nothing to do. */
    stacks("g (float[1,4,2] x) => (float[1,8] y) <int64[2] s = {-1, 8}> { y = Reshape (x, s) }", 0,
           0,
           "g (float[n,4,2] x) => (float[n,8] y)\n"
           "<\n   int64[2] s = {-1, 8}\n>\n"
           "{\n   y = Reshape (x, s)\n}\n");
    /* 0 means zero: -1 it is. */
    stacks(
        "g (float[2,4] x) => (float[2,2,2] y) <int64[3] s = {2, 2, 2}> { y = Reshape <allowzero = "
        "1> (x, s) }",
        0, 0,
        "g (float[n,4] x) => (float[n,2,2] y)\n"
        "<\n   int64[3] s_1 = {-1, 2, 2}\n>\n"
        "{\n   y = Reshape <allowzero: int = 1> (x, s_1)\n}\n");
}

/* The batch is merged with the axis after it, and split off again. */
static void reshape_batch_first(void **state) {
    (void)state;
    stacks(
        "g (float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1, 2, 3, 4}, int64[2] s = {3, 2}, "
        "int64[3] r = {1, 3, 2}> { a = Reshape (x, s) b = MatMul (a, w) y = Reshape (b, r) }",
        0, 0,
        "g (float[n,3,2] x) => (float[n,3,2] y)\n"
        "<\n   float[2,2] w = {1, 2, 3, 4},\n   int64[2] s_1 = {-1, 2},\n   int64[3] r_2 = {-1, 3, "
        "2},\n"
        "   float[\"3*n\",2] a,\n   float[\"3*n\",2] b\n>\n"
        "{\n   a = Reshape (x, s_1)\n   b = MatMul (a, w)\n   y = Reshape (b, r_2)\n}\n");
}

/* The batch is merged with the axis before it: with a size of 1, only where it lay tells the second
 * Reshape that it is axis 1. */
static void reshape_sequence_first(void **state) {
    (void)state;
    stacks(
        "g (float[3,1,2] x) => (float[3,1,2] y) <float[2,2] w = {1, 2, 3, 4}, int64[2] s = {3, 2}, "
        "int64[3] r = {3, 1, 2}> { a = Reshape (x, s) b = MatMul (a, w) c = Relu (b) y = Reshape "
        "(c, r) }",
        1, 1,
        "g (float[3,n,2] x) => (float[3,n,2] y)\n"
        "<\n   float[2,2] w = {1, 2, 3, 4},\n   int64[2] s_1 = {-1, 2},\n   int64[3] r_2 = {3, -1, "
        "2},\n"
        "   float[\"3*n\",2] a,\n   float[\"3*n\",2] b,\n   float[\"3*n\",2] c\n>\n"
        "{\n   a = Reshape (x, s_1)\n   b = MatMul (a, w)\n   c = Relu (b)\n   y = Reshape (c, "
        "r_2)\n}\n");
}

/* Heads of attention move between batch and width. */
static void reshape_heads(void **state) {
    (void)state;
    const char *text =
        "g (float[2,3,4] x) => (float[2,3,4] y)\n"
        "<int64[4] split = {2, 3, 2, 2}, int64[3] merge = {4, 3, 2}, int64[4] back = {2, 2, 3, 2}, "
        "int64[3] all = {2, 3, 4}>\n"
        "{ a = Reshape (x, split) b = Transpose <perm = [0, 2, 1, 3]> (a) c = Reshape (b, merge) d "
        "= Transpose <perm = [0, 2, 1]> (c) e = MatMul (c, d) f = Softmax (e) h = MatMul (f, c) i "
        "= "
        "Reshape (h, back) j = Transpose <perm = [0, 2, 1, 3]> (i) y = Reshape (j, all) }";
    hn_model *a = parse(text), *b = parse(text);
    check_sound(a);
    set(b, "x", 0, "n");
    stack_check(a, b, 0, 0);
    static buffer printed;
    print(b, &printed);
    assert_non_null(strstr(printed.text,
                           "int64[4] split_1 = {0, 3, 2, 2},\n   int64[3] merge_2 = "
                           "{-1, 3, 2},\n   int64[4] back_3 = {-1, 2, 3, 2},\n   "
                           "int64[3] all_4 = {0, 3, 4},\n"));
    hn_model_destroy(a);
    hn_model_destroy(b);
}

/* A constant that others use too stays; one from a Constant node is let go with its node. */
static void constants_of_others(void **state) {
    (void)state;
    stacks(
        "g (float[2,6] x) => (float[2,2,3] y)\n"
        "<float[12] w = {1,2,3,4,5,6,7,8,9,10,11,12}>\n"
        "{ s = Constant <value = int64[3] {2, 2, 3}> ()\n"
        "  r = Constant <value_ints = [2, 2, 3]> ()\n"
        "  v = Reshape (w, s) p = ReduceMax (v) a = Reshape (x, s) b = Reshape (a, r)\n"
        "  y = Add (b, p) }",
        0, 0,
        "g (float[n,6] x) => (float[n,2,3] y)\n"
        "<\n   float[12] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},\n"
        "   int64[3] s_1 = {0, 2, 3},\n   int64[3] r_2 = {0, 2, 3},\n   int64[3] s,\n"
        "   float[2,2,3] v,\n   float[1,1,1] p,\n   float[n,2,3] a,\n   float[n,2,3] b\n>\n"
        "{\n   s = Constant <value: tensor = int64[3] {2, 2, 3}> ()\n   v = Reshape (w, s)\n   p "
        "= ReduceMax (v)\n   a = Reshape (x, s_1)\n   b = Reshape (a, r_2)\n   y = Add (b, "
        "p)\n}\n");
}

/* Shapes that are computed need nothing. */
static void computed_shapes(void **state) {
    (void)state;
    stacks(
        "g (float[2,6] x) => (float[2,2,3] y) <int64[2] r = {2, 3}> { s = Shape <end = 1> (x) t = "
        "Concat <axis = 0> (s, r) y = Reshape (x, t) }",
        0, 0,
        "g (float[n,6] x) => (float[n,2,3] y)\n"
        "<\n   int64[2] r = {2, 3},\n   int64[1] s,\n   int64[3] t\n>\n"
        "{\n   s = Shape <end: int = 1> (x)\n   t = Concat <axis: int = 0> (s, r)\n   y = Reshape "
        "(x, t)\n}\n");
}

/* ---- other operators ---- */

static void expand_slice_resize(void **state) {
    (void)state;
    stacks("g (float[2,1] x) => (float[2,3] y) <int64[2] s = {2, 3}> { y = Expand (x, s) }", 0, 0,
           "g (float[n,1] x) => (float[n,3] y)\n"
           "<\n   int64[2] s_1 = {1, 3}\n>\n"
           "{\n   y = Expand (x, s_1)\n}\n");
    stacks(
        "g (float[2,4] x) => (float[2,2] y) <int64[2] b = {0, 1}, int64[2] e = {2, 3}> { y = "
        "Slice (x, b, e) }",
        0, 0,
        "g (float[n,4] x) => (float[n,2] y)\n"
        "<\n   int64[2] b = {0, 1},\n   int64[2] e_1 = {9223372036854775807, 3}\n>\n"
        "{\n   y = Slice (x, b, e_1)\n}\n");
    /* A part of the axis stays that part. */
    hn_model *m = parse(
        "g (float[4,2] x) => (float[1,2] y) <int64[1] b = {0}, int64[1] e = {1}> { y = "
        "Slice (x, b, e) }");
    set(m, "x", 0, "9");
    expect(m,
           "g (float[9,2] x) => (float[1,2] y)\n"
           "<\n   int64[1] b = {0},\n   int64[1] e = {1}\n>\n"
           "{\n   y = Slice (x, b, e)\n}\n");
    hn_model_destroy(m);
    stacks(
        "g (float[1,2,3,4] x) => (float[1,2,6,2] y) <int64[4] s = {1, 2, 6, 2}> { y = Resize <mode "
        "= \"linear\"> (x, , , s) }",
        0, 0,
        "g (float[n,2,3,4] x) => (float[n,2,6,2] y)\n"
        "<\n   float[4] scales = {1, 1, 2, 0.5}\n>\n"
        "{\n   y = Resize <mode: string = \"linear\"> (x, \"\", scales, \"\")\n}\n");
}

/* A spatial axis, through strides and a skip connection that only works for even sizes. */
static void spatial_axis(void **state) {
    (void)state;
    hn_model *m = parse(
        "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <int64[4] s = {1, 1, 4, 4}, int64[2] r = {1, "
        "16}> { a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) b = Resize (a, , , s) y "
        "= "
        "Add (x, b) z = Reshape (y, r) }");
    set(m, "x", 2, "h");
    expect(m,
           "g (float[1,1,h,4] x) => (float[1,1,\"join(h, 2*floor(h/2))\",4] y)\n"
           "<\n   float[4] scales = {1, 1, 2, 2},\n   int64[2] r_1 = {1, -1},\n"
           "   float[1,1,\"floor(h/2)\",2] a,\n   float[1,1,\"2*floor(h/2)\",4] b,\n"
           "   float[1,\"4*join(h, 2*floor(h/2))\"] z\n>\n"
           "{\n   a = MaxPool <kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (x)\n   b = "
           "Resize (a, \"\", scales, \"\")\n   y = Add (x, b)\n   z = Reshape (y, r_1)\n}\n");
    hn_model_destroy(m);
}

/* ---- symbols ---- */

static void symbols(void **state) {
    (void)state;
    const char *text =
        "g (float[n,?] x, float[n,2] z, bool c) => (float[n,q] y, float[\"n + 1\",2] w)\n"
        "<float[1,2] one = {1, 1}, float[n,2] h>\n"
        "{ y = Relu (x) h = Neg (z) w = Concat <axis = 0> (h, one)\n"
        "  u = If (c) <then_branch = t () => (float[n,2] k) { k = Neg (z) }, else_branch = e () => "
        "(float[n,2] l) { l = Abs (z) }> }";
    hn_model *m = parse(text);
    set(m, "x", 0, "5");
    set(m, "x", -1, "wide");
    expect(m,
           "g (float[5,wide] x, float[5,2] z, bool c) => (float[5,wide] y, float[6,2] w)\n"
           "<\n   float[1,2] one = {1, 1},\n   float[5,2] h,\n   float[5,2] u\n>\n"
           "{\n   y = Relu (x)\n   h = Neg (z)\n   w = Concat <axis: int = 0> (h, one)\n   u = If "
           "(c) <then_branch: graph = t () => (float[5,2] k) {\n      k = Neg (z)\n   }, "
           "else_branch: graph = e () => (float[5,2] l) {\n      l = Abs (z)\n   }>\n}\n");
    hn_model_destroy(m);
    m = parse(text);
    set(m, "z", 0, "batch");
    set(m, "z", 0, "batch");
    static buffer b;
    print(m, &b);
    assert_non_null(strstr(b.text,
                           "g (float[batch,?] x, float[batch,2] z, bool c) => "
                           "(float[batch,q] y, float[\"batch + 1\",2] w)"));
    hn_model_destroy(m);
    /* What no size fits is refused. */
    m = parse("g (float[n,2] x) => (y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { y = Add (x, w) }");
    refuse(m, "x", 0, "2",
           "axis 0 of 'x' cannot become 2: Add (output 'y'): input 1 of shape [3, 2] does not "
           "broadcast with [2, 2]");
    set(m, "x", 0, "3");
    hn_model_destroy(m);
}

/* What a file states about sizes is not saved again once they changed. */
static void stated_types(void **state) {
    (void)state;
    hn_model *m = parse("g (float[n] x) => (float[n] y) { y = Relu (x) }");
    set(m, "x", 0, "4");
    assert_null(hn_graph_value(m->graph, "x")->stated);
    assert_true(hn_dim_is(hn_graph_value(m->graph, "y")->stated->shape.dim[0], 4));
    hn_model_destroy(m);
}

static void numbers(void **state) {
    (void)state;
    hn_model *m = parse(
        "g (float[2,6] x) => (float[2,2,3] y) <int64[3] s = {2, 2, 3}> { y = Reshape "
        "(x, s) }");
    set(m, "x", 0, "5");
    expect(m,
           "g (float[5,6] x) => (float[5,2,3] y)\n"
           "<\n   int64[3] s_1 = {0, 2, 3}\n>\n"
           "{\n   y = Reshape (x, s_1)\n}\n");
    set(m, "x", 0, "n");
    set(m, "x", 0, "7");
    hn_model_destroy(m);
    m = parse("g (float[2,6] x) => (float[12] y) <int64[1] s = {12}> { y = Reshape (x, s) }");
    set(m, "x", 0, "5");
    expect(m,
           "g (float[5,6] x) => (float[30] y)\n"
           "<\n   int64[1] s_1 = {30}\n>\n"
           "{\n   y = Reshape (x, s_1)\n}\n");
    hn_model_destroy(m);
}

/* Inputs that must agree are set together. */
static void several_inputs(void **state) {
    (void)state;
    const char *text =
        "g (float[2,3] x, float[2,3] z) => (float[2,6] y) { y = Concat <axis = 1> (x, "
        "z) }";
    hn_model *a = parse(text), *b = parse(text);
    check_sound(a);
    refuse(b, "x", 0, "n", "axis 0 of 'x' cannot become n: Concat (output 'y'): ");
    hn_dim_setting both[] = {{"x", 0, "n"}, {"z", 0, "n"}};
    if (hn_model_set_dims(b, both, 2, &err) != HONE_OK) fail_msg("%s", err.text);
    check_sound(b);
    stack_check(a, b, 0, 0);
    hn_model_destroy(a);
    hn_model_destroy(b);
    b = parse("g (float[2,3] x, float[5,3] z) => () {}");
    both[1].input = "z";
    assert_int_equal(hn_model_set_dims(b, both, 2, &err), HONE_E_ARG);
    assert_string_equal(err.text, "'n' would stand for 2 and for 5");
    both[1] = (hn_dim_setting){"x", -2, "m"};
    assert_int_equal(hn_model_set_dims(b, both, 2, &err), HONE_E_ARG);
    assert_string_equal(err.text, "axis 0 of 'x' is set twice");
    assert_int_equal(hn_model_set_dims(b, NULL, 0, &err), HONE_OK);
    hn_model_destroy(b);
}

static void inside_loops(void **state) {
    (void)state;
    stacks(
        "g (float[2,4] x) => (float[2,4] y)\n"
        "<int64 times = {3}, bool yes = {1}, int64[3] s = {2, 2, 2}, int64[2] r = {2, 4}>\n"
        "{ y = Loop (times, yes, x) <body = b (int64 i, bool c, float[2,4] v) => (bool d, "
        "float[2,4] o) { d = Identity (c) p = Reshape (v, s) q = Reshape (p, r) o = Add (q, q) }> "
        "}",
        0, 0,
        "g (float[n,4] x) => (float[n,4] y)\n"
        "<\n   int64 times = {3},\n   bool yes = {1}\n>\n"
        "{\n   y = Loop (times, yes, x) <body: graph = b (int64 i, bool c, float[n,4] v) => (bool "
        "d, float[n,4] o)\n   <\n      int64[3] s_1 = {0, 2, 2},\n      int64[2] r_2 = {0, 4},\n  "
        "    float[n,2,2] p,\n      float[n,4] q\n   >\n   {\n      d = Identity (c)\n      p = "
        "Reshape (v, s_1)\n      q = Reshape (p, r_2)\n      o = Add (q, q)\n   }>\n}\n");
}

/* ---- what cannot be done ---- */

static void refuse_text(const char *text, const char *input, int axis, const char *to,
                        const char *message) {
    hn_model *m = parse(text);
    refuse(m, input, axis, to, message);
    hn_model_destroy(m);
}

static void baked_in(void **state) {
    (void)state;
    refuse_text(
        "g (float[6,2] x) => (y) <int64[3] s = {2, 3, 2}> { y = Reshape (x, s) }", "x", 0, "n",
        "axis 0 of 'x' cannot become n: Reshape (output 'y'): the size 6 of axis 0 is baked "
        "in");
    /* A size that is there twice, and not where the input has it. */
    refuse_text(
        "g (float[4,2] x) => (y) <int64[4] s = {1, 1, 4, 4}> { t = Transpose (x) w = MatMul (x, "
        "t) y = Reshape (w, s) }",
        "x", 0, "n",
        "axis 0 of 'x' cannot become n: Reshape (output 'y'): the wanted shape would need "
        "-1 at axes 2 and 3");
    refuse_text(
        "g (float[4,2] x) => (a, b) <int64[2] s = {1, 3}> { a, b = Split <axis = 0> (x, s) }", "x",
        0, "n", "axis 0 of 'x' cannot become n: Split (output 'a'): ");
    refuse_text(
        "g (float[4,2] x) => (y) <float[1,2] w = {1, 2}, int64[2] s = {4, 1}> { a = Tile (w, "
        "s) b = Neg (a) [sum] y = Add (x, b) }",
        "x", 0, "n",
        "axis 0 of 'x' cannot become n: Add 'sum': input 1 of shape [4, 2] does not "
        "broadcast with [8, 2]; the size 4 comes from Tile (output 'a')");
    refuse_text("g (float[3,2] x) => (y) <float[3,1] w = {1, 2, 3}> { y = Mul (w, x) }", "x", 0,
                "9",
                "axis 0 of 'x' cannot become 9: Mul (output 'y'): input 1 of shape [9, 2] does not "
                "broadcast with [3, 1]; the size 3 comes from initializer 'w'");
    refuse_text("g (float[1,2] x) => (y) <int64[1] axes = {0}> { y = Squeeze (x, axes) }", "x", 0,
                "n", "axis 0 of 'x' cannot become n: Squeeze (output 'y'): ");
    refuse_text("g (float[1,1,3] x) => (y) <int64[3] s = {1, 1, 7}> { y = Resize (x, , , s) }", "x",
                0, "n",
                "axis 0 of 'x' cannot become n: Resize (output 'y'): the size 7 is baked in");
    /* Where sizes before it are not known, a merged axis cannot be placed. */
    refuse_text(
        "g (float[s,1,4] x) => (y) <int64[2] r = {-1, 4}> { y = Reshape (x, r) }", "x", 1, "n",
        "axis 1 of 'x' cannot become n: Reshape (output 'y'): the size 1 of axis 1 is baked "
        "in");
}

static void bad_arguments(void **state) {
    (void)state;
    const char *text = "g (float[2,n] x, float[] z) => (float[2,n] y) { y = Relu (x) }";
    refuse_text(text, "a", 0, "n", "the model has no input 'a'");
    refuse_text(text, "y", 0, "n", "the model has no input 'y'");
    refuse_text(text, "z", 0, "n", "the rank of 'z' is not known");
    refuse_text(text, "x", 2, "n", "axis 2 of 'x' is outside [-2, 2)");
    refuse_text(text, "x", -3, "n", "axis -3 of 'x' is outside [-2, 2)");
    refuse_text(text, "x", 0, "", "found '', wanted a number of 1 or more or a name");
    refuse_text(text, "x", 0, "-1", "found '-1', wanted a number of 1 or more or a name");
    refuse_text(text, "x", 0, "3x", "found '3x', wanted a number of 1 or more or a name");
    refuse_text(text, "x", 0, "0", "found 0, wanted a number of 1 or more or a name");
    refuse_text(text, "x", 0, "99999999999999999999",
                "99999999999999999999 is more than 2147483647, the largest size");
}

/* Whichever allocation fails, the model is as it was. */
static void every_allocation_fails(void **state) {
    (void)state;
    const char *text =
        "g (float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1, 2, 3, 4}, int64[2] s = {3, 2}, "
        "int64[3] r = {1, 3, 2}> { a = Reshape (x, s) b = MatMul (a, w) c = Reshape (b, r) y = "
        "Expand (c, r) }";
    static buffer before, after;
    hn_model *m = parse(text);
    check_sound(m);
    print(m, &before);
    hone_status status = HONE_E_NOMEM;
    for (long long n = 0; status == HONE_E_NOMEM; n++) {
        atomic_store(&scratch_mem.fail_after, n);
        status = hn_model_set_dim(m, "x", 0, "n", &err);
        atomic_store(&scratch_mem.fail_after, -1);
        check_sound(m);
        print(m, &after);
        if (status == HONE_E_NOMEM) assert_string_equal(after.text, before.text);
    }
    assert_int_equal(status, HONE_OK);
    assert_string_not_equal(after.text, before.text);
    hn_model_destroy(m);
}

/* An input with a default is taken at its default; the node then has its own constant. */
static void inputs_with_defaults(void **state) {
    (void)state;
    hn_model *m = parse("g (float[2,6] x, int64[3] s = {2, 2, 3}) => (y) { y = Reshape (x, s) }");
    set(m, "x", 0, "n");
    expect(m,
           "g (float[n,6] x, int64[3] s) => (float[n,2,3] y)\n"
           "<\n   int64[3] s = {2, 2, 3},\n   int64[3] s_1 = {0, 2, 3}\n>\n"
           "{\n   y = Reshape (x, s_1)\n}\n");
    hn_model_destroy(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(reshape_copies),
        TEST(reshape_batch_first),
        TEST(reshape_sequence_first),
        TEST(reshape_heads),
        TEST(constants_of_others),
        TEST(computed_shapes),
        TEST(expand_slice_resize),
        TEST(spatial_axis),
        TEST(symbols),
        TEST(stated_types),
        TEST(numbers),
        TEST(several_inputs),
        TEST(inside_loops),
        TEST(inputs_with_defaults),
        TEST(baked_in),
        TEST(bad_arguments),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
