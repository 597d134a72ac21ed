#include "ops/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_model.h"

/* ---- If ---- */

static const char choose[] =
    "m (bool c, float[n] x) => (float[k] y) {"
    "  y = If (c) <then_branch = yes () => (float[a] p) { p = Concat <axis: int = 0> (x, x) },"
    "              else_branch = no () => (float[b] q) { q = Neg (x) }>"
    "}";

static void if_takes_a_branch(void **state) {
    (void)state;
    hn_model *m = model_inferred(choose);
    model_runs(m, TEXTS("bool {1}", "float[2] {1, 2}"), TEXTS("float[4] {1, 2, 1, 2}"));
    model_runs(m, TEXTS("bool[1] {0}", "float[2] {1, 2}"), TEXTS("float[2] {-1, -2}"));
    model_run_fails(m, TEXTS("bool[2] {0, 0}", "float[1] {1}"),
                    "the condition has 2 elements, expected 1");
    model_run_fails(m, TEXTS("float {0}", "float[1] {1}"),
                    "input 0 (cond) has type f32, which the operator does not take");
}

static void if_covers_both_shapes(void **state) {
    (void)state;
    hn_model *m = model_inferred(choose);
    assert_string_equal(type_of(m, "p"), "f32[2*n]");
    assert_string_equal(type_of(m, "q"), "f32[n]");
    assert_string_equal(type_of(m, "y"), "f32[k]"); /* the file names what inference cannot */
    m = model_inferred(
        "m (bool c, float[n, 3] x, float[2, 3] z) => (y, w) {"
        "  y, w = If (c) <then_branch = yes () => (p, r) { p = Neg (x)  r = Abs (x) },"
        "                 else_branch = no () => (q, s) { q = Neg (z)  s = Flatten (z) }>"
        "}");
    const hn_shape *y = &value_of(m, "y")->type.shape;
    assert_int_equal(y->rank, 2);
    assert_true(hn_dim_is_fresh(y->dim[0]) && hn_dim_is(y->dim[1], 3));
    model_infer_fails(
        "m (bool c, float[n] x) => (y) {"
        "  y = If (c) <then_branch = yes () => (p) { p = Neg (x) },"
        "              else_branch = no () => (q) { q = Shape (x) }>"
        "}",
        "output 0 is f32 in then_branch and s64 in else_branch");
}

static void if_with_unknown_shapes(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (bool c, float[n] x) => (y, z) <int64[1] axis = {0}> {"
        "  y, z = If (c) <then_branch = yes () => (p, r) { p = other.Op (x)  r = Neg (x) },"
        "                 else_branch = no () => (q, s) { q = Neg (x)  s = Unsqueeze (x, axis) }>"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[?]"); /* the type of q, the shape of neither */
    assert_string_equal(type_of(m, "z"), "f32[?]"); /* two ranks */
}

/* The branch not taken may be impossible: exporters write such code. */
static void if_with_a_known_condition(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2, 3] x) => (y) <int64[1] axes = {1}, int64 one = {1}> {"
        "  dims = Shape (x)"
        "  second = Gather (dims, one)"
        "  flat = Equal (second, one)"
        "  y = If (flat) <then_branch = yes () => (p) { p = Squeeze (x, axes) },"
        "                 else_branch = no () => (q) { q = Identity (x) }>"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[2, 3]");
    model_runs(m, TEXTS("float[2, 3] {1, 2, 3, 4, 5, 6}"), TEXTS("float[2, 3] {1, 2, 3, 4, 5, 6}"));
    model_infer_fails(
        "m (float[2, 3] x) => (y) <int64[1] axes = {1}, bool yes = {1}> {"
        "  y = If (yes) <then_branch = a () => (p) { p = Squeeze (x, axes) },"
        "                else_branch = b () => (q) { q = Identity (x) }>"
        "}",
        "Squeeze (output 'p')");
}

/* A subgraph that may not run is refused only when it does, by the node that does not fit. */
static void subgraphs_that_may_not_run(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (bool c, float[2, 3] x) => (y) <int64[1] axes = {1}> {"
        "  y = If (c) <then_branch = yes () => (r) { p = Squeeze (x, axes)  r = Neg (p) },"
        "              else_branch = no () => (q) { q = Neg (x) }>"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[?]");
    model_runs(m, TEXTS("bool {0}", "float[2, 3] {1, 2, 3, 4, 5, 6}"),
               TEXTS("float[2, 3] {-1, -2, -3, -4, -5, -6}"));
    model_run_fails(m, TEXTS("bool {1}", "float[2, 3] {1, 2, 3, 4, 5, 6}"),
                    "Squeeze (output 'p'): axis 1 to take out has size 3");
    m = model_inferred(
        "m (int64 count, float[2, 3] x) => (y) <int64[1] axes = {1}> {"
        "  y = Loop (count, , x) <body = b (int64 i, bool c, v) => (c, w) {"
        "     w = Squeeze (x, axes)"
        "  }>"
        "}");
    model_runs(m, TEXTS("int64 {0}", "float[2, 3] {1, 2, 3, 4, 5, 6}"),
               TEXTS("float[2, 3] {1, 2, 3, 4, 5, 6}"));
    model_run_fails(m, TEXTS("int64 {1}", "float[2, 3] {1, 2, 3, 4, 5, 6}"),
                    "Squeeze (output 'w'): axis 1 to take out has size 3");
    m = model_inferred(
        "m (float[n] s, float[2, 3] x) => (y) <int64[1] axes = {1}> {"
        "  y = Scan <num_scan_inputs: int = 1, body = b (float v) => (w) {"
        "     w = Squeeze (x, axes)"
        "  }> (s)"
        "}");
    model_run_fails(m, TEXTS("float[1] {1}", "float[2, 3] {1, 2, 3, 4, 5, 6}"),
                    "Squeeze (output 'w'): axis 1 to take out has size 3");
    model_infer_fails(
        "m (float[2] s, float[2, 3] x) => (y) <int64[1] axes = {1}> {"
        "  y = Scan <num_scan_inputs: int = 1, body = b (float v) => (w) {"
        "     w = Squeeze (x, axes)"
        "  }> (s)"
        "}",
        "Squeeze (output 'w')");
}

static void if_with_bad_branches(void **state) {
    (void)state;
    model_infer_fails(
        "m (bool c, float[n] x) => (y) {"
        "  y = If (c) <then_branch = yes () => (p, r) { p = Neg (x)  r = Abs (x) },"
        "              else_branch = no () => (q) { q = Neg (x) }>"
        "}",
        "then_branch has 2 outputs and 0 inputs, expected 1 and 0");
    model_infer_fails(
        "m (bool c, float[n] x) => (y) {"
        "  y = If (c) <then_branch = yes () => (p) { p = Neg (x) },"
        "              else_branch = no (float[n] q) => (r) { r = Neg (q) }>"
        "}",
        "else_branch has 1 outputs and 1 inputs, expected 1 and 0");
}

/* ---- Loop ---- */

/* sum = 0 + 1 + ... until the limit; each i is also stacked */
static const char counting[] =
    "m (int64 count, bool go, int64 limit) => (int64 sum, int64[k] all) <int64 zero = {0}> {"
    "  sum, all = Loop (count, go, zero) <body = b (int64 i, bool c, int64 s) => (d, t, part) {"
    "     t = Add (s, i)"
    "     d = Less (t, limit)"
    "     part = Identity (i)"
    "  }>"
    "}";

static void loop_counts(void **state) {
    (void)state;
    hn_model *m = model_inferred(counting);
    assert_string_equal(type_of(m, "sum"), "s64[]");
    assert_string_equal(type_of(m, "all"), "s64[k]");
    model_runs(m, TEXTS("int64 {4}", "bool {1}", "int64 {100}"),
               TEXTS("int64 {6}", "int64[4] {0, 1, 2, 3}"));
    model_runs(m, TEXTS("int64 {4}", "bool {1}", "int64 {3}"),
               TEXTS("int64 {3}", "int64[3] {0, 1, 2}"));
    model_runs(m, TEXTS("int64[1] {0}", "bool {1}", "int64 {3}"),
               TEXTS("int64 {0}", "int64[0] {}"));
    model_runs(m, TEXTS("int64 {-5}", "bool {1}", "int64 {3}"), TEXTS("int64 {0}", "int64[0] {}"));
    model_runs(m, TEXTS("int64 {4}", "bool {0}", "int64 {3}"), TEXTS("int64 {0}", "int64[0] {}"));
    model_run_fails(m, TEXTS("int64[2] {4, 4}", "bool {1}", "int64 {3}"),
                    "the trip count has 2 elements, expected 1");
}

static void loop_without_a_count(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 limit) => (sum) <int64 two = {2}> {"
        "  sum = Loop (, , two) <body = b (int64 i, bool c, int64 s) => (d, t) {"
        "     t = Mul (s, two)"
        "     d = Less (t, limit)"
        "  }>"
        "}");
    model_runs(m, TEXTS("int64 {100}"), TEXTS("int64 {128}"));
    model_runs(m, TEXTS("int64 {0}"), TEXTS("int64 {4}"));
}

static bool let_run(void *ctx) { return ++*(int *)ctx < 100000; }

static void loop_without_end(void **state) {
    (void)state;
    static const char endless[] =
        "m () => (x) <int64 most = {9223372036854775807}, float zero = {0}> {"
        "  x = Loop (most, , zero) <body = b (int64 i, bool c, float s) => (c, s) {}>"
        "}";
    model_run_fails(model_inferred(endless), TEXTS(NULL), "the loop seems to be endless");
    hn_model *m = model_inferred(endless);
    int calls = 0;
    hn_exec_options o = {.alloc = &model_mem, .keep_going = let_run, .keep_going_ctx = &calls};
    hn_tensor *out;
    hn_error err;
    assert_int_equal(hn_graph_run(m->graph, &o, NULL, &out, &err), HONE_E_LIMIT);
    assert_string_equal(err.text, "Loop (output 'x'): stopped");
    assert_int_equal(calls, 100000);
}

/* What is stacked of no iteration has the type and rank the body says, as far as it is known. */
static void loop_stacks_nothing(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 count, float[n, 3] x) => (a, b, c) {"
        "  a, b, c = Loop (count) <body = b (int64 i, bool go) => (go, p, q, r) {"
        "     p = Neg (x)"
        "     q = Shape (x)"
        "     r = Identity (i)"
        "  }>"
        "}");
    model_runs(m, TEXTS("int64 {0}", "float[1, 3] {1, 2, 3}"),
               TEXTS("float[0, 0, 3] {}", "int64[0, 2] {}", "int64[0] {}"));
    model_runs(m, TEXTS("int64 {2}", "float[1, 3] {1, 2, 3}"),
               TEXTS("float[2, 1, 3] {-1, -2, -3, -1, -2, -3}", "int64[2, 2] {1, 3, 1, 3}",
                     "int64[2] {0, 1}"));
}

/* Without an iteration the sizes of the parts are those the inputs tell, else 0. */
static void loop_sizes_nothing(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 count, float[n] x, float[k] z) => (y, p, q) {"
        "  y, p, q = Loop (count, , x) <body = b (int64 i, bool c, float[a] s) => (c, s, t, u) {"
        "      t = Concat <axis: int = 0> (s, s)"
        "      u = Neg (z)"
        "    }>"
        "}");
    model_runs(m, TEXTS("int64 {0}", "float[2] {1, 2}", "float[3] {1, 2, 3}"),
               TEXTS("float[2] {1, 2}", "float[0, 4] {}", "float[0, 0] {}"));
    model_runs(m, TEXTS("int64 {1}", "float[1] {1}", "float[2] {1, 2}"),
               TEXTS("float[1] {1}", "float[1, 2] {1, 1}", "float[1, 2] {-1, -2}"));
    const hn_shape *p = &value_of(m, "p")->type.shape, *q = &value_of(m, "q")->type.shape;
    assert_ptr_equal(p->dim[1], value_of(m, "t")->type.shape.dim[0]);
    assert_true(hn_dim_is_fresh(q->dim[1]));
    m = model_inferred(
        "m (float[k] z) => (q) <int64 count = {2}> {"
        "  q = Loop (count, ) <body = b (int64 i, bool c) => (c, u) { u = Neg (z) }>"
        "}");
    assert_ptr_equal(value_of(m, "q")->type.shape.dim[1], value_of(m, "z")->type.shape.dim[0]);
}

/* A carried tensor that grows: inference must not believe the first iteration. */
static void loop_grows(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 count, float[1] x) => (y, z, lengths) <float[1] one = {1}> {"
        "  y, z, lengths = Loop (count, , x, x) <"
        "    body = b (int64 i, bool c, float[a] s, float[b] before) => (c, t, s, len) {"
        "      t = Concat <axis: int = 0> (s, one)"
        "      len = Shape (t)"
        "    }>"
        "}");
    model_runs(m, TEXTS("int64 {3}", "float[1] {5}"),
               TEXTS("float[4] {5, 1, 1, 1}", "float[3] {5, 1, 1}", "int64[3, 1] {2, 3, 4}"));
    model_runs(m, TEXTS("int64 {1}", "float[1] {5}"),
               TEXTS("float[2] {5, 1}", "float[1] {5}", "int64[1, 1] {2}"));
    static const char *const names[] = {"y", "z"};
    for (int i = 0; i < 2; i++) {
        const hn_shape *s = &value_of(m, names[i])->type.shape;
        assert_int_equal(s->rank, 1);
        assert_true(hn_dim_is_fresh(s->dim[0]));
        /* Inside the loop it is another size than after it. */
        assert_ptr_not_equal(s->dim[0], value_of(m, i == 0 ? "s" : "before")->type.shape.dim[0]);
    }
    assert_ptr_not_equal(value_of(m, "y")->type.shape.dim[0], value_of(m, "z")->type.shape.dim[0]);
}

/* The body sees a size of outside; what it makes of it is not the same size. */
static void loop_grows_from_an_unknown_size(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 count, float[n] x) => (y, stack) <float[1] one = {1}, int64[1] all = {-1}> {"
        "  places = NonZero (x)"
        "  start = Reshape (places, all)"
        "  y, stack = Loop (count, , start) <"
        "    body = b (int64 i, bool c, int64[a] s) => (c, t, s) {"
        "      t = Concat <axis: int = 0> (s, s)"
        "    }>"
        "}");
    const hn_value *start = value_of(m, "start"), *y = value_of(m, "y");
    assert_true(hn_dim_is_fresh(y->type.shape.dim[0]));
    assert_ptr_not_equal(start->type.shape.dim[0], y->type.shape.dim[0]);
    model_runs(m, TEXTS("int64 {1}", "float[3] {0, 1, 2}"),
               TEXTS("int64[4] {1, 2, 1, 2}", "int64[1, 2] {1, 2}"));
    model_run_fails(m, TEXTS("int64 {2}", "float[3] {0, 1, 2}"),
                    "scan output 1 is s64[2] in one iteration and s64[4] in a later one");
}

/* A rank that changes, and a chain of carried values that takes more rounds than are made. */
static void loop_changes_rank(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 count, float[2] x) => (y, d1, d2, d3, d4, d5, d6) <int64[1] first = {0}> {"
        "  y, d1, d2, d3, d4, d5, d6 = Loop (count, , x, x, x, x, x, x, x) <"
        "    body = b (int64 i, bool c, e0, e1, e2, e3, e4, e5, e6) => (c, t, e0, e1, e2, e3, e4, "
        "e5)"
        "    { t = Unsqueeze (e0, first) }>"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[?]");
    assert_string_equal(type_of(m, "d6"), "f32[?]");
    model_runs(m, TEXTS("int64 {2}", "float[2] {1, 2}"),
               TEXTS("float[1, 1, 2] {1, 2}", "float[1, 2] {1, 2}", "", "", "", "", ""));
}

static void loops_nest(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 rows, int64 columns) => (sum, table) <int64 zero = {0}> {"
        "  sum, table = Loop (rows, , zero) <body = outer (int64 i, bool c, int64 s) => (c, t, "
        "row) {"
        "     t, row = Loop (columns, , s) <body = inner (int64 j, bool d, int64 u) => (d, v, "
        "cell) {"
        "        cell = Mul (i, j)"
        "        v = Add (u, cell)"
        "     }>"
        "  }>"
        "}");
    model_runs(m, TEXTS("int64 {3}", "int64 {4}"),
               TEXTS("int64 {18}", "int64[3, 4] {0, 0, 0, 0, 0, 1, 2, 3, 0, 2, 4, 6}"));
    assert_int_equal(value_of(m, "table")->type.shape.rank, 2);
}

/* Each level goes round several times: nested, that must not multiply without bound. */
static void deep_loops_are_inferred_in_time(void **state) {
    (void)state;
    enum { DEPTH = 30 };
    static char text[DEPTH * 160 + 200];
    size_t n = (size_t)snprintf(text, sizeof text, "m (int64 k, float[1] x0) => (y0) {");
    for (int d = 0; d < DEPTH; d++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "y%d = Loop (k, , x%d) <body = b%d (int64 i%d, bool c%d, float[z] "
                              "x%d) => (c%d, t%d) {",
                              d, d, d, d, d, d + 1, d, d);
    n += (size_t)snprintf(text + n, sizeof text - n, "y%d = Neg (x%d)", DEPTH, DEPTH);
    for (int d = DEPTH - 1; d >= 0; d--)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              " t%d = Concat <axis: int = 0> (y%d, x%d) }>", d, d + 1, d + 1);
    snprintf(text + n, sizeof text - n, "}");
    hn_error err;
    hn_model *m = model_read(text);
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_int_equal(value_of(m, "y0")->type.shape.rank, 1);
}

static void loop_with_a_bad_body(void **state) {
    (void)state;
    model_infer_fails(
        "m (float x) => (y) { y = Loop (, , x) <body = b (int64 i, bool c) => (c) {}> }",
        "the body takes 2 inputs, expected 3 (iteration, condition, 1 carried)");
    model_infer_fails(
        "m (float x) => (y) { y = Loop (, , x) <body = b (int64 i, bool c, s) => (c) {}> }",
        "the body gives 1 outputs, expected 2");
    hn_model *m = model_inferred(
        "m (int64 k, float x) => (y) {"
        "  y = Loop (k, , x) <body = b (int64 i, bool c, float s) => (i, s) {}>"
        "}");
    model_run_fails(m, TEXTS("int64 {2}", "float {1}"),
                    "the condition the body gives is s64, expected bool");
    model_infer_fails(
        "m (int64 k, float x) => (y) {"
        "  y = Loop (k, , x) <body = b (int64 i, bool c, float s) => (c, i) {}>"
        "}",
        "carried value 0 is f32 before an iteration and s64 after it");
}

/* ---- Scan ---- */

static void scan_adds_up(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2] start, float[n, 2] x) => (last, sums) {"
        "  last, sums = Scan <num_scan_inputs: int = 1,"
        "    body = b (float[2] s, float[2] e) => (t, t) { t = Add (s, e) }> (start, x)"
        "}");
    assert_string_equal(type_of(m, "last"), "f32[2]");
    assert_string_equal(type_of(m, "sums"), "f32[n, 2]");
    assert_string_equal(type_of(m, "t"), "f32[2]");
    model_runs(m, TEXTS("float[2] {10, 20}", "float[3, 2] {1, 2, 3, 4, 5, 6}"),
               TEXTS("float[2] {19, 32}", "float[3, 2] {11, 22, 14, 26, 19, 32}"));
    model_runs(m, TEXTS("float[2] {10, 20}", "float[0, 2] {}"),
               TEXTS("float[2] {10, 20}", "float[0, 2] {}"));
}

static void scan_axes_and_directions(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2, n] x, float[n, 2] z) => (a, b) {"
        "  a, b = Scan <num_scan_inputs: int = 2, scan_input_axes: ints = [-1, 0],"
        "    scan_input_directions: ints = [1, 0], scan_output_axes: ints = [1, -2],"
        "    scan_output_directions: ints = [0, 1],"
        "    body = b (float[2] p, float[2] q) => (r, s) { r = Identity (p)  s = Sub (p, q) }> (x, "
        "z)"
        "}");
    assert_string_equal(type_of(m, "a"), "f32[2, n]");
    assert_string_equal(type_of(m, "b"), "f32[n, 2]");
    model_runs(
        m, TEXTS("float[2, 3] {1, 2, 3, 4, 5, 6}", "float[3, 2] {10, 20, 30, 40, 50, 60}"),
        TEXTS("float[2, 3] {3, 2, 1, 6, 5, 4}", "float[3, 2] {-49, -56, -28, -35, -7, -14}"));
    model_run_fails(m, TEXTS("float[2, 1] {1, 2}", "float[2, 2] {1, 2, 3, 4}"),
                    "sequence 1 has length 2, an earlier one 1");
}

static void scan_of_packed_elements(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (uint4[3, 3] x) => (y) {"
        "  y = Scan <num_scan_inputs: int = 1, scan_input_axes: ints = [1],"
        "    body = b (uint4[3] e) => (f) { f = Identity (e) }> (x)"
        "}");
    model_runs(m, TEXTS("uint4[3, 3] {1, 2, 3, 4, 5, 6, 7, 8, 9}"),
               TEXTS("uint4[3, 3] {1, 4, 7, 2, 5, 8, 3, 6, 9}"));
}

/* A sequence may be empty: then a state is what it was, and the parts have the sizes the inputs
 * tell. */
static void scan_of_an_empty_sequence(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[k] start, float[n, h] x, float[1] w) => (last, parts) {"
        "  last, parts = Scan <num_scan_inputs: int = 1,"
        "    body = b (float[a] s, float[h] e) => (t, f) {"
        "      t = Add (s, w)  u = Concat <axis: int = 0> (e, e)  f = Add (u, w) }> (start, x)"
        "}");
    assert_string_equal(type_of(m, "last"), "f32[k]");
    assert_string_equal(type_of(m, "parts"), "f32[n, 2*h]");
    model_runs(m, TEXTS("float[2] {1, 2}", "float[0, 3] {}", "float[1] {1}"),
               TEXTS("float[2] {1, 2}", "float[0, 6] {}"));
    m = model_inferred(
        "m (float[k] start, float[n] x, float[1] w) => (last) {"
        "  last = Scan <num_scan_inputs: int = 1,"
        "    body = b (float[a] s, float e) => (w) {}> (start, x)"
        "}");
    assert_string_equal(type_of(m, "last"), "f32[k]");
    model_runs(m, TEXTS("float[2] {1, 2}", "float[0] {}", "float[1] {1}"),
               TEXTS("float[2] {1, 2}"));
    model_infer_fails(
        "m (float[k] start, int64[n] x) => (last) {"
        "  last = Scan <num_scan_inputs: int = 1,"
        "    body = b (float[a] s, int64 e) => (e) {}> (start, x)"
        "}",
        "carried value 0 is f32 before an iteration and s64 after it");
}

/* Sizes whose product overflows are harmless beside a size of 0. */
static void scan_of_nothing(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[n, 2, a, b] x) => (y) {"
        "  y = Scan <num_scan_inputs: int = 1, scan_input_axes: ints = [1],"
        "    body = b (float[n, a, b] e) => (f) { f = Neg (e) }> (x)"
        "}");
    model_runs(m, TEXTS("float[0, 2, 1152921504606846976, 1152921504606846976] {}"),
               TEXTS("float[2, 0, 1152921504606846976, 1152921504606846976] {}"));
}

static void scan_keeps_shapes(void **state) {
    (void)state;
    model_infer_fails(
        "m (float[1] start, float[n] x) => (last) <float[1] one = {1}> {"
        "  last = Scan <num_scan_inputs: int = 1, body = b (float[a] s, float e) => (t) {"
        "    t = Concat <axis: int = 0> (s, one) }> (start, x)"
        "}",
        "state 0 goes into the body as [1] and comes out as [2]");
    hn_model *m = model_inferred(
        "m (float[k] start, float[n] x) => (last) <float[1] one = {1}> {"
        "  last = Scan <num_scan_inputs: int = 1, body = b (float[a] s, float e) => (t) {"
        "    t = Concat <axis: int = 0> (s, one) }> (start, x)"
        "}");
    model_run_fails(m, TEXTS("float[1] {1}", "float[1] {1}"),
                    "state 0 is f32[1] in one iteration and f32[2] in a later one");
    m = model_inferred(
        "m (float[n] x, int64[n] k) => (parts) <float one = {1}, int64[1] flat = {-1}> {"
        "  parts = Scan <num_scan_inputs: int = 2, body = b (float e, int64 f) => (t) {"
        "    g = Reshape (f, flat)  t = Expand (e, g) }> (x, k)"
        "}");
    model_run_fails(m, TEXTS("float[2] {1, 2}", "int64[2] {1, 2}"),
                    "output 0 is f32[1] in one iteration and f32[2] in a later one");
}

static void scan_with_bad_attributes(void **state) {
    (void)state;
    static const struct {
        const char *attrs, *message;
    } cases[] = {
        {"num_scan_inputs: int = 0", "num_scan_inputs is 0, expected 1 to 2"},
        {"num_scan_inputs: int = 3", "num_scan_inputs is 3, expected 1 to 2"},
        {"num_scan_inputs: int = 1, scan_input_axes: ints = [1]", "axis 1 is outside [-1, 1)"},
        {"num_scan_inputs: int = 1, scan_input_axes: ints = [0, 0]",
         "attribute 'scan_input_axes' has 2 entries, expected 1"},
        {"num_scan_inputs: int = 1, scan_output_axes: ints = [2]", "axis 2 is outside [-1, 1)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "m (float s, float[n] x) => (a, b) {"
                 "  a, b = Scan <%s, body = b (float p, float q) => (p, q) {}> (s, x)"
                 "}",
                 cases[i].attrs);
        model_infer_fails(text, cases[i].message);
    }
    model_infer_fails(
        "m (float s, float[n] x) => (a) {"
        "  a = Scan <num_scan_inputs: int = 1, body = b (float q) => (q) {}> (s, x)"
        "}",
        "the body takes 1 inputs, expected 2");
}

/* ---- what they share ---- */

static void subgraphs_see_what_is_around(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (bool c, float[2] x, int64 k) => (y) <float[2] w = {10, 100}> {"
        "  big = Mul (x, w)"
        "  y = If (c) <then_branch = yes () => (p) {"
        "      p = Loop (k, , x) <body = b (int64 i, bool d, float[2] s) => (d, t) {"
        "        t = Add (s, big) }>"
        "    }, else_branch = no () => (big) {}>"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[2]");
    model_runs(m, TEXTS("bool {1}", "float[2] {1, 2}", "int64 {2}"), TEXTS("float[2] {21, 402}"));
    model_runs(m, TEXTS("bool {0}", "float[2] {1, 2}", "int64 {2}"), TEXTS("float[2] {10, 200}"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(if_takes_a_branch),
        TEST(if_covers_both_shapes),
        TEST(if_with_unknown_shapes),
        TEST(if_with_a_known_condition),
        TEST(subgraphs_that_may_not_run),
        TEST(if_with_bad_branches),
        TEST(loop_counts),
        TEST(loop_without_a_count),
        TEST(loop_without_end),
        TEST(loop_stacks_nothing),
        TEST(loop_sizes_nothing),
        TEST(loop_grows),
        TEST(loop_grows_from_an_unknown_size),
        TEST(loop_changes_rank),
        TEST(loops_nest),
        TEST(deep_loops_are_inferred_in_time),
        TEST(loop_with_a_bad_body),
        TEST(scan_adds_up),
        TEST(scan_axes_and_directions),
        TEST(scan_of_packed_elements),
        TEST(scan_of_an_empty_sequence),
        TEST(scan_of_nothing),
        TEST(scan_keeps_shapes),
        TEST(scan_with_bad_attributes),
        TEST(subgraphs_see_what_is_around),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
