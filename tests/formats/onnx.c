/* The ONNX reader and writer on models written down field by field: what each part becomes, what
 * each mistake is answered with, and that no bytes whatsoever do harm. Real models are compared by
 * tests/compare/test_onnx_roundtrip.py. */
#include "formats/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "support/pb.h"
#include "support/scratch.h"

/* ---- tools ---- */

static int setup(void **state) { return scratch_setup(state); }

static int teardown(void **state) {
    pb_free();
    hone_log_set(NULL, NULL, HONE_LOG_ERROR);
    return scratch_teardown(state);
}

static hone_status load_bytes(hn_bytes b, hn_model **out, hn_error *err) {
    unsigned char *block = hn_alloc(&scratch_mem, b.n, HN_MEM_DATA);
    if (block == NULL) return HN_NOMEM(err);
    if (b.n > 0) memcpy(block, b.p, b.n);
    hn_file *file;
    hone_status status = hn_file_adopt(&file, "test.onnx", block, b.n, &scratch_mem, err);
    if (status != HONE_OK) {
        hn_free(&scratch_mem, block);
        return status;
    }
    status = hn_onnx_load_memory(out, file, NULL, &scratch_mem, err);
    hn_file_unref(file);
    return status;
}

static hn_model *load(hn_bytes b) {
    hn_error err = {0};
    hn_model *m = NULL;
    if (load_bytes(b, &m, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    return m;
}

/* Loading must fail with a message that begins with the file and holds the text. */
static void expect(hn_bytes b, hone_status status, const char *text) {
    hn_error err = {0};
    hn_model *m = NULL;
    hone_status found = load_bytes(b, &m, &err);
    if (found == HONE_OK) fail_msg("loaded, but expected: %s", text);
    if (found != status || strstr(err.text, text) == NULL || strchr(err.text, '\n') != NULL)
        fail_msg("\"%s\" (%s), expected %s: %s", err.text, hone_status_name(found),
                 hone_status_name(status), text);
    if (strncmp(err.text, "test.onnx: ", 11) != 0) fail_msg("'%s' names no file", err.text);
    assert_null(m);
}

static void expect_graph(hn_bytes graph_fields, hone_status status, const char *text) {
    expect(pb_model(graph_fields), status, text);
}

/* A graph x -> Relu -> y with one initializer, in which something is wrong. */
static void expect_tensor(hn_bytes tensor, hone_status status, const char *text) {
    expect_graph(pb("r5br", pb_inputs("x[2]"), tensor,
                    pb("rr", pb_nodes("Relu", "x", "y"), pb_outputs("y[2]"))),
                 status, text);
}

/* ...or one attribute. */
static void expect_attr(hn_bytes attr, hone_status status, const char *text) {
    expect_graph(pb("r1br", pb_inputs("x[2]"), pb_node("Relu", "x", "y", pb("5b", attr)),
                    pb_outputs("y[2]")),
                 status, text);
}

/* Everything a model may hold, small: the bytes that are cut and flipped. */
static hn_bytes rich_model(void) {
    hn_bytes attrs = pb(
        "5b5b5b5b", pb("1s20i7f7f13s", "floats", HN_ATTR_FLOATS, 1.5, -2.0, "doc"),
        pb("1s20i8i8i", "ints", HN_ATTR_INTS, 3, -4),
        pb("1s20i5b", "t", HN_ATTR_TENSOR, pb("1i2i5i5i8s12s", 2, HONE_DTYPE_S8, 1, -1, "t", "d")),
        pb("1s20i9s9s", "strings", HN_ATTR_STRINGS, "a", ""));
    hn_bytes branch = pb("1b2s12b", pb_node("Neg", "x", "in", pb("")), "branch", pb_value("in"));
    hn_bytes other = pb("1b2s12b", pb_node("Abs", "x", "in2", pb("")), "other", pb_value("in2"));
    hn_bytes branches = pb("5b5b", pb("1s20i6b", "then_branch", HN_ATTR_GRAPH, branch),
                           pb("1s20i6b", "else_branch", HN_ATTR_GRAPH, other));
    hn_bytes graph =
        pb("1b1b1b1b", pb_node("Odd", "x _ w", "a", pb("7sr", "my.ops", attrs)),
           pb_node("If", "c", "b", branches), pb_node("twice", "b", "d", pb("7s", "f")),
           pb_node("Add", "a d", "y", pb("3s6s9b", "add", "sum", pb("1s2s", "k", "v"))));
    graph = pb("r2s5b5b15b", graph, "g", pb_zeros("w", 3), pb("2i8s5i", HONE_DTYPE_BOOL, "c", 1),
               pb("1b2b3i", pb("1i2i8s4f", 1, HONE_DTYPE_F32, "sparse", 2.5),
                  pb("1i2i7i", 1, HONE_DTYPE_S64, 1), 4));
    graph = pb("rrr13b10s16b99s", graph, pb_inputs("x[2,n,?]"), pb_outputs("y[2,n,?]"),
               pb_value("a[2]"), "a graph", pb("1s2s", "k", "v"), "unknown");
    hn_bytes function = pb(
        "1s10s4s5s7b7b9b9b11b", "twice", "f", "p", "q", pb_node("Mul", "p k", "q", pb("")),
        pb_node("Constant", "", "k", pb("5b", pb("1s21s20i", "value_float", "by", HN_ATTR_FLOAT))),
        pb("2i", 21), pb("1s2i", "f", 1), pb("1s20i2f", "by", HN_ATTR_FLOAT, 2.0));
    return pb("1i2s3s5i6s7b8b8b8b14b25b", 10, "test", "1", 2, "doc", graph, pb("1s2i", "", 21),
              pb("1s2i", "my.ops", 1), pb("1s2i", "f", 1), pb("1s2s", "key", "value"), function);
}

/* ---- what it becomes ---- */

static void a_model_and_all_its_parts(void **state) {
    (void)state;
    hn_model *m = load(rich_model());
    assert_int_equal(m->ir_version, 10);
    assert_string_equal(m->producer_name, "test");
    assert_string_equal(m->doc, "doc");
    assert_int_equal(m->model_version, 2);
    assert_int_equal(m->metadata.n, 1);
    assert_string_equal(m->metadata.v[0].value, "value");
    assert_int_equal(hn_model_opset(m, ""), 21);
    assert_int_equal(hn_model_opset(m, "my.ops"), 1);
    hn_graph *g = m->graph;
    assert_string_equal(g->name, "g");
    assert_int_equal(g->extra.n, 2 + 1 + 7);
    assert_int_equal(g->n_inputs, 1);
    assert_int_equal(g->n_outputs, 1);
    hn_value *x = g->inputs[0];
    const char *name;
    assert_int_equal(x->type.shape.rank, 3);
    assert_true(hn_dim_is(x->type.shape.dim[0], 2));
    assert_true(hn_dim_is_symbol(x->type.shape.dim[1], &name));
    assert_string_equal(name, "n");
    assert_true(hn_dim_is_fresh(x->type.shape.dim[2]));

    hn_node *odd = g->first;
    assert_string_equal(odd->domain, "my.ops");
    assert_null(odd->op);
    assert_true(odd->old);
    assert_int_equal(odd->opset, 1);
    assert_int_equal(odd->n_inputs, 3);
    assert_ptr_equal(odd->inputs[0].value, x);
    assert_null(odd->inputs[1].value);
    const hn_attr *a = hn_node_attr(odd, "floats");
    assert_int_equal(a->n, 2);
    assert_true(a->u.floats[0] == 1.5f && a->u.floats[1] == -2.0f);
    assert_string_equal(a->doc, "doc");
    a = hn_node_attr(odd, "ints");
    assert_true(a->n == 2 && a->u.ints[0] == 3 && a->u.ints[1] == -4);
    a = hn_node_attr(odd, "t");
    assert_int_equal(hn_tensor_s64(a->u.tensor, 1), -1);
    assert_non_null(a->extra);
    a = hn_node_attr(odd, "strings");
    assert_int_equal(a->u.strings[0].n, 1);
    assert_string_equal(a->u.strings[0].p, "a");
    assert_int_equal(a->u.strings[1].n, 0);

    hn_node *branch = odd->next;
    hn_graph *then = hn_node_attr(branch, "then_branch")->u.graph;
    assert_ptr_equal(then->parent, g);
    assert_ptr_equal(then->owner, branch);
    assert_ptr_equal(then->first->inputs[0].value, x);
    assert_int_equal(x->n_uses, 3);

    /* twice(b): a Mul and a Constant, put in order. */
    hn_node *k = branch->next, *mul = k->next, *add = mul->next;
    assert_string_equal(k->op_type, "Constant");
    assert_true(hn_node_attr(k, "value_float")->u.f == 2.0f);
    assert_string_equal(mul->op_type, "Mul");
    assert_ptr_equal(mul->inputs[0].value, branch->outputs[0]);
    assert_ptr_equal(mul->outputs[0], add->inputs[1].value);
    assert_string_equal(mul->outputs[0]->name, "d");
    assert_string_equal(add->name, "add");
    assert_string_equal(add->doc, "sum");
    assert_string_equal(add->metadata.v[0].key, "k");
    assert_null(add->next);

    hn_value *sparse = hn_graph_value(g, "sparse");
    assert_non_null(sparse->constant->values);
    assert_int_equal(sparse->constant->dims[0], 4);
    assert_true(hn_graph_value(g, "a")->declared);
    hn_model_destroy(m);
}

static void weights_stay_in_the_file(void **state) {
    (void)state;
    static const float numbers[] = {1, 2, 3};
    hn_bytes raw = pb("1i2i8s9b", 3, HONE_DTYPE_F32, "raw", (hn_bytes){numbers, 12});
    hn_bytes packed = pb("1i2i8s4b", 3, HONE_DTYPE_F32, "packed", (hn_bytes){numbers, 12});
    hn_bytes single = pb("1i2i8s4f4f4f", 3, HONE_DTYPE_F32, "single", 1.0, 2.0, 3.0);
    hn_bytes b = pb_model(pb("5b5b5br", raw, packed, single, pb_outputs("raw packed single")));
    const char *path = scratch_put("weights.onnx", b.p, b.n);
    for (int copy = 0; copy < 2; copy++) {
        hn_error err = {0};
        hn_model *m = NULL;
        hn_onnx_options o = {.no_mmap = copy != 0};
        if (hn_onnx_load(&m, path, &o, &scratch_mem, &err) != HONE_OK) fail_msg("%s", err.text);
        hn_tensor *t[3];
        for (int i = 0; i < 3; i++) {
            t[i] = m->graph->values[i]->constant;
            for (int k = 0; k < 3; k++) assert_true(hn_tensor_f64(t[i], k) == k + 1);
        }
        assert_non_null(t[0]->file);
        assert_ptr_equal(t[0]->file, t[1]->file);
        assert_true((unsigned char *)t[0]->data > t[0]->file->data);
        assert_null(t[2]->file);
        hn_tensor *kept = hn_tensor_ref(t[0]);
        hn_model_destroy(m);
        assert_true(hn_tensor_f64(kept, 2) == 3); /* the tensor holds the file */
        hn_tensor_unref(kept);
    }
}

static void typed_data_of_every_width(void **state) {
    (void)state;
    static const struct {
        hone_dtype dtype;
        int field, n, count;
        int64_t in[6], out[6];
    } cases[] = {
        {HONE_DTYPE_S8, 5, 3, 3, {-128, 127, 300}, {-128, 127, 44}},
        {HONE_DTYPE_U8, 5, 2, 2, {255, 7}, {255, 7}},
        {HONE_DTYPE_BOOL, 5, 3, 3, {0, 1, 256}, {0, 1, 1}},
        {HONE_DTYPE_S16, 5, 2, 2, {-32768, 5}, {-32768, 5}},
        {HONE_DTYPE_U16, 5, 2, 2, {65535, 5}, {65535, 5}},
        {HONE_DTYPE_S32, 5, 2, 2, {INT32_MIN, 5}, {INT32_MIN, 5}},
        {HONE_DTYPE_S64, 7, 2, 2, {INT64_MIN, -1}, {INT64_MIN, -1}},
        {HONE_DTYPE_U32, 11, 2, 2, {UINT32_MAX, 1}, {UINT32_MAX, 1}},
        {HONE_DTYPE_U64, 11, 2, 2, {-1, 1}, {-1, 1}},
        {HONE_DTYPE_F16, 5, 2, 2, {0x3c00, 0xc000}, {1, -2}},
        {HONE_DTYPE_BF16, 5, 2, 2, {0x3f80, 0xc000}, {1, -2}},
        {HONE_DTYPE_F8E4M3FN, 5, 2, 2, {0x38, 0xc0}, {1, -2}},
        {HONE_DTYPE_S4, 5, 3, 2, {0x7f, 0x08}, {-1, 7, -8}},
        {HONE_DTYPE_U4, 5, 3, 2, {0x7f, 0x08}, {15, 7, 8}},
        {HONE_DTYPE_U2, 5, 5, 2, {0xe4, 0x02}, {0, 1, 2, 3, 2}},
        {HONE_DTYPE_S2, 5, 4, 1, {0xe4}, {0, 1, -2, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char format[8];
        snprintf(format, sizeof format, "r%dl", cases[i].field);
        hn_bytes t = pb("1i2i", cases[i].n, cases[i].dtype);
        for (int k = 0; k < cases[i].count; k++) t = pb(format, t, cases[i].in[k]);
        const char *path = scratch_put("t.pb", t.p, t.n);
        hn_file *file;
        hn_tensor *x = NULL;
        hn_error err = {0};
        assert_int_equal(hn_file_open(&file, path, true, &scratch_mem, &err), HONE_OK);
        if (hn_onnx_read_tensor(&x, file, &scratch_mem, &err) != HONE_OK)
            fail_msg("%s: %s", hone_dtype_name(cases[i].dtype), err.text);
        for (int k = 0; k < cases[i].n; k++) assert_int_equal(hn_tensor_s64(x, k), cases[i].out[k]);
        hn_tensor_unref(x);
        hn_file_unref(file);
    }
}

static void initializers_that_are_inputs(void **state) {
    (void)state;
    hn_bytes graph = pb("5brrr", pb_zeros("w", 2), pb_inputs("w[2] x[2]"),
                        pb_nodes("Add", "x w", "y"), pb_outputs("y[2]"));
    hn_model *m = load(pb_model(graph));
    assert_int_equal(m->graph->n_inputs, 2);
    assert_true(m->graph->inputs[0]->constant != NULL);
    hn_model_destroy(m);
    m = load(pb("1i7b8b", 3, graph, pb("2i", 8))); /* before IR version 4: a plain constant */
    assert_int_equal(m->graph->n_inputs, 1);
    assert_string_equal(m->graph->inputs[0]->name, "x");
    assert_non_null(hn_node_constant(m->graph->first, 1));
    hn_model_destroy(m);
    expect(pb("1i7b8b", 3,
              pb("5brrr", pb("1i2i8s", 0, HONE_DTYPE_S64, "w"), pb_inputs("w[2] x[2]"),
                 pb_nodes("Add", "x w", "y"), pb_outputs("y[2]")),
              pb("2i", 8)),
           HONE_E_MODEL, "'w' is declared as f32, but its initializer is s64");
}

static void count_warnings(void *ctx, hone_log_level level, const char *line) {
    if (level == HONE_LOG_WARN && strstr(line, "out of order") != NULL) ++*(int *)ctx;
}

static void nodes_out_of_order_are_sorted(void **state) {
    (void)state;
    int warnings = 0;
    hone_log_set(count_warnings, &warnings, HONE_LOG_WARN);
    hn_bytes branch = pb("1b2s12b", pb_node("Neg", "b", "t", pb("")), "then", pb_value("t"));
    hn_bytes other = pb("2s12b", "else", pb_value("b"));
    hn_bytes branches = pb("5b5b", pb("1s20i6b", "then_branch", HN_ATTR_GRAPH, branch),
                           pb("1s20i6b", "else_branch", HN_ATTR_GRAPH, other));
    hn_model *m =
        load(pb_model(pb("1brrrrr", pb_node("If", "c", "d", branches), pb_nodes("Abs", "d", "y"),
                         pb_nodes("Exp", "a", "b"), pb_nodes("Relu", "x", "a"), pb_inputs("x[2] c"),
                         pb_outputs("y[2]"))));
    static const char *const want[] = {"Relu", "Exp", "If", "Abs"};
    const hn_node *n = m->graph->first;
    for (int i = 0; i < 4; i++, n = n->next) assert_string_equal(n->op_type, want[i]);
    assert_null(n);
    assert_int_equal(warnings, 1);
    hn_model_destroy(m);
}

/* ---- mistakes ---- */

static void bad_models(void **state) {
    (void)state;
    hn_bytes graph = pb("rrr", pb_inputs("x[2]"), pb_nodes("Relu", "x", "y"), pb_outputs("y[2]"));
    hn_bytes opset = pb("2i", 21);
    expect(pb(""), HONE_E_FORMAT, "the file is empty");
    expect((hn_bytes){"not a model", 11}, HONE_E_FORMAT, "byte 0 (ModelProto): ");
    expect(pb("1i8b", 10, opset), HONE_E_MODEL, "the model has no graph");
    expect(pb("1i7b7b8b", 10, graph, graph, opset), HONE_E_MODEL, "the model has two graphs");
    expect(pb("7b8b", graph, opset), HONE_E_MODEL, "IR version 0, expected 3 to 14");
    expect(pb("1i7b8b", 2, graph, opset), HONE_E_MODEL, "IR version 2, expected 3 to 14");
    expect(pb("1i7b8b", 15, graph, opset), HONE_E_UNSUPPORTED, "IR version 15, expected 3 to 14");
    expect(pb("1i7b8b", 10, graph, pb("2i", 29)), HONE_E_UNSUPPORTED,
           "the model uses opset 29 of ai.onnx; the newest known is 28");
    expect(pb("1i7b8b", 10, graph, pb("1s2i", "d", 0)), HONE_E_MODEL,
           "the opset import of domain 'd' has version 0");
    expect(pb("1i7b8b", 10, graph, pb("1s2i", "d", -1)), HONE_E_MODEL, "version -1");
    expect(pb("1i7b", 10, graph), HONE_E_MODEL,
           "Relu (output 'y'): no opset of ai.onnx is imported");
    expect(pb("1i7i8b", 10, 5, opset), HONE_E_FORMAT, "ModelProto.graph has wire type 0");
    hn_bytes opsets = pb("");
    for (int i = 0; i < 300; i++) {
        char domain[16];
        snprintf(domain, sizeof domain, "d%d", i);
        opsets = pb("r8b", opsets, pb("1s2i", domain, 1));
    }
    expect(pb("1i7br", 10, graph, opsets), HONE_E_LIMIT, "more than 256 operator sets");
    expect(pb("1i2b7b8b", 10, (hn_bytes){"a\0b", 3}, graph, opset), HONE_E_FORMAT,
           "producer_name has a zero byte inside");
    /* A domain nobody imports is harmless when it is not ai.onnx's. */
    hn_model *m =
        load(pb_model(pb("r1br", pb_inputs("x[2]"), pb_node("New", "x", "y", pb("7s", "somewhere")),
                         pb_outputs("y[2]"))));
    assert_int_equal(m->graph->first->opset, 1);
    hn_model_destroy(m);
}

static void bad_names(void **state) {
    (void)state;
    hn_bytes in = pb_inputs("x[2]"), out = pb_outputs("y[2]"), relu = pb_nodes("Relu", "x", "y");
    expect_graph(pb("rrr", in, pb_nodes("Relu", "z", "y"), out), HONE_E_MODEL,
                 "Relu (output 'y'): input 'z' is computed nowhere");
    expect_graph(pb("rrr", in, relu, pb_outputs("z")), HONE_E_MODEL,
                 "output 'z' is computed nowhere");
    expect_graph(pb("rrrr", in, relu, relu, out), HONE_E_MODEL,
                 "an output is called 'y', but that name is already given");
    expect_graph(pb("rrr", in, pb_nodes("Split", "x", "y y"), out), HONE_E_MODEL,
                 "'y', but that name");
    expect_graph(pb("rrr", in, pb_nodes("Relu", "x", "x"), out), HONE_E_MODEL,
                 "'x', but that name");
    expect_graph(pb("rrrr", in, in, relu, out), HONE_E_MODEL,
                 "'x' is listed twice as an input of graph 'g'");
    expect_graph(pb("r5b5brr", in, pb_zeros("w", 1), pb_zeros("w", 1), relu, out), HONE_E_MODEL,
                 "initializer 'w': an initializer is called 'w', but that name");
    expect_graph(pb("r5brr", in, pb_zeros("", 1), relu, out), HONE_E_MODEL,
                 "an initializer has no name");
    expect_graph(pb("11brr", pb("2b", pb("")), relu, out), HONE_E_MODEL,
                 "an input of the graph has no name");
    expect_graph(pb("r1br", in, pb("1s2s3s", "x", "y", "nameless"), out), HONE_E_MODEL,
                 "node 'nameless' names no operator");
    expect_graph(pb("r1br", in, pb("1s2b4s", "x", (hn_bytes){"y\0z", 3}, "Relu"), out),
                 HONE_E_FORMAT, "the name of a value has a zero byte inside");
    expect_graph(pb("r1br", in, pb("1s2s4s3b", "x", "y", "Relu", (hn_bytes){"\0", 1}), out),
                 HONE_E_FORMAT, "the name of a node has a zero byte inside");
    expect_graph(
        pb("rrrr", in, pb_nodes("Add", "x b", "a"), pb_nodes("Exp", "a", "b"), pb_outputs("b")),
        HONE_E_MODEL, "depends on its own result: the nodes form a cycle");
    expect_graph(pb("rrrr", in, pb_nodes("Add", "x y", "y"), pb_nodes("Exp", "y", "e"), out),
                 HONE_E_MODEL, "Add (output 'y') depends on its own result");
    /* A subgraph may not use a name of the graph around it for something else. */
    hn_bytes branch = pb("1b2s12b", pb_node("Neg", "x", "x2", pb("")), "b", pb_value("x2"));
    hn_bytes shadow = pb("1b2s12b", pb_node("Neg", "x", "x", pb("")), "b", pb_value("x"));
    for (int i = 0; i < 2; i++) {
        hn_bytes attrs = pb("5b", pb("1s20i6b", "then_branch", HN_ATTR_GRAPH, i ? shadow : branch));
        hn_bytes b = pb("r1br", in, pb_node("If", "x", "y", attrs), out);
        if (i == 0)
            hn_model_destroy(load(pb_model(b)));
        else
            expect_graph(b, HONE_E_MODEL,
                         "If (output 'y'): attribute 'then_branch': Neg: an output is called 'x'");
    }
}

static void bad_attributes(void **state) {
    (void)state;
    expect_attr(pb("20i3i", HN_ATTR_INT, 1), HONE_E_MODEL, "an attribute has no name");
    expect_attr(pb("1s20i", "a", 77), HONE_E_MODEL, "attribute 'a' has the unknown type 77");
    expect_attr(pb("1s", "a"), HONE_E_MODEL, "attribute 'a' has the unknown type 0");
    expect_attr(pb("1s20i8i", "a", HN_ATTR_INT, 1), HONE_E_MODEL,
                "attribute 'a' says it is INT but holds another type");
    expect_attr(pb("1s20i", "a", HN_ATTR_TENSOR), HONE_E_MODEL, "attribute 'a': it has no value");
    expect_attr(pb("1s20i", "a", HN_ATTR_GRAPH), HONE_E_MODEL, "attribute 'a': it has no value");
    expect_attr(pb("1s20i3s", "a", HN_ATTR_INT, "x"), HONE_E_FORMAT,
                "AttributeProto.i has wire type 2");
    expect_attr(pb("1s20i21s", "a", HN_ATTR_INT, "b"), HONE_E_MODEL,
                "attribute 'a': it refers to attribute 'b' of a function, but is in none");
    expect_attr(pb("1s20i5b", "a", HN_ATTR_TENSOR, pb("2i", 99)), HONE_E_MODEL,
                "attribute 'a': a tensor has the unknown data type 99");
    hn_bytes two = pb("1s20i3i", "a", HN_ATTR_INT, 1);
    expect_graph(pb("r1br", pb_inputs("x[2]"), pb_node("Relu", "x", "y", pb("5b5b", two, two)),
                    pb_outputs("y")),
                 HONE_E_MODEL, "Relu (output 'y'): attribute 'a' is given twice");
    hn_bytes many = pb("");
    for (int i = 0; i < 300; i++) many = pb("r5b", many, two);
    expect_graph(pb("r1br", pb_inputs("x[2]"), pb_node("Relu", "x", "y", many), pb_outputs("y")),
                 HONE_E_LIMIT, "it has more than 256 attributes");
    /* The type field came later than the others; a file without it can be read. */
    hn_model *m = load(
        pb_model(pb("r1br", pb_inputs("x[2]"),
                    pb_node("Relu", "x", "y", pb("5b", pb("1s3i", "a", 5))), pb_outputs("y"))));
    assert_int_equal(hn_node_attr(m->graph->first, "a")->type, HN_ATTR_INT);
    hn_model_destroy(m);
}

static void bad_types(void **state) {
    (void)state;
    const struct {
        hn_bytes type;
        const char *text;
    } cases[] = {
        {pb("1b", pb("1i", 99)), "the element type 99 is unknown"},
        {pb("1b", pb("1i", -1)), "the element type -1 is unknown"},
        {pb("1b", pb("2b", pb("1b", pb("1l", INT64_MAX)))),
         "a dim has the size 9223372036854775807"},
        {pb("1b", pb("2b", pb("1b", pb("2b", (hn_bytes){"n\0", 2})))),
         "a dim_param has a zero byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_graph(pb("11brr", pb("1s2b", "x", cases[i].type), pb_nodes("Relu", "x", "y"),
                        pb_outputs("y")),
                     i == 3 ? HONE_E_FORMAT : HONE_E_MODEL, cases[i].text);
    expect_graph(pb("rrr", pb_inputs("x[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
                    pb_nodes("Relu", "x", "y"), pb_outputs("y")),
                 HONE_E_MODEL, "a shape has more than 16 axes");
}

static void bad_tensors(void **state) {
    (void)state;
    static const unsigned char data[64];
    hn_bytes four = {data, 4}, eight = {data, 8};
    size_t before = atomic_load(&scratch_mem.peak);
    expect_tensor(pb("1i2i8s", 3, HONE_DTYPE_F32, "w"), HONE_E_MODEL,
                  "initializer 'w': a tensor whose dims need 3 numbers has 0 in float_data");
    expect_tensor(pb("1l1l2i8s", INT64_MAX / 8, (int64_t)1, HONE_DTYPE_F32, "w"), HONE_E_MODEL,
                  "a tensor whose dims need 1152921504606846975 numbers has 0");
    expect_tensor(pb("1l2i8s9b", (int64_t)1 << 40, HONE_DTYPE_F32, "w", eight), HONE_E_MODEL,
                  "a tensor whose dims need 4398046511104 bytes has 8 in raw_data");
    expect_tensor(pb("1l1l2i8s9b", INT64_MAX, INT64_MAX, HONE_DTYPE_F32, "w", eight), HONE_E_MODEL,
                  "the size of a tensor overflows");
    expect_tensor(pb("1l2i8s9b", INT64_MAX, HONE_DTYPE_F32, "w", eight), HONE_E_MODEL,
                  "the size of a tensor overflows");
    expect_tensor(pb("1i2i8s9b", -1, HONE_DTYPE_F32, "w", eight), HONE_E_MODEL,
                  "axis 0 of a tensor has the negative size -1");
    expect_tensor(pb("1i2i8s9b", 2, 99, "w", eight), HONE_E_MODEL, "unknown data type 99");
    expect_tensor(pb("1i2i8s9b", 2, 0, "w", eight), HONE_E_MODEL, "unknown data type 0");
    expect_tensor(pb("1i2i8s9b", 2, -7, "w", eight), HONE_E_MODEL, "unknown data type -7");
    expect_tensor(pb("1i2i8s9b", 2, HONE_DTYPE_F32, "w", four), HONE_E_MODEL,
                  "a tensor whose dims need 8 bytes has 4 in raw_data");
    expect_tensor(pb("1i2i8s9b", 3, HONE_DTYPE_S4, "w", four), HONE_E_MODEL,
                  "a tensor whose dims need 2 bytes has 4 in raw_data");
    expect_tensor(pb("1i2i8s7i7i", 2, HONE_DTYPE_F32, "w", 1, 2), HONE_E_MODEL,
                  "a tensor of type f32 has its data in int64_data, expected float_data");
    expect_tensor(pb("1i2i8s4f7i", 1, HONE_DTYPE_F32, "w", 1.0, 2), HONE_E_MODEL,
                  "a tensor has data in two fields");
    expect_tensor(pb("1i2i8s4f9b", 1, HONE_DTYPE_F32, "w", 1.0, four), HONE_E_MODEL,
                  "a tensor has data in two places");
    expect_tensor(pb("1i2i8s9b", 1, HONE_DTYPE_STRING, "w", four), HONE_E_MODEL,
                  "a tensor of strings has raw data");
    expect_tensor(pb("1i2i8s3b", 1, HONE_DTYPE_F32, "w", pb("1i2i", 0, 1)), HONE_E_UNSUPPORTED,
                  "a tensor is stored in segments");
    expect_tensor(
        pb("1b2i8s", (hn_bytes){"\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 17}, HONE_DTYPE_F32, "w"),
        HONE_E_MODEL, "a tensor has more than 16 axes");
    hn_bytes values = pb("1i2i8s4f4f", 2, HONE_DTYPE_F32, "w", 1.0, 2.0);
    expect_graph(
        pb("r15b", pb_inputs("x[2]"), pb("1b2b3i", values, pb("1i2i7i", 1, HONE_DTYPE_S64, 0), 4)),
        HONE_E_SHAPE, "the indices of a sparse tensor do not match its 2 values");
    expect_graph(pb("r15b", pb_inputs("x[2]"),
                    pb("1b2b3i", values, pb("1i2i5i5i", 2, HONE_DTYPE_S32, 0, 1), 4)),
                 HONE_E_TYPE, "the indices of a sparse tensor are s32");
    /* Nothing of all this was allocated for. */
    assert_true(atomic_load(&scratch_mem.peak) < before + (64 << 10));
}

/* ---- any bytes at all ---- */

/* Loads what can be loaded, and saves and loads that again. */
static void try_bytes(hn_bytes b) {
    hn_error err = {0};
    hn_model *m = NULL, *again = NULL;
    hn_file *saved = NULL;
    hone_status status = load_bytes(b, &m, &err);
    if (status != HONE_OK) {
        assert_true(strncmp(err.text, "test.onnx: ", 11) == 0 && strchr(err.text, '\n') == NULL);
        return;
    }
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    status = hn_onnx_save_memory(&saved, m, NULL, &err);
    /* A flip may leave a function at another opset than the model. */
    if (status != HONE_OK && strstr(err.text, "cannot be saved at") == NULL)
        fail_msg("%s", err.text);
    if (status == HONE_OK &&
        hn_onnx_load_memory(&again, saved, NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    hn_model_destroy(again);
    hn_model_destroy(m);
    hn_file_unref(saved);
}

static void cut_anywhere(void **state) {
    (void)state;
    hn_bytes b = rich_model();
    for (size_t n = 0; n < b.n; n++) try_bytes((hn_bytes){b.p, n});
}

static void any_bit_flipped(void **state) {
    (void)state;
    hn_bytes b = rich_model();
    unsigned char *copy = malloc(b.n);
    assert_non_null(copy);
    memcpy(copy, b.p, b.n);
    for (size_t bit = 0; bit < b.n * 8; bit++) {
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
        try_bytes((hn_bytes){copy, b.n});
        copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(copy);
}

/* One way to put a message into another: the field that holds it and what else the outer one has.
 */
typedef struct layer {
    const char *fields;
    unsigned char tag;
} layer;

/* Applies the layers to an empty message, `levels` times over. Written from the end, since each
 * length stands before what it counts. */
static hn_bytes nest(int levels, const layer *layers, int n_layers) {
    enum { ROOM = 1 << 20 };
    static unsigned char buffer[ROOM];
    size_t at = ROOM;
    for (int i = 0; i < levels * n_layers; i++) {
        const layer *l = &layers[i % n_layers];
        unsigned char length[10];
        size_t n = 0;
        for (uint64_t v = ROOM - at;; v >>= 7) {
            length[n++] = (unsigned char)(v >= 0x80 ? v | 0x80 : v);
            if (v < 0x80) break;
        }
        assert_true(at > 100);
        memcpy(buffer + (at -= n), length, n);
        buffer[--at] = l->tag;
        memcpy(buffer + (at -= strlen(l->fields)), l->fields, strlen(l->fields));
    }
    return (hn_bytes){buffer + at, ROOM - at};
}

static void subgraphs_nested_deep(void **state) {
    (void)state;
    static const layer layers[] = {{"\x0a\x01g\xa0\x01\x05", 6 << 3 | 2}, /* attribute g, GRAPH */
                                   {"\x22\x04Nest", 5 << 3 | 2},          /* node */
                                   {"", 1 << 3 | 2}};                     /* graph */
    static const int levels[] = {10, 64, 65, 10000};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hn_bytes model = pb("1i7b8b", 10, nest(levels[i], layers, 3), pb("2i", 21));
        if (levels[i] <= HN_MAX_DEPTH)
            hn_model_destroy(load(model));
        else
            expect(model, HONE_E_LIMIT, "subgraphs are nested more than 64 deep");
    }
}

static void types_nested_deep(void **state) {
    (void)state;
    static const layer layers[] = {{"", 1 << 3 | 2},
                                   {"", 4 << 3 | 2}}; /* a sequence of sequences */
    hn_bytes type = nest(10000, layers, 2);
    hn_model *m = load(pb_model(
        pb("11brr", pb("1s2b", "x", type), pb_nodes("Identity", "x", "y"), pb_outputs("y"))));
    assert_int_equal(m->graph->inputs[0]->type.kind, HN_TYPE_OTHER);
    assert_int_equal(m->graph->inputs[0]->type.other.n, type.n);
    hn_model_destroy(m);
}

/* Numbers take at most 8 bytes for each byte of the file, names and nodes a fixed number. */
static void memory_is_a_multiple_of_the_file(void **state) {
    (void)state;
    enum { COUNT = 1 << 18 };
    unsigned char *ones = malloc(COUNT);
    assert_non_null(ones);
    memset(ones, 1, COUNT);
    hn_bytes packed = {ones, COUNT};
    unsigned char *tags = malloc(2 * COUNT);
    assert_non_null(tags);
    for (int i = 0; i < COUNT; i++) memcpy(tags + 2 * i, "\x0a", 2);
    hn_bytes absent = {tags, 2 * COUNT};
    const struct {
        hn_bytes model;
        size_t multiple;
    } cases[] = {
        {pb_model(pb("5b", pb("1i2i8s7b", COUNT, HONE_DTYPE_S64, "w", packed))), 10},
        {pb_model(
             pb("1b", pb_node("N", "", "y", pb("5b", pb("1s20i8b", "a", HN_ATTR_INTS, packed))))),
         10},
        {pb_model(pb("1b", pb("4sr", "N", absent))), 40}, /* a node with as many absent inputs */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t live = atomic_load(&scratch_mem.live);
        atomic_store(&scratch_mem.peak, live);
        hn_model_destroy(load(cases[i].model));
        assert_true(atomic_load(&scratch_mem.peak) - live <=
                    cases[i].multiple * cases[i].model.n + (64 << 10));
    }
    free(ones);
    free(tags);
}

/* ---- external data ---- */

static hn_bytes external(const char *location, const char *offset, const char *length) {
    hn_bytes entries = pb("13b", pb("1s2s", "location", location));
    if (offset != NULL) entries = pb("r13b", entries, pb("1s2s", "offset", offset));
    if (length != NULL) entries = pb("r13b", entries, pb("1s2s", "length", length));
    hn_bytes w = pb("1i2i8sr14i", 2, HONE_DTYPE_F32, "w", entries, 1);
    return pb_model(pb("5br", w, pb_outputs("w")));
}

static hone_status load_external(hn_bytes model, hn_model **m, hn_error *err) {
    return hn_onnx_load(m, scratch_put("sub/model.onnx", model.p, model.n), NULL, &scratch_mem,
                        err);
}

static void expect_external(const char *location, const char *offset, const char *length,
                            hone_status status, const char *text) {
    hn_error err = {0};
    hn_model *m = NULL;
    hone_status found = load_external(external(location, offset, length), &m, &err);
    if (found != status || strstr(err.text, text) == NULL)
        fail_msg("\"%s\", expected: %s", err.text, text);
}

static void external_data(void **state) {
    (void)state;
    static const float numbers[] = {1, 2, 3, 4};
    assert_int_equal(mkdir(scratch_path("sub"), 0777), 0);
    scratch_put("sub/w.bin", numbers, sizeof numbers);
    scratch_put("outside.bin", numbers, sizeof numbers);
    assert_int_equal(symlink(scratch_path("outside.bin"), scratch_path("sub/link.bin")), 0);
    assert_int_equal(symlink("w.bin", scratch_path("sub/inside.bin")), 0);

    static const struct {
        const char *location, *offset, *length;
        float first;
    } good[] = {{"w.bin", NULL, NULL, 1},
                {"w.bin", "8", "8", 3},
                {"./w.bin", "4", NULL, 2},
                {"inside.bin", "0", "8", 1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        hn_error err = {0};
        hn_model *m = NULL;
        hn_bytes b = external(good[i].location, good[i].offset, good[i].length);
        if (load_external(b, &m, &err) != HONE_OK) fail_msg("%s", err.text);
        hn_tensor *t = m->graph->values[0]->constant;
        assert_true(hn_tensor_f64(t, 0) == good[i].first);
        assert_non_null(strstr(t->file->path, "w.bin"));
        hn_model_destroy(m);
    }
    expect_external("w.bin", "12", NULL, HONE_E_MODEL,
                    "external data 'w.bin' has 16 bytes, but 8 at offset 12 are wanted");
    expect_external("w.bin", "18446744073709551615", "8", HONE_E_MODEL, "has 16 bytes, but 8");
    expect_external("w.bin", "0", "4", HONE_E_MODEL, "has 4 bytes for it, but its dims need 8");
    expect_external("w.bin", "-1", NULL, HONE_E_MODEL,
                    "the offset of external data is '-1', expected a number");
    expect_external("w.bin", "18446744073709551616", NULL, HONE_E_MODEL, "expected a number");
    expect_external("w.bin", "", NULL, HONE_E_MODEL, "expected a number");
    expect_external("../outside.bin", NULL, NULL, HONE_E_MODEL,
                    "external data '../outside.bin' is not inside the model's folder");
    expect_external("a/../../outside.bin", NULL, NULL, HONE_E_MODEL, "not inside");
    expect_external("..", NULL, NULL, HONE_E_MODEL, "not inside");
    expect_external("/etc/passwd", NULL, NULL, HONE_E_MODEL, "not inside");
    expect_external("", NULL, NULL, HONE_E_MODEL, "not inside");
    expect_external("link.bin", NULL, NULL, HONE_E_MODEL, "outside the model's folder");
    expect_external("none.bin", NULL, NULL, HONE_E_IO, "none.bin' does not exist");
    expect_external(".", NULL, NULL, HONE_E_MODEL, "outside the model's folder");
    char longest[5000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    expect_external(longest, NULL, NULL, HONE_E_MODEL, "a path of more than");

    static const char *const files[] = {"sub/w.bin", "sub/link.bin", "sub/inside.bin",
                                        "sub/model.onnx"};
    for (int i = 0; i < 4; i++) assert_int_equal(unlink(scratch_path(files[i])), 0);
    assert_int_equal(rmdir(scratch_path("sub")), 0);

    expect(external("w.bin", NULL, NULL), HONE_E_MODEL, "a model from memory has no folder");
    expect_tensor(pb("1i2i8s14i", 2, HONE_DTYPE_F32, "w", 1), HONE_E_MODEL,
                  "external data has no location");
    expect_tensor(pb("1i2i8s13b14i", 1, HONE_DTYPE_STRING, "w", pb("1s2s", "location", "w.bin"), 1),
                  HONE_E_MODEL, "a tensor of strings has external data");
}

/* ---- functions ---- */

/* A model whose only node calls f.top(x); the functions are fields of the model. */
static hn_bytes calling(hn_bytes functions) {
    hn_bytes graph = pb("r1br", pb_inputs("x[2]"),
                        pb_node("top", "x", "y", pb("3s7s", "call", "f")), pb_outputs("y[2]"));
    return pb("1i7b8b8br", 10, graph, pb("2i", 21), pb("1s2i", "f", 1), functions);
}

static hn_bytes function(const char *name, const char *inputs, const char *outputs,
                         hn_bytes nodes) {
    hn_bytes fields = nodes;
    for (const char *p = inputs; *p != '\0'; p++) fields = pb("r4b", fields, (hn_bytes){p, 1});
    for (const char *p = outputs; *p != '\0'; p++) fields = pb("r5b", fields, (hn_bytes){p, 1});
    return pb("25b", pb("1s10sr9b9b", name, "f", fields, pb("2i", 18), pb("1s2i", "f", 1)));
}

static hn_bytes body(const char *op, const char *inputs, const char *outputs, const char *domain) {
    return pb("7b", pb_node(op, inputs, outputs, pb("7s", domain)));
}

static void functions_are_inlined(void **state) {
    (void)state;
    hn_bytes inner =
        function("in", "a", "b", pb("rr", body("Exp", "a", "t", ""), body("Neg", "t", "b", "")));
    hn_bytes top =
        function("top", "a", "b", pb("rr", body("in", "a", "x", "f"), body("in", "x", "b", "f")));
    hn_model *m = load(calling(pb("rr", top, inner)));
    static const char *const want[] = {"Exp", "Neg", "Exp", "Neg"};
    const hn_node *n = m->graph->first;
    for (int i = 0; i < 4; i++, n = n->next) {
        assert_string_equal(n->op_type, want[i]);
        assert_int_equal(n->opset, 18); /* the function's, not the model's */
    }
    assert_null(n);
    /* "x" of the function is not the graph's x, and the two t are two. */
    const hn_node *first = m->graph->first, *last = m->graph->last;
    assert_ptr_equal(first->inputs[0].value, m->graph->inputs[0]);
    assert_ptr_equal(last->outputs[0], m->graph->outputs[0].value);
    assert_string_equal(last->outputs[0]->name, "y");
    assert_string_not_equal(first->outputs[0]->name, last->inputs[0].value->name);
    assert_string_not_equal(first->next->outputs[0]->name, "x");
    hn_model_destroy(m);

    /* Outputs handed on, an absent input, an attribute that stays absent. */
    hn_bytes node =
        pb_node("Clip", "b c", "p", pb("5b", pb("1s21s20i", "to", "none", HN_ATTR_INT)));
    m = load(calling(pb("r", function("top", "abc", "a", pb("7b", node)))));
    assert_string_equal(m->graph->first->op_type, "Clip");
    assert_null(m->graph->first->inputs[0].value);
    assert_null(m->graph->first->attrs);
    assert_string_equal(m->graph->last->op_type, "Identity");
    hn_model_destroy(m);
}

static void a_graph_given_to_a_function(void **state) {
    (void)state;
    hn_bytes branch = pb("1b2s12b", pb_node("Neg", "x", "t", pb("")), "b", pb_value("t"));
    hn_bytes call =
        pb_node("top", "x", "y", pb("7s5b", "f", pb("1s20i6b", "g", HN_ATTR_GRAPH, branch)));
    hn_bytes ref = pb("1s21s20i", "then_branch", "g", HN_ATTR_GRAPH);
    hn_bytes again = pb("1s21s20i", "else_branch", "g", HN_ATTR_GRAPH);
    for (int twice = 0; twice < 2; twice++) {
        hn_bytes attrs = twice ? pb("5b5b", ref, again) : pb("5b", ref);
        hn_bytes fn = function("top", "a", "b", pb("7b", pb_node("If", "a", "b", attrs)));
        hn_bytes model =
            pb("1i7b8b8br", 10, pb("r1br", pb_inputs("x[2]"), call, pb_outputs("y[2]")),
               pb("2i", 21), pb("1s2i", "f", 1), fn);
        if (twice) {
            expect(model, HONE_E_UNSUPPORTED, "uses the graph of its attribute 'g' more than once");
            continue;
        }
        hn_model *m = load(model);
        hn_graph *g = hn_node_attr(m->graph->first, "then_branch")->u.graph;
        assert_ptr_equal(g->owner, m->graph->first);
        assert_ptr_equal(g->first->inputs[0].value, m->graph->inputs[0]);
        hn_model_destroy(m);
    }
}

static void bad_functions(void **state) {
    (void)state;
    expect(calling(function("top", "a", "b", body("top", "a", "b", "f"))), HONE_E_MODEL,
           "function 'top' calls itself");
    hn_bytes ping = function("top", "a", "b", body("pong", "a", "b", "f"));
    hn_bytes pong = function("pong", "a", "b", body("top", "a", "b", "f"));
    expect(calling(pb("rr", ping, pong)), HONE_E_MODEL, "function 'top' calls itself");
    hn_bytes neg = body("Neg", "a", "b", "");
    hn_bytes one = function("top", "a", "b", neg);
    expect(calling(pb("rr", one, one)), HONE_E_MODEL,
           "function 'top' of domain 'f' is given twice");
    expect(calling(function("", "a", "b", neg)), HONE_E_MODEL, "a function has no name");
    expect(calling(function("top", "", "b", neg)), HONE_E_MODEL,
           "top 'call': it has 1 inputs and 1 outputs, but function 'top' has 0 and 1");
    expect(calling(function("top", "aa", "b", neg)), HONE_E_MODEL,
           "input 1 of function 'top' has no name of its own");
    expect(calling(function("top", "a", "c", neg)), HONE_E_MODEL,
           "output 0 of function 'top' is computed nowhere");
    expect(calling(function("top", "a", "b", pb("rr", neg, neg))), HONE_E_MODEL,
           "an output is called 'b', but that name is already given");
    expect(calling(function("top", "a", "b", body("Neg", "x", "b", ""))), HONE_E_MODEL,
           "Neg (output 'y'): input 'x' is computed nowhere"); /* no sight of the caller's names */
    hn_bytes ref = pb("1s21s20i", "axis", "by", HN_ATTR_INT);
    hn_bytes given = pb("11b", pb("1s20i2f", "by", HN_ATTR_FLOAT, 1.0));
    hn_bytes nodes = pb("7br", pb_node("Softmax", "a", "b", pb("5b", ref)), given);
    expect(calling(function("top", "a", "b", nodes)), HONE_E_MODEL,
           "attribute 'axis': it is INT, but the attribute it refers to is FLOAT");
}

/* The name of the call goes before those of the nodes, but a long one is not copied a thousand
 * times. */
static void names_of_inlined_nodes(void **state) {
    (void)state;
    hn_bytes nodes = pb("");
    for (int i = 0; i < 1000; i++) {
        char out[16];
        snprintf(out, sizeof out, "t%d", i);
        nodes = pb("r7b", nodes, pb_node("Neg", "a", out, pb("3s", "n")));
    }
    hn_bytes fn = function("top", "a", "", nodes);
    for (int long_name = 0; long_name < 2; long_name++) {
        static char name[100000];
        memset(name, 'c', sizeof name - 1);
        if (!long_name) strcpy(name, "call");
        hn_bytes graph = pb("r1b", pb_inputs("x"), pb_node("top", "x", "", pb("3s7s", name, "f")));
        hn_model *m = load(pb("1i7b8b8br", 10, graph, pb("2i", 21), pb("1s2i", "f", 1), fn));
        assert_int_equal(m->graph->n_nodes, 1000);
        assert_string_equal(m->graph->first->name, long_name ? "n" : "call/n");
        hn_model_destroy(m);
    }
    assert_true(atomic_load(&scratch_mem.peak) < (8 << 20));
}

static void a_default_that_is_a_reference(void **state) {
    (void)state;
    hn_bytes ref = pb("1s21s20i", "axis", "by", HN_ATTR_INT);
    hn_bytes given = pb("11b", pb("1s20i21s", "by", 77, "other"));
    hn_bytes nodes = pb("7br", pb_node("Softmax", "a", "b", pb("5b", ref)), given);
    expect(calling(function("top", "a", "b", nodes)), HONE_E_MODEL,
           "attribute 'axis': the default of 'by' refers to another attribute");
}

/* 40 functions, each calling the next one twice. */
static void a_bomb_of_functions(void **state) {
    (void)state;
    hn_bytes all = pb("");
    for (int i = 0; i < 40; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, i == 0 ? "top" : "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        const char *op = i < 39 ? next : "Neg", *domain = i < 39 ? "f" : "";
        all = pb("rr", all,
                 function(name, "a", "b",
                          pb("rr", body(op, "a", "t", domain), body(op, "t", "b", domain))));
    }
    expect(calling(all), HONE_E_LIMIT, "written out at each call, are too large");
    assert_true(atomic_load(&scratch_mem.peak) < (256 << 20));
}

/* ---- saving ---- */

static hn_bytes saved_bytes(hn_model *m, const hn_onnx_save_options *o, hn_file **file) {
    hn_error err = {0};
    if (hn_onnx_save_memory(file, m, o, &err) != HONE_OK) fail_msg("%s", err.text);
    return (hn_bytes){(*file)->data, (*file)->bytes};
}

/* Fields in the order of their numbers, data in raw_data: such a file comes back byte for byte. */
static void a_canonical_file_is_saved_byte_for_byte(void **state) {
    (void)state;
    static const unsigned char data[16];
    hn_bytes four = {data, 4}, entry = pb("1s2s", "key", "value"), type = pb("1b", pb("1i", 1));
    hn_bytes tensor = pb("1i2i8s9b12s16b99i", 1, HONE_DTYPE_F32, "t", four, "doc", entry, 7);
    hn_bytes plain = pb("1i2i8s9b", 1, HONE_DTYPE_F32, "t", four);
    hn_bytes texts = pb("1i2i6s6s8s", 2, HONE_DTYPE_STRING, "a", "", "texts");
    hn_bytes empty = pb("1i1i2i8s", 0, 3, HONE_DTYPE_F32, "empty");
    hn_bytes sparse = pb("1b2b3i", pb("1i2i9b", 1, HONE_DTYPE_F32, four),
                         pb("1i2i9b", 1, HONE_DTYPE_S64, (hn_bytes){data, 8}), 4);
    hn_bytes inner = pb("1b2s5b12b", pb_node("Neg", "x", "in", pb("")), "inner", pb_zeros("iw", 1),
                        pb_value("in"));
    hn_bytes inner2 = pb("1b2s12b", pb_node("Neg", "x", "in2", pb("")), "inner2", pb_value("in2"));
    hn_bytes attrs =
        pb("5b5b5b5b5b5b5b", pb("1s2f13s20i", "f", 0.5, "doc", HN_ATTR_FLOAT),
           pb("1s3i20i", "i", -3, HN_ATTR_INT), pb("1s4s20i", "s", "", HN_ATTR_STRING),
           pb("1s5b20i", "t", plain, HN_ATTR_TENSOR), pb("1s6b20i", "g", inner, HN_ATTR_GRAPH),
           pb("1s14b20i", "tp", type, HN_ATTR_TYPE_PROTO),
           pb("1s20i22b", "st", HN_ATTR_SPARSE_TENSOR, sparse));
    attrs = pb("r5b5b5b5b5b5b5b", attrs, pb("1s7f7f20i", "fs", 1.0, 2.0, HN_ATTR_FLOATS),
               pb("1s8i8i20i", "is", 1, -1, HN_ATTR_INTS),
               pb("1s9s9s20i", "ss", "p", "q", HN_ATTR_STRINGS),
               pb("1s10b10b20i", "ts", plain, empty, HN_ATTR_TENSORS),
               pb("1s11b20i", "gs", inner2, HN_ATTR_GRAPHS),
               pb("1s15b15b20i", "tps", type, type, HN_ATTR_TYPE_PROTOS),
               pb("1s20i23b", "sts", HN_ATTR_SPARSE_TENSORS, sparse));
    hn_bytes odd = pb("1s1s2s2s3s4srr", "x", "", "a", "", "node", "Odd", attrs,
                      pb("6s7s8s9b10b", "doc", "my.ops", "over", entry, pb("1s", "device")));
    hn_bytes dims = pb("1b1b1b1b", pb("1i3s", 2, "BATCH"), pb("2s", "n"), pb(""), pb("1i", 0));
    hn_bytes x =
        pb("1s2b3s4b", "x", pb("1b6s", pb("1i2b", HONE_DTYPE_F32, dims), "IMAGE"), "doc", entry);
    hn_bytes y = pb("1s2b", "a", pb("8b", pb("1i2b", HONE_DTYPE_F32, dims)));
    hn_bytes named = pb("1b2b3i", pb("1i2i8s9b", 1, HONE_DTYPE_F32, "sparse", four),
                        pb("1i2i9b", 1, HONE_DTYPE_S64, (hn_bytes){data, 8}), 4);
    hn_bytes graph =
        pb("1b2s5b5b5b10s11b12b13b13b15b16b14b99s", odd, "g", tensor, texts, empty, "doc", x, y,
           pb("1s2b", "t", type), y, named, entry, pb("1s", "quantized"), "unknown");
    hn_bytes model = pb("1i2s3s4s5i6s7b8b8b14b20b", 10, "p", "1", "d", 3, "doc", graph,
                        pb("1s2i", "", 21), pb("1s2i", "my.ops", 2), entry, pb("3b", entry));
    hn_model *m = load(model);
    hn_file *file;
    hn_bytes saved = saved_bytes(m, NULL, &file);
    assert_int_equal(saved.n, model.n);
    assert_memory_equal(saved.p, model.p, model.n);
    hn_file_unref(file);
    hn_model_destroy(m);
}

/* -1 and "?" on two axes each are four sizes that nobody knows; saved, they are left unsaid. */
static void sizes_nobody_knows(void **state) {
    (void)state;
    hn_bytes dims = pb("1b1b1b1b", pb("1i", -1), pb("2s", "?"), pb("1i", -1), pb("2s", "?"));
    hn_bytes type = pb("1b", pb("1i2b", HONE_DTYPE_F32, dims));
    hn_bytes graph =
        pb("11brr", pb("1s2b", "x", type), pb_nodes("Relu", "x", "y"), pb_outputs("y"));
    hn_model *m = load(pb_model(graph));
    for (int pass = 0; pass < 2; pass++) {
        const hn_shape *x = &m->graph->inputs[0]->type.shape;
        assert_int_equal(x->rank, 4);
        for (int i = 0; i < 4; i++) {
            assert_true(hn_dim_is_fresh(x->dim[i]));
            for (int k = 0; k < i; k++) assert_ptr_not_equal(x->dim[i], x->dim[k]);
        }
        hn_file *file;
        hn_model *again = load(saved_bytes(m, NULL, &file));
        hn_file_unref(file);
        hn_model_destroy(m);
        m = again;
    }
    hn_model_destroy(m);
}

static void saving_twice_gives_the_same_bytes(void **state) {
    (void)state;
    hn_model *m = load(rich_model());
    hn_file *first, *second;
    hn_bytes a = saved_bytes(m, NULL, &first);
    hn_model *again = load(a);
    hn_bytes b = saved_bytes(again, NULL, &second);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    const char *path = scratch_path("saved.onnx");
    hn_error err = {0};
    assert_int_equal(hn_onnx_save(m, path, NULL, &err), HONE_OK);
    assert_int_equal(scratch_count(), 1);
    hn_file *file;
    assert_int_equal(hn_file_open(&file, path, true, &scratch_mem, &err), HONE_OK);
    assert_int_equal(file->bytes, a.n);
    assert_memory_equal(file->data, a.p, a.n);
    hn_file_unref(file);
    hn_file_unref(first);
    hn_file_unref(second);
    hn_model_destroy(m);
    hn_model_destroy(again);
}

static void inputs_are_not_overwritten(void **state) {
    (void)state;
    hn_bytes b = pb_model(pb("5br", pb_zeros("w", 1000), pb_outputs("w")));
    const char *path = scratch_put("in.onnx", b.p, b.n);
    hn_error err = {0};
    hn_model *m = NULL;
    hn_onnx_save_options o = {.external = true};
    assert_int_equal(hn_onnx_load(&m, path, NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_onnx_save(m, path, NULL, &err), HONE_E_ARG);
    assert_int_equal(hn_onnx_save(m, scratch_path("out.onnx"), &o, &err), HONE_OK);
    assert_int_equal(scratch_count(), 3);
    hn_model_destroy(m);
    assert_int_equal(hn_onnx_load(&m, scratch_path("out.onnx"), NULL, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_onnx_save(m, scratch_path("out.onnx.data"), NULL, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "holds weights of the input and will not be overwritten"));
    unlink(scratch_path("out.onnx")); /* its data alone is still in the way of another out.onnx */
    assert_int_equal(hn_onnx_save(m, scratch_path("out.onnx"), &o, &err), HONE_E_ARG);
    assert_int_equal(scratch_count(), 2);
    hn_model_destroy(m);
}

static void what_cannot_be_saved(void **state) {
    (void)state;
    hn_error err = {0};
    hn_file *file = NULL;
    hn_model *m =
        load(pb_model(pb("rrr", pb_inputs("x[2]"), pb_nodes("Celu", "x", "y"), pb_outputs("y"))));
    hn_onnx_save_options o = {.opset = 99};
    assert_int_equal(hn_onnx_save_memory(&file, m, &o, &err), HONE_E_ARG);
    assert_int_equal(hn_onnx_save(m, scratch_path("no/such/folder.onnx"), NULL, &err), HONE_E_IO);
    assert_int_equal(scratch_count(), 0);
    hn_model_destroy(m);
}

/* ---- memory that runs out ---- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_bytes b = rich_model();
    const char *path = scratch_put("in.onnx", b.p, b.n), *out = scratch_path("out.onnx");
    hn_onnx_save_options o = {.external = true, .external_threshold = 1};
    for (long long n = 0;; n++) {
        hn_error err = {0};
        hn_model *m = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status = hn_onnx_load(&m, path, NULL, &scratch_mem, &err);
        if (status == HONE_OK) status = hn_onnx_save(m, out, &o, &err);
        atomic_store(&scratch_mem.fail_after, -1);
        hn_model_destroy(m);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
        assert_int_equal(scratch_count(), status == HONE_OK ? 3 : 1);
        if (status == HONE_OK) break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_model_and_all_its_parts),
        TEST(weights_stay_in_the_file),
        TEST(typed_data_of_every_width),
        TEST(initializers_that_are_inputs),
        TEST(nodes_out_of_order_are_sorted),
        TEST(bad_models),
        TEST(bad_names),
        TEST(bad_attributes),
        TEST(sizes_nobody_knows),
        TEST(bad_types),
        TEST(bad_tensors),
        TEST(cut_anywhere),
        TEST(any_bit_flipped),
        TEST(subgraphs_nested_deep),
        TEST(types_nested_deep),
        TEST(memory_is_a_multiple_of_the_file),
        TEST(external_data),
        TEST(functions_are_inlined),
        TEST(a_graph_given_to_a_function),
        TEST(bad_functions),
        TEST(names_of_inlined_nodes),
        TEST(a_default_that_is_a_reference),
        TEST(a_bomb_of_functions),
        TEST(a_canonical_file_is_saved_byte_for_byte),
        TEST(saving_twice_gives_the_same_bytes),
        TEST(inputs_are_not_overwritten),
        TEST(what_cannot_be_saved),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
