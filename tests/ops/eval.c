#include "ops/eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_model.h"

static hn_error err;

static void run_and_release(hn_model *m, const hn_exec_options *o, const char *input) {
    hn_tensor *in = tensor_of(input), *out[4] = {0};
    assert_true(m->graph->n_outputs <= 4);
    if (hn_graph_run(m->graph, o, (const hn_tensor *const[]){in}, out, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < 4; i++) hn_tensor_unref(out[i]);
    hn_tensor_unref(in);
}

/* 64 nodes in a row, each with an output of 4 kB: two of them are live at a time. */
static void values_are_released_after_their_last_use(void **state) {
    (void)state;
    enum { NODES = 64, ELEMENTS = 1024 };
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "m (float[1] x) => (float[1024] y) "
                                "<int64[1] dims = {1024}> { v0 = Expand (x, dims)");
    for (int i = 0; i < NODES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " v%d = Sin (v%d) unused%d = Cos (v%d)",
                              i + 1, i, i, i);
    snprintf(text + n, sizeof text - n, " y = Neg (v%d) }", NODES);
    hn_model *m = model_inferred(text);
    size_t before = atomic_load(&model_mem.live);
    atomic_store(&model_mem.peak, before);
    run_and_release(m, &(hn_exec_options){.alloc = &model_mem}, "float[1] {2}");
    size_t peak = atomic_load(&model_mem.peak) - before, one = ELEMENTS * sizeof(float);
    assert_true(peak > 2 * one);
    assert_true(peak < 2 * one + 40000); /* the schedule, scratch of a node */
    assert_int_equal(atomic_load(&model_mem.live), before);
}

/* What a subgraph uses stays until the node that owns it is done, and goes then. */
static void captured_values_live_as_long_as_needed(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2] x) => (y) <bool yes = {1}> {"
        "  a = Neg (x)"
        "  b = If (yes) <then_branch = t () => (p) {"
        "      p = If (yes) <then_branch = tt () => (q) { q = Add (a, a) },"
        "                    else_branch = te () => (a) {}>"
        "    }, else_branch = e () => (a) {}>"
        "  y = Abs (b)"
        "}");
    model_runs(m, TEXTS("float[2] {1, 2}"), TEXTS("float[2] {2, 4}"));
}

typedef struct record {
    char text[256];
    int64_t elements;
} record;

static void note(void *ctx, const hn_value *v, const hn_tensor *t) {
    record *r = ctx;
    size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof r->text - n, "%s ", v->name);
    r->elements += t->n;
}

static void observers_see_every_value_once(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2] x) => (y) <float[2] w = {1, 2}, int64 two = {2}> {"
        "  a = Add (x, w)"
        "  b, c = Split <num_outputs: int = 2> (a)"
        "  y = Loop (two, , b) <body = l (int64 i, bool k, float[1] s) => (k, t) { t = Add (s, c) "
        "}>"
        "}");
    record r = {.text = ""};
    run_and_release(m, &(hn_exec_options){.alloc = &model_mem, .observe = note, .observe_ctx = &r},
                    "float[2] {1, 2}");
    assert_string_equal(r.text, "a b c t t y ");
    assert_int_equal(r.elements, 2 + 1 + 1 + 1 + 1 + 1);
}

static bool some_nodes(void *ctx) { return (*(int *)ctx)-- > 0; }

static void a_run_can_be_stopped(void **state) {
    (void)state;
    hn_model *m = model_inferred("m (float[2] x) => (y) { a = Neg (x) b = Abs (a) y = Exp (b) }");
    for (int nodes = 0; nodes <= 3; nodes++) {
        int left = nodes;
        hn_exec_options o = {
            .alloc = &model_mem, .keep_going = some_nodes, .keep_going_ctx = &left};
        hn_tensor *in = tensor_of("float[2] {1, 2}"), *out = NULL;
        hone_status s = hn_graph_run(m->graph, &o, (const hn_tensor *const[]){in}, &out, &err);
        assert_int_equal(s, nodes < 3 ? HONE_E_LIMIT : HONE_OK);
        if (s != HONE_OK) {
            assert_string_equal(err.text, "stopped");
            assert_null(out);
        }
        hn_tensor_unref(in);
        hn_tensor_unref(out);
    }
}

static void inputs_and_their_defaults(void **state) {
    (void)state;
    hn_model *m =
        model_inferred("m (float[2] x, float[2] w = {3, 4}) => (y, w) { y = Mul (x, w) }");
    model_runs(m, TEXTS("float[2] {1, 2}", ""), TEXTS("float[2] {3, 8}", "float[2] {3, 4}"));
    model_runs(m, TEXTS("float[2] {1, 2}", "float[2] {5, 6}"),
               TEXTS("float[2] {5, 12}", "float[2] {5, 6}"));
    model_run_fails(m, TEXTS("", "float[2] {5, 6}"), "input 'x' is not given");
    /* Sizes are those of the tensors; what does not fit is found by the node. */
    model_run_fails(m, TEXTS("float[3] {1, 2, 3}", ""), "Mul (output 'y')");
}

/* A constant used by a node and as an output, at an odd address or sparse. */
static void constants_as_they_lie_in_files(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[4] x) => (y, w, s) "
        "<float[4] w = {1, 2, 3, 4}, sparse_tensor(float[4]) s = {float[2] {5, 6}, int64[2] {0, "
        "3}}> "
        "{ a = Add (x, w)  y = Add (a, s) }");
    hn_value *w = value_of(m, "w");
    static _Alignas(8) char odd[17];
    memcpy(odd + 1, w->constant->data, 16);
    hn_tensor *t;
    assert_int_equal(
        hn_tensor_create_borrowed(&t, &model_mem, HONE_DTYPE_F32, 1, (int64_t[]){4}, odd + 1, &err),
        HONE_OK);
    assert_false(hn_tensor_aligned(t));
    hn_value_set_constant(w, t);
    model_runs(
        m, TEXTS("float[4] {10, 20, 30, 40}"),
        TEXTS("float[4] {16, 22, 33, 50}", "float[4] {1, 2, 3, 4}", "float[4] {5, 0, 0, 6}"));
}

/* Rows of a large table at an odd address are taken from where they lie. */
static void tables_are_not_copied_to_take_a_row(void **state) {
    (void)state;
    enum { ROWS = 4096 };
    hn_model *m = model_inferred(
        "m (int64[1] i) => (y) <float[1, 4] w = {0, 0, 0, 0}> { y = Gather (w, i) }");
    static _Alignas(8) char odd[ROWS * 16 + 1];
    memcpy(odd + 1 + 5 * 16, (float[]){1, 2, 3, 4}, 16);
    hn_tensor *t;
    assert_int_equal(hn_tensor_create_borrowed(&t, &model_mem, HONE_DTYPE_F32, 2,
                                               (int64_t[]){ROWS, 4}, odd + 1, &err),
                     HONE_OK);
    hn_value_set_constant(value_of(m, "w"), t);
    model_runs(m, TEXTS("int64[1] {5}"), TEXTS("float[1, 4] {1, 2, 3, 4}"));
    size_t before = atomic_load(&model_mem.live);
    atomic_store(&model_mem.peak, before);
    run_and_release(m, &(hn_exec_options){.alloc = &model_mem}, "int64[1] {5}");
    assert_true(atomic_load(&model_mem.peak) - before < ROWS * 16);
}

static void unknown_operators(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (bool c, float[2] x) => (y) {"
        "  a = Neg (x)"
        "  y = If (c) <then_branch = t () => (p) { [odd] p = my.ops.Strange (a) },"
        "              else_branch = e () => (a) {}>"
        "}");
    assert_int_equal(hn_graph_runnable(m->graph, &err), HONE_E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "Strange 'odd': operator Strange of domain 'my.ops' cannot be run");
    model_runs(m, TEXTS("bool {0}", "float[2] {1, 2}"), TEXTS("float[2] {-1, -2}"));
    model_run_fails(m, TEXTS("bool {1}", "float[2] {1, 2}"), "operator Strange of domain 'my.ops'");
    m = model_inferred("m (float[2] x) => (y) { y = Strange (x) }");
    assert_int_equal(hn_graph_runnable(m->graph, &err), HONE_E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "Strange (output 'y'): operator Strange of domain 'ai.onnx' cannot be run");
    m = model_inferred("m (float[2] x) => (y) { y = Neg (x) }");
    assert_int_equal(hn_graph_runnable(m->graph, &err), HONE_OK);
}

/* Before inference a node means what its own opset says; the references know the newest only. */
static void old_nodes_are_not_run(void **state) {
    (void)state;
    hn_model *m =
        model_read("<opset_import: [\"\" : 9]> m (float[2] x) => (y) { y = Softmax (x) }");
    assert_int_equal(hn_graph_runnable(m->graph, &err), HONE_E_UNSUPPORTED);
    model_run_fails(
        m, TEXTS("float[2] {1, 2}"),
        "Softmax (output 'y'): its definition of opset 9 was not brought to the newest");
}

/* Reshape hands on the bytes of its input, constants included. */
static void views_share_bytes(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[4] x) => (y, z) <int64[2] dims = {2, 2}, float[4] w = {1, 2, 3, 4}> {"
        "  a = Reshape (x, dims)"
        "  y = Flatten (a)"
        "  z = Reshape (w, dims)"
        "}");
    hn_tensor *in = tensor_of("float[4] {5, 6, 7, 8}"), *out[2];
    hn_exec_options o = {.alloc = &model_mem};
    assert_int_equal(hn_graph_run(m->graph, &o, (const hn_tensor *const[]){in}, out, &err),
                     HONE_OK);
    assert_ptr_equal(out[0]->data, in->data);
    assert_int_equal(out[0]->rank, 2);
    hn_tensor_unref(in); /* the view keeps the bytes */
    assert_true(hn_tensor_f64(out[0], 3) == 8);
    assert_ptr_equal(out[1]->data, value_of(m, "w")->constant->data);
    hn_tensor_unref(out[0]);
    hn_tensor_unref(out[1]);
}

/* Results outlive inputs that are only borrowed. */
static void borrowed_bytes_are_copied(void **state) {
    (void)state;
    hn_model *m =
        model_inferred("m (float[4] x) => (y) <int64[2] dims = {2, 2}> { y = Reshape (x, dims) }");
    const float x[] = {5, 6, 7, 8};
    hn_tensor in = {0}, *out;
    assert_int_equal(hn_tensor_borrow(&in, HONE_DTYPE_F32, 1, (const int64_t[]){4}, x, &err),
                     HONE_OK);
    hn_exec_options o = {.alloc = &model_mem};
    assert_int_equal(hn_graph_run(m->graph, &o, (const hn_tensor *const[]){&in}, &out, &err),
                     HONE_OK);
    assert_ptr_not_equal(out->data, x);
    assert_int_equal(out->rank, 2);
    assert_true(hn_tensor_f64(out, 3) == 8);
    hn_tensor_unref(out);
}

static void memory_is_bounded_by_the_allocator(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64[1] n) => (y) { y = ConstantOfShape <value: tensor = float[1] {1}> (n) }");
    hn_allocator small;
    hn_allocator_init(&small);
    small.limit = 100000;
    hn_exec_options o = {.alloc = &small};
    hn_tensor *in = tensor_of("int64[1] {1000000000000}"), *out;
    assert_int_equal(hn_graph_run(m->graph, &o, (const hn_tensor *const[]){in}, &out, &err),
                     HONE_E_NOMEM);
    assert_non_null(strstr(err.text, "ConstantOfShape (output 'y')"));
    assert_int_equal(atomic_load(&small.blocks), 0);
    hn_tensor_unref(in);
}

/* Outputs a node does not have are not computed; one it has but nobody uses is. */
static void optional_outputs(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[1, 1, 4] x) => (y, i) {"
        "  y = MaxPool <kernel_shape: ints = [2], strides: ints = [2]> (x)"
        "  unused, i = MaxPool <kernel_shape: ints = [4]> (x)"
        "}");
    model_runs(m, TEXTS("float[1, 1, 4] {1, 3, 2, 0}"),
               TEXTS("float[1, 1, 2] {3, 2}", "int64[1, 1, 1] {1}"));
}

/* Many distinct sizes in one run: the table of numbers is emptied on the way. */
static void many_sizes(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (int64 n) => (sum) <int64[1] one = {1}, int64 zero = {0}> {"
        "  sum = Loop (n, , zero) <body = b (int64 i, bool c, int64 s) => (c, t) {"
        "    dims = Reshape (i, one)"
        "    wide = ConstantOfShape (dims)"
        "    len = Size (wide)"
        "    t = Add (s, len)"
        "  }>"
        "}");
    hn_tensor *in = tensor_of("int64 {5000}"), *out;
    hn_exec_options o = {.alloc = &model_mem};
    assert_int_equal(hn_graph_run(m->graph, &o, (const hn_tensor *const[]){in}, &out, &err),
                     HONE_OK);
    assert_int_equal(hn_tensor_s64(out, 0), 5000 * 4999 / 2);
    hn_tensor_unref(in);
    hn_tensor_unref(out);
}

/* Places for the outputs of a graph; the last has none. */
enum { PLACES = 5, WIDE = 100000 };
typedef struct places {
    float *at[PLACES];
    int asked[PLACES + 1];
} places;

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *e) {
    places *p = ctx;
    int64_t n = 1;
    (void)e;
    for (int k = 0; k < rank; k++) n *= dims[k];
    assert_true(dtype == HONE_DTYPE_F32 && n <= WIDE);
    p->asked[i]++;
    *to = i < PLACES ? p->at[i] : NULL;
    return HONE_OK;
}

/* What an operator, a branch or a branch inside a branch computes is written to its place at once:
 * the allocator would not give the memory. A view, an input and a constant are copied there. */
static void outputs_go_to_their_places(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2] x, int64[1] n) => (wide, inner, view, x, w, wide)"
        " <bool yes = {1}, float[2] w = {7, 8}, int64[2] column = {2, 1}> {"
        "  wide = ConstantOfShape <value: tensor = float[1] {3}> (n)"
        "  inner = If (yes) <then_branch = t () => (p) {"
        "      p = If (yes) <then_branch = tt () => (q) { q = ConstantOfShape "
        "                        <value: tensor = float[1] {4}> (n) },"
        "                    else_branch = te () => (x) {}>"
        "    }, else_branch = e () => (x) {}>"
        "  a = Neg (x)"
        "  view = Reshape (a, column)"
        "}");
    static float wide[WIDE], inner[WIDE];
    float view[2], x[2], w[2];
    places p = {.at = {wide, inner, view, x, w}};
    hn_allocator small;
    hn_allocator_init(&small);
    small.limit = WIDE;
    hn_exec_options o = {.alloc = &small, .place = place, .place_ctx = &p};
    hn_tensor *in[2] = {tensor_of("float[2] {1, 2}"), tensor_of("int64[1] {100000}")}, *out[6];
    if (hn_graph_run(m->graph, &o, (const hn_tensor *const *)in, out, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < PLACES; i++) {
        assert_null(out[i]);
        assert_int_equal(p.asked[i], 1);
    }
    for (int i = 0; i < WIDE; i++) assert_true(wide[i] == 3 && inner[i] == 4);
    assert_true(view[0] == -1 && view[1] == -2 && x[0] == 1 && x[1] == 2 && w[0] == 7 && w[1] == 8);
    assert_true(out[5]->data == wide && out[5]->n == WIDE);
    for (int i = 0; i < 6; i++) hn_tensor_unref(out[i]);
    for (int i = 0; i < 2; i++) hn_tensor_unref(in[i]);
    assert_int_equal(atomic_load(&small.blocks), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(values_are_released_after_their_last_use),
        TEST(captured_values_live_as_long_as_needed),
        TEST(observers_see_every_value_once),
        TEST(a_run_can_be_stopped),
        TEST(inputs_and_their_defaults),
        TEST(constants_as_they_lie_in_files),
        TEST(tables_are_not_copied_to_take_a_row),
        TEST(unknown_operators),
        TEST(old_nodes_are_not_run),
        TEST(views_share_bytes),
        TEST(borrowed_bytes_are_copied),
        TEST(memory_is_bounded_by_the_allocator),
        TEST(optional_outputs),
        TEST(many_sizes),
        TEST(outputs_go_to_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
