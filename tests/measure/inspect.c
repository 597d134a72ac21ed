#include "measure/inspect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/graph.h"
#include "support/scratch.h"

static hone_inspection *look(hn_model *m, const hone_dim_value *dims, size_t n) {
    hn_error err;
    hone_inspection *in;
    if (hn_model_inspect(m, dims, n, &scratch_mem, &in, &err) != HONE_OK) fail_msg("%s", err.text);
    return in;
}

static void done(hone_inspection *in, hn_model *m) {
    hn_inspection_destroy(in);
    hn_model_destroy(m);
}

/* ---- parameters ---- */

static void a_constant_counts_where_it_is_used_first(void **state) {
    (void)state;
    hn_model *m = graph_model(21,
                              "g (float[2] x) => (float[2] y)\n"
                              "<float[2] w = {0, 3}, float[3] unused = {1, 0, 0}>\n"
                              "{ a = Mul (x, w)\n b = Add (a, w)\n y = Relu (b) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->n_nodes, 3);
    assert_int_equal(in->nodes[0].params, 2);
    assert_int_equal(in->nodes[0].params_bytes, 8);
    assert_int_equal(in->nodes[0].params_zero, 1);
    assert_int_equal(in->nodes[1].params, 0);
    assert_int_equal(in->params, 5); /* what no node uses is in the file too */
    assert_int_equal(in->params_zero, 3);
    assert_int_equal(in->trainable, 2);
    assert_int_equal(in->dtypes[0].tensors, 2);
    done(in, m);
}

static void bytes_are_told_by_type(void **state) {
    (void)state;
    hn_model *m = graph_model(21,
                              "g (float[3] x) => (float[3] y)\n"
                              "<int4[3] q = {1, 0, -2}, float s = {0.5}, float16[3] h = {1, 2, 3}, "
                              "int64[1] n = {3}>\n"
                              "{ d = DequantizeLinear (q, s)\n c = Cast <to: int = 1> (h)\n"
                              "  r = Reshape (x, n)\n a = Add (d, c)\n y = Mul (a, r) }");
    hone_inspection *in = look(m, NULL, 0);
    static const struct {
        hone_dtype dtype;
        int64_t tensors, elements, bytes;
    } wanted[] = {{HONE_DTYPE_F32, 1, 1, 4},
                  {HONE_DTYPE_S64, 1, 1, 8},
                  {HONE_DTYPE_F16, 1, 3, 6},
                  {HONE_DTYPE_S4, 1, 3, 2}};
    assert_int_equal(in->n_dtypes, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(in->dtypes[i].dtype, wanted[i].dtype);
        assert_int_equal(in->dtypes[i].tensors, wanted[i].tensors);
        assert_int_equal(in->dtypes[i].elements, wanted[i].elements);
        assert_int_equal(in->dtypes[i].bytes, wanted[i].bytes);
    }
    assert_int_equal(in->params, 8);
    assert_int_equal(in->params_bytes, 20);
    const int64_t at[5] = {32, 16, 8, 4, 1};
    for (int i = 0; i < 5; i++) assert_int_equal(in->bytes_at[i], at[i]);
    assert_int_equal(in->trainable, 3); /* the f16 weights; a scale is a setting */
    done(in, m);
}

static void statistics_and_scales_are_not_trained(void **state) {
    (void)state;
    hn_model *m =
        graph_model(21,
                    "g (float[1,2,1,1] x) => (float[1,2,1,1] y)\n"
                    "<float[2] scale = {1, 1}, float[2] bias = {1, 1}, float[2] mean = {1, 1}, "
                    "float[2] var = {1, 1}, float[1] s = {0.5}, uint8[1] z = {0}>\n"
                    "{ b = BatchNormalization (x, scale, bias, mean, var)\n"
                    "  t = Identity (s)\n"
                    "  q = QuantizeLinear <axis: int = 0> (b, t, z)\n"
                    "  y = DequantizeLinear <axis: int = 0> (q, s, z) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->params, 10);
    assert_int_equal(in->trainable, 4);
    done(in, m);
}

static void a_sparse_constant_counts_dense_and_takes_less(void **state) {
    (void)state;
    hn_model *m = graph_model(21,
                              "g (float[9] x) => (float[9] y)\n"
                              "<sparse_tensor(float[9]) w = {float[2] {1, 2}, int64[2] {0, 7}}>\n"
                              "{ y = Add (x, w) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->params, 9);
    assert_int_equal(in->params_zero, 7);
    assert_int_equal(in->params_bytes, 2 * 4 + 2 * 8);
    done(in, m);
}

static void weights_in_constant_nodes_count(void **state) {
    (void)state;
    hn_model *m =
        graph_model(21,
                    "g (float[2] x) => (float[2] y)\n"
                    "{ w = Constant <value: tensor = float[2] {5, 6}> ()\n y = Mul (x, w) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->params, 2);
    assert_int_equal(in->trainable, 2);
    assert_int_equal(in->nodes[0].params, 2);
    done(in, m);
}

/* At opset 6 the bounds of Clip are attributes; inference turns them into inputs. */
static void what_lifting_made_is_not_counted(void **state) {
    (void)state;
    hn_model *m = graph_model(6,
                              "g (float[2] x) => (float[2] y)\n"
                              "{ y = Clip <min: float = 0.0, max: float = 6.0> (x) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->params, 0);
    assert_int_equal(in->n_dtypes, 0);
    done(in, m);
}

/* ---- arithmetic ---- */

static void macs_are_products(void **state) {
    (void)state;
    hn_model *m = graph_model(21,
                              "g (float[2,3] x, float[1,4,5,5] i, float[4,2,3,3] k) => "
                              "(float[2,7] y, float[1,4,3,3] c)\n"
                              "<float[3,7] w = {1,2,3,4,5,6,7,1,2,3,4,5,6,7,1,2,3,4,5,6,7}>\n"
                              "{ y = MatMul (x, w)\n c = Conv <group: int = 2> (i, k) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->nodes[0].macs, 2 * 3 * 7);
    assert_int_equal(in->nodes[1].macs, (4 * 3 * 3) * (2 * 3 * 3)); /* outputs x taps of a group */
    assert_int_equal(in->macs, 42 + 648);
    assert_int_equal(in->nodes[0].read_bytes, (6 + 21) * 4);
    assert_int_equal(in->nodes[0].written_bytes, 14 * 4);
    assert_int_equal(in->n_ops, 2);
    assert_string_equal(in->ops[0].op, "Conv"); /* most first */
    done(in, m);
}

static void nodes_of_one_operator_are_added_up(void **state) {
    (void)state;
    hn_model *m =
        graph_model(21,
                    "g (float[2,2] x) => (float[2,2] y)\n"
                    "{ a = MatMul (x, x)\n b = other.Relu (a)\n c = Relu (b)\n d = MatMul (c, a)\n"
                    "  y = Relu (d) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->n_ops, 3);
    assert_string_equal(in->ops[0].op, "MatMul");
    assert_int_equal(in->ops[0].count, 2);
    assert_int_equal(in->ops[0].macs, 8); /* of the second one the shape is not known */
    assert_string_equal(in->ops[1].op, "Relu");
    assert_string_equal(in->ops[1].domain, "");
    assert_int_equal(in->ops[1].count, 2);
    assert_string_equal(in->ops[2].domain, "other");
    assert_false(in->ops[2].supported);
    assert_int_equal(in->macs, 8);
    assert_int_equal(in->macs_unknown, 2);
    assert_int_equal(in->nodes[1].macs, -1);
    assert_int_equal(in->nodes[1].written_bytes, -1);
    assert_int_equal(in->nodes[2].macs, 0); /* Relu has none, whatever its size */
    assert_int_equal(in->activation_peak, -1);
    done(in, m);
}

static void counts_stop_before_they_overflow(void **state) {
    (void)state;
    hn_model *m = graph_model(21,
                              "g (float[a,b] x, float[b,c] w) => (float[a,c] y, float[a,c] z)\n"
                              "{ y = MatMul (x, w)\n z = MatMul (x, w) }");
    const int64_t half = (int64_t)1 << 20, most = (int64_t)1 << 62;
    const hone_dim_value dims[] = {{"a", half}, {"b", half}, {"c", half}};
    hone_inspection *in = look(m, dims, 3);
    assert_int_equal(in->nodes[0].macs, (int64_t)1 << 60);
    assert_int_equal(in->macs, (int64_t)1 << 61);
    hn_inspection_destroy(in);
    const hone_dim_value more[] = {{"a", half * 2}, {"b", half}, {"c", half}};
    in = look(m, more, 3);
    assert_int_equal(in->macs, most);
    hn_inspection_destroy(in);
    const hone_dim_value far[] = {{"a", half * half}, {"b", half}, {"c", half}};
    in = look(m, far, 3);
    assert_int_equal(in->macs, 0);
    assert_int_equal(in->macs_unknown, 2);
    assert_int_equal(in->activation_peak, most);
    done(in, m);
}

/* ---- symbols ---- */

static void symbols_get_sizes(void **state) {
    (void)state;
    hn_model *m =
        graph_model(21,
                    "g (float[batch,length] x, float[4,length] w) => (float[batch,total] y)\n"
                    "{ y = Concat <axis: int = 0> (x, w) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->n_dims, 2);
    assert_string_equal(in->dims[0].name, "batch");
    assert_int_equal(in->dims[0].value, 1);
    assert_string_equal(in->dims[1].name, "length");
    assert_int_equal(in->dims[1].value, 128);
    assert_int_equal(in->nodes[0].written_bytes, (1 + 4) * 128 * 4);
    assert_string_equal(in->nodes[0].output_type, "f32[batch + 4, length]");
    hn_inspection_destroy(in);
    const hone_dim_value given[] = {{"length", 10}, {"batch", 3}};
    in = look(m, given, 2);
    assert_int_equal(in->nodes[0].written_bytes, (3 + 4) * 10 * 4);
    hn_inspection_destroy(in);

    hn_error err;
    const hone_dim_value wrong[] = {{"length", 10}, {"breadth", 3}};
    in = NULL;
    assert_int_equal(hn_model_inspect(m, wrong, 2, &scratch_mem, &in, &err), HONE_E_NOT_FOUND);
    assert_string_equal(err.text, "the model has no symbolic dim 'breadth'; it has batch, length");
    assert_null(in);
    const hone_dim_value twice[] = {{"length", 10}, {"batch", 3}, {"length", 12}};
    assert_int_equal(hn_model_inspect(m, twice, 3, &scratch_mem, &in, &err), HONE_E_ARG);
    assert_string_equal(err.text, "the symbolic dim 'length' is given twice, as 10 and 12");
    hn_model_destroy(m);
}

/* What only running will tell has a bound at times: NonZero finds at most all elements. */
static void an_unknown_size_is_not_taken_beyond_its_bound(void **state) {
    (void)state;
    hn_model *m = graph_model(21, "g (float[6] x) => (int64[1,?] y) { y = NonZero (x) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->nodes[0].written_bytes, 6 * 8);
    done(in, m);
}

/* ---- memory ---- */

static int64_t peak(const char *text) {
    hn_model *m = graph_model(21, text);
    hone_inspection *in = look(m, NULL, 0);
    int64_t bytes = in->activation_peak;
    done(in, m);
    return bytes;
}

static void values_live_from_their_node_to_their_last_use(void **state) {
    (void)state;
    /* A diamond: x, a and b at once while b is made; a, b and y while y is. */
    assert_int_equal(peak("g (float[100] x) => (float[100] y)\n"
                          "{ a = Relu (x)\n b = Abs (x)\n y = Add (a, b) }"),
                     3 * 400);
    /* A chain: two at a time. */
    assert_int_equal(peak("g (float[100] x) => (float[100] y)\n"
                          "{ a = Relu (x)\n b = Abs (a)\n y = Neg (b) }"),
                     2 * 400);
    /* An output stays to the end. */
    assert_int_equal(peak("g (float[100] x) => (float[100] a, float[100] y)\n"
                          "{ a = Relu (x)\n b = Abs (x)\n c = Neg (b)\n y = Exp (c) }"),
                     3 * 400);
    /* What nobody uses takes its place only while it is made; an unused input is there all along.
     */
    assert_int_equal(peak("g (float[100] x, float[50] z) => (float[100] y)\n"
                          "{ n = Neg (x)\n y = Abs (x) }"),
                     2 * 400 + 200);
}

static void a_view_keeps_what_it_looks_at(void **state) {
    (void)state;
    assert_int_equal(
        peak("g (float[10,10] x) => (float[100] y)\n"
             "<int64[1] flat = {100}>\n"
             "{ v = Reshape (x, flat)\n a = Relu (v)\n b = Abs (a)\n y = Add (v, b) }"),
        3 * 400); /* x (seen through v), b and y */
    assert_int_equal(
        peak("g (float[100] x) => (float[100] y) { i = Identity (x)\n y = Identity (i) }"), 400);
    /* A view of a constant takes nothing. */
    assert_int_equal(peak("g (float[2] x) => (float[2] y)\n"
                          "<float[1,2] w = {1, 2}, int64[1] two = {2}>\n"
                          "{ v = Reshape (w, two)\n y = Add (x, v) }"),
                     16);
}

static void a_subgraph_takes_its_own_on_top(void **state) {
    (void)state;
    /* While If runs: cond, x and y, and of the branch a and b, or the smaller one's. */
    assert_int_equal(
        peak("g (bool cond, float[100] x) => (float[100] y)\n"
             "{ y = If (cond) <\n"
             "    then_branch = t () => (float[100] b) { a = Relu (x)\n b = Abs (a) },\n"
             "    else_branch = e () => (float[100] c) { c = Neg (x) }> }"),
        1 + 4 * 400);
}

static void nodes_of_subgraphs_are_listed(void **state) {
    (void)state;
    hn_model *m =
        graph_model(21,
                    "g (bool cond, float[2] x) => (float[2] y)\n"
                    "<float[2] w = {0, 1}>\n"
                    "{ y = If (cond) <then_branch = t () => (float[2] b) { b = Mul (x, w) },\n"
                    "                 else_branch = e () => (float[2] c) { c = Add (x, w) }> }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->n_nodes, 3);
    assert_string_equal(in->nodes[0].op, "If");
    assert_int_equal(in->params, 2); /* used twice, counted once */
    assert_int_equal(in->nodes[1].params + in->nodes[2].params, 2);
    done(in, m);
}

/* ---- the whole ---- */

static void the_head_says_what_the_file_says(void **state) {
    (void)state;
    hn_model *m = graph_model(21, "name (float[1] x) => (float[1] y) { y = Relu (x) }");
    hone_inspection *in = look(m, NULL, 0);
    assert_int_equal(in->opset, 21);
    assert_int_equal(in->ir_version, 10);
    assert_string_equal(in->opsets, "ai.onnx 21, other 1, com.microsoft 1");
    assert_string_equal(in->graph_name, "name");
    assert_string_equal(in->producer, "");
    done(in, m);
    hn_inspection_destroy(NULL);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_model *m = graph_model(
        21,
        "g (bool cond, float[batch,4] x) => (float[batch,2] y)\n"
        "<float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}>\n"
        "{ y = If (cond) <then_branch = t () => (float[batch,2] b) { b = MatMul (x, w) },\n"
        "     else_branch = e () => (float[batch,2] d) { c = Neg (x)\n d = MatMul (c, w) }> }");
    hn_allocator own;
    hn_allocator_init(&own);
    hone_inspection *in = NULL;
    for (long long n = 0; in == NULL; n++) {
        hn_error err;
        atomic_store(&own.fail_after, n);
        hone_status status = hn_model_inspect(m, NULL, 0, &own, &in, &err);
        assert_true(status == HONE_OK ? n >= 3 : status == HONE_E_NOMEM);
        if (status != HONE_OK) assert_int_equal(atomic_load(&own.blocks), 0);
    }
    hn_inspection_destroy(in);
    assert_int_equal(atomic_load(&own.blocks), 0);
    hn_model_destroy(m);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_constant_counts_where_it_is_used_first),
        CASE(bytes_are_told_by_type),
        CASE(statistics_and_scales_are_not_trained),
        CASE(a_sparse_constant_counts_dense_and_takes_less),
        CASE(weights_in_constant_nodes_count),
        CASE(what_lifting_made_is_not_counted),
        CASE(macs_are_products),
        CASE(nodes_of_one_operator_are_added_up),
        CASE(counts_stop_before_they_overflow),
        CASE(symbols_get_sizes),
        CASE(an_unknown_size_is_not_taken_beyond_its_bound),
        CASE(values_live_from_their_node_to_their_last_use),
        CASE(a_view_keeps_what_it_looks_at),
        CASE(a_subgraph_takes_its_own_on_top),
        CASE(nodes_of_subgraphs_are_listed),
        CASE(the_head_says_what_the_file_says),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
