#include "ops/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/decompress.h"
#include "formats/onnx.h"
#include "support/paths.h"
#include "support/text_model.h"

static hn_error err;

/* ---- what the file declares ---- */

static char logged[512];

static void keep_line(void *ctx, hone_log_level level, const char *line) {
    (void)ctx, (void)level;
    snprintf(logged, sizeof logged, "%s", line);
}

static void declared_shapes_fill_gaps(void **state) {
    (void)state;
    /* Conv gives [n, 8, 30, 30]; what of NonZero's size only running tells has a name in the file.
     */
    hn_model *m = model_inferred(
        "m (float[n, 3, 32, 32] x, float[8, 3, 3, 3] w) => (y, z, r)"
        "<float[b, 8, ?, ?] y, int64[4, found] z, float[b, 2, c] r, int64[3] dims> {"
        "  y = Conv (x, w)"
        "  z = NonZero (x)"
        "  dims = other.Op (x)"
        "  r = Reshape (x, dims)"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[n, 8, 30, 30]");
    assert_string_equal(type_of(m, "z"), "s64[4, found]");
    assert_string_equal(type_of(m, "r"), "f32[b, 2, c]");
    assert_string_equal(type_of(m, "dims"), "s64[3]"); /* an unknown operator's output */
}

static void declared_numbers_beat_symbols(void **state) {
    (void)state;
    hn_model *m = model_inferred("m (float[n, 3] x) => (float[5, 3] y) { y = Neg (x) }");
    assert_string_equal(type_of(m, "y"), "f32[5, 3]");
}

static void contradictions(void **state) {
    (void)state;
    hone_log_set(keep_line, NULL, HONE_LOG_WARN);
    hn_model *m = model_inferred("m (float[2, 3] x) => (float[3, 2] y) { y = Neg (x) }");
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    assert_string_equal(type_of(m, "y"), "f32[2, 3]"); /* what is inferred stands */
    assert_string_equal(logged, "'y' is declared with shape [3, 2] but has [2, 3]");
    model_infer_fails("m (float[2] x) => (int64[2] y) { y = Neg (x) }",
                      "'y' is declared as s64 but is f32");
}

typedef struct findings {
    int n;
    char text[4][256];
} findings;

static void find(void *ctx, const hn_node *n, const hn_error *e) {
    findings *f = ctx;
    assert_non_null(n);
    assert_true(f->n < 4);
    snprintf(f->text[f->n++], sizeof f->text[0], "%.255s", e->text);
}

static void all_findings_are_reported(void **state) {
    (void)state;
    hn_model *m = model_read(
        "m (float[2, 3] x, float[5] v) => (float[3, 2] a, int64[2, 3] b, c, d) {"
        "  a = Neg (x)"
        "  b = Abs (x)"
        "  c = Add (x, v)"
        "  d = Softmax <axis: int = 7> (x)"
        "}");
    findings f = {0};
    assert_int_equal(hn_model_infer(m, &(hn_infer_options){.finding = find, .ctx = &f}, &err),
                     HONE_OK);
    assert_int_equal(f.n, 4);
    assert_string_equal(f.text[0], "'a' is declared with shape [3, 2] but has [2, 3]");
    assert_string_equal(f.text[1], "'b' is declared as s64 but is f32");
    assert_non_null(strstr(f.text[2], "Add (output 'c')"));
    assert_non_null(strstr(f.text[3], "Softmax (output 'd'): axis 7 is outside [-2, 2)"));
    assert_string_equal(type_of(m, "c"), "?[?]");
}

/* ---- contents ---- */

/* The way torch writes x.view(batch, seq, heads, -1): the sizes go through the graph. */
static void shape_arithmetic_is_followed(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[batch, seq, 384] x) => (y, z)"
        "<int64 zero = {0}, int64 one = {1}, int64[1] front = {0}, int64[1] heads = {12},"
        " int64[1] width = {32}, int64[1] minus = {-1}> {"
        "  s = Shape (x)"
        "  b = Gather (s, zero)"
        "  b1 = Unsqueeze (b, front)"
        "  s2 = Shape (x)"
        "  l = Gather (s2, one)"
        "  l1 = Unsqueeze (l, front)"
        "  dims = Concat <axis: int = 0> (b1, l1, heads, width)"
        "  split = Reshape (x, dims)"
        "  y = Transpose <perm: ints = [0, 2, 1, 3]> (split)"
        "  rows = Mul (b, l)"
        "  rows1 = Unsqueeze (rows, front)"
        "  flat = Concat <axis: int = 0> (rows1, minus)"
        "  z = Reshape (x, flat)"
        "}");
    assert_string_equal(known_of(m, "dims"), "{batch, seq, 12, 32}");
    assert_string_equal(known_of(m, "rows"), "{batch*seq}");
    assert_string_equal(type_of(m, "y"), "f32[batch, 12, seq, 32]");
    assert_string_equal(type_of(m, "z"), "f32[batch*seq, 384]");
}

/* With numbers for sizes every step is evaluated, operators without symbolic contents too. */
static void known_nodes_are_evaluated(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2, 6] x) => (y) <float half = {0.5}, int64[2] pair = {0, 1}> {"
        "  s = Shape (x)"
        "  f = Cast <to: int = 1> (s)"
        "  g = Mul (f, half)"
        "  h = Floor (g)"
        "  k = Cast <to: int = 7> (h)"
        "  y = Expand (half, k)"
        "}");
    assert_string_equal(known_of(m, "k"), "{1, 3}");
    assert_string_equal(type_of(m, "y"), "f32[1, 3]");
    const hn_tensor *g = value_of(m, "g")->folded;
    assert_non_null(g);
    assert_float_equal(hn_tensor_f64(g, 1), 3, 0);
}

static void what_is_not_evaluated(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2] x, int64[1] given = {4}) => (random, large, product, over)"
        "<int64[1] n = {200000}, int64[2] m = {400, 400}, int64[1] two = {2}> {"
        "  r = RandomUniform <shape: ints = [1]> ()"
        "  ri = Cast <to: int = 7> (r)"
        "  random = ConstantOfShape (ri)" /* not a function of its inputs */
        "  ones = ConstantOfShape <value: tensor = int64[1] {1}> (n)"
        "  sum = ReduceSum <keepdims: int = 1> (ones)" /* too many elements */
        "  large = ConstantOfShape (sum)"
        "  a = ConstantOfShape <value: tensor = int64[1] {1}> (m)"
        "  b = MatMul (a, a)"
        "  c = ReduceMax <keepdims: int = 0> (b)" /* too many to keep */
        "  product = Expand (x, c)"
        "  over = ConstantOfShape (given)" /* the caller may give another */
        "}");
    assert_string_equal(known_of(m, "ri"), "?");
    assert_string_equal(known_of(m, "sum"), "?");
    assert_string_equal(known_of(m, "c"), "?");
    assert_true(hn_dim_is_fresh(value_of(m, "over")->type.shape.dim[0]));
    assert_int_equal(value_of(m, "large")->type.shape.rank, 1);
}

/* A few constants that would multiply into billions of steps, again and again. */
static void evaluating_is_little_work(void **state) {
    (void)state;
    char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "m () => (y) <int64[1] n = {1000}> { v = ConstantOfShape <value: "
                                "tensor = int64[1] {1}> (n) w = "
                                "Identity (v)");
    for (int i = 0; i < 50; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              " e%d = Einsum <equation: string = \"a,b,c->\"> (v, v, v)", i);
    snprintf(text + n, sizeof text - n, " y = Identity (e0) }");
    hn_model *m = model_read(text);
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_string_equal(type_of(m, "y"), "s64[]");
    assert_string_equal(known_of(m, "y"), "?");
}

/* "To the end" is past every size, and not a number to calculate with. */
static void far_numbers_are_not_evaluated(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[n] x) => (y) <int64[1] far = {9223372036854775807}, int64 one = {1}> {"
        "  s = Shape (x)"
        "  both = Concat <axis: int = 0> (s, far)"
        "  end = Gather (both, one)"
        "  y = BitwiseNot (end)"
        "}");
    assert_string_equal(known_of(m, "y"), "?");
}

/* An error of a node that could be evaluated is left to running. */
static void failing_evaluation_is_no_error(void **state) {
    (void)state;
    hn_model *m =
        model_inferred("m () => (y) <int64[1] a = {1}, int64[1] zero = {0}> { y = Div (a, zero) }");
    assert_string_equal(type_of(m, "y"), "s64[1]");
    assert_string_equal(known_of(m, "y"), "?");
}

/* ---- graphs ---- */

static void unknown_operators(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[2, 3] x) => (y, z) <float[2, 5] y> {"
        "  y = my.Op <body: graph = g (float[4] p) => (q) { q = Neg (p) }> (x)"
        "  u = Op (x)"
        "  v = Add (u, x)"
        "  z = Flatten (v)"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[2, 5]");
    assert_string_equal(type_of(m, "u"), "?[?]");
    assert_string_equal(type_of(m, "q"), "f32[4]"); /* its subgraphs are looked at */
    assert_string_equal(type_of(m, "v"), "f32[?]"); /* the type goes on, the shape does not */
    assert_int_equal(value_of(m, "z")->type.shape.rank, 2);
}

/* A second inference sees the graph as it is, not what the first one found. */
static void inference_after_an_edit(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[4, 6] x, int64[2] any) => (y, z) <int64[2] dims = {3, 8}> {"
        "  a = Reshape (x, dims)"
        "  y = Neg (a)"
        "  z = Shape (a)"
        "}");
    assert_string_equal(type_of(m, "y"), "f32[3, 8]");
    assert_string_equal(known_of(m, "z"), "{3, 8}");
    hn_value *dims = value_of(m, "dims");
    hn_value_set_constant(dims, tensor_of("int64[2] {2, 12}"));
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_string_equal(type_of(m, "y"), "f32[2, 12]");
    assert_string_equal(known_of(m, "z"), "{2, 12}");
    hn_node_set_input(value_of(m, "a")->producer, 1, value_of(m, "any"));
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    const hn_shape *y = &value_of(m, "y")->type.shape;
    assert_int_equal(y->rank, 2);
    assert_true(hn_dim_is_fresh(y->dim[0]) && hn_dim_is_fresh(y->dim[1]));
    assert_string_equal(type_of(m, "a"), type_of(m, "y"));
}

/* Passes infer again and again: the room for known contents is used again. */
static void known_contents_take_no_new_memory(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[n, 6] x) => (y) <int64[1] two = {2}> {"
        "  s = Shape (x)"
        "  y = Mul (s, two)"
        "}");
    const hn_dim *known = value_of(m, "y")->known;
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_string_equal(known_of(m, "y"), "{2*n, 12}");
    assert_ptr_equal(value_of(m, "y")->known, known);
}

static void sizes_that_overflow(void **state) {
    (void)state;
    model_infer_fails(
        "m (float[1000000000000, 1000000000000] x) => (y) <int64[1] all = {-1}> "
        "{ y = Reshape (x, all) }",
        "Reshape (output 'y')");
}

/* What cannot be lifted is left as it came: the rest of the model is still of use. */
static void nodes_that_cannot_be_lifted(void **state) {
    (void)state;
    hone_log_set(keep_line, NULL, HONE_LOG_WARN);
    hn_model *m = model_inferred(
        "<opset_import: [\"\" : 9]> m (float[2, 3] x) => (float[2, 3] y, z) {"
        "  u = my.Op (x)"
        "  y = Clip <min: float = 0> (u)"
        "  z = Neg (y)"
        "}");
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
    assert_non_null(strstr(logged,
                           "Clip (output 'y') of opset 9: the element type of its input is "
                           "not known"));
    assert_true(value_of(m, "y")->producer->old);
    assert_null(value_of(m, "y")->producer->source);
    assert_string_equal(type_of(m, "z"), "f32[2, 3]");
    assert_int_equal(hn_graph_runnable(m->graph, &err), HONE_E_UNSUPPORTED);
    findings f = {0};
    assert_int_equal(hn_model_infer(m, &(hn_infer_options){.finding = find, .ctx = &f}, &err),
                     HONE_OK);
    assert_int_equal(f.n, 1);
    /* Once its type is known it can be. */
    hn_value *u = value_of(m, "u");
    u->stated = &(const hn_type){
        .kind = HN_TYPE_TENSOR, .dtype = HONE_DTYPE_F32, .shape = hn_shape_unknown()};
    assert_int_equal(hn_model_infer(m, NULL, &err), HONE_OK);
    assert_false(value_of(m, "y")->producer->old);
    u->stated = NULL;
}

static void cost_of_nodes(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[n, 3, 8, 8] x, float[4, 3, 3, 3] w, uint4[3] p) => (y, q, r) {"
        "  y = Conv (x, w)"
        "  q = Identity (p)"
        "  r = my.Op (y)"
        "}");
    char text[256];
    hn_cost cost;
    assert_int_equal(hn_node_cost(value_of(m, "y")->producer, &cost, &err), HONE_OK);
    assert_string_equal(hn_dim_text(cost.macs, text, sizeof text), "3888*n"); /* 4*36*27 */
    assert_string_equal(hn_dim_text(cost.read_bytes, text, sizeof text), "768*n + 432");
    assert_string_equal(hn_dim_text(cost.written_bytes, text, sizeof text), "576*n");
    assert_int_equal(hn_node_cost(value_of(m, "q")->producer, &cost, &err), HONE_OK);
    assert_true(hn_dim_is(cost.macs, 0) && hn_dim_is(cost.read_bytes, 2));
    assert_int_equal(hn_node_cost(value_of(m, "r")->producer, &cost, &err), HONE_OK);
    assert_true(hn_dim_is(cost.macs, 0));
    assert_string_equal(hn_dim_text(cost.read_bytes, text, sizeof text), "576*n");
    assert_true(hn_dim_is(cost.written_bytes, 0)); /* its shape is not known */
}

/* ---- real models ---- */

/* Every value has a type and a rank, and as few sizes as possible are only known by running. */
static void infers_fully(const char *name, int most_fresh) {
    char path[4300];
    hn_file *file = NULL;
    hn_model *m = NULL;
    snprintf(path, sizeof path, "%s/models/%s", test_assets(), name);
    hone_status s = hn_file_open_unpacked(&file, path, 0, &model_mem, &err);
    if (s == HONE_E_UNSUPPORTED) skip(); /* built without liblzma */
    if (s != HONE_OK) fail_msg("%s", err.text);
    if (hn_onnx_load_memory(&m, file, NULL, &model_mem, &err) != HONE_OK ||
        hn_model_infer(m, NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    int fresh = 0;
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_value *v = m->graph->values[i];
        if (v->dead) continue;
        if (v->type.dtype == HONE_DTYPE_NONE || v->type.shape.rank < 0)
            fail_msg("%s: nothing is known of '%s'", name, v->name);
        for (int k = 0; k < v->type.shape.rank; k++) fresh += hn_dim_is_fresh(v->type.shape.dim[k]);
    }
    if (fresh > most_fresh) fail_msg("%s: %d sizes are not known", name, fresh);
    hn_model_destroy(m);
    hn_file_unref(file);
}

static void real_models(void **state) {
    (void)state;
    if (test_assets() == NULL) skip();
    infers_fully("yunet_n_dynamic.onnx", 0);
    infers_fully("nanodet_m.onnx", 0);
    infers_fully("resnet20_cifar10.onnx", 0);
    infers_fully("sst2_minilm_fp32.onnx.xz", 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(declared_shapes_fill_gaps),
        TEST(declared_numbers_beat_symbols),
        TEST(contradictions),
        TEST(all_findings_are_reported),
        TEST(shape_arithmetic_is_followed),
        TEST(known_nodes_are_evaluated),
        TEST(what_is_not_evaluated),
        TEST(evaluating_is_little_work),
        TEST(far_numbers_are_not_evaluated),
        TEST(failing_evaluation_is_no_error),
        TEST(unknown_operators),
        TEST(inference_after_an_edit),
        TEST(known_contents_take_no_new_memory),
        TEST(sizes_that_overflow),
        TEST(nodes_that_cannot_be_lifted),
        TEST(cost_of_nodes),
        TEST(real_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
