#include "ir/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

static hn_error err;

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

static hn_model *parse(const char *text) {
    hn_model *m = NULL;
    if (hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hn_model_verify(m, &err), HONE_OK);
    return m;
}

static const char *print(const hn_model *m) {
    static buffer b;
    b.n = 0;
    if (hn_text_print(m, &(hn_text_out){.text = collect, .text_ctx = &b}, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return b.text;
}

/* The text is printed as it is. */
static void same(const char *text) {
    hn_model *m = parse(text);
    assert_string_equal(print(m), text);
    hn_model_destroy(m);
}

/* The text is printed as another one, and that as it is. */
static void becomes(const char *text, const char *printed) {
    hn_model *m = parse(text);
    assert_string_equal(print(m), printed);
    hn_model_destroy(m);
    same(printed);
}

#define HEAD "<\n   ir_version: 10,\n   opset_import: [\"\" : 21]\n>\n"

static void refuse(const char *text, const char *message) {
    hn_model *m = NULL;
    memset(&err, 0, sizeof err);
    if (hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err) == HONE_OK)
        fail_msg("accepted: %s", text);
    assert_string_equal(err.text, message);
    assert_null(m);
}

/* ---- what can be said ---- */

static void headers(void **state) {
    (void)state;
    same(
        "<\n"
        "   ir_version: 8,\n"
        "   opset_import: [\"\" : 17, \"com.example\" : 3],\n"
        "   producer_name: \"a \\\"b\\\" \\\\ c\",\n"
        "   producer_version: \"1.2\",\n"
        "   domain: \"org\",\n"
        "   model_version: -7,\n"
        "   doc_string: \"two\nlines\",\n"
        "   metadata_props: [\"k\": \"v\", \"\": \"\"]\n"
        ">\n"
        "g () => () {\n"
        "}\n");
    becomes("g()=>(){}",
            "<\n   ir_version: 14,\n   opset_import: [\"\" : 28]\n>\ng () => () {\n}\n");
    becomes(
        "<opset_import : [], ir_version:10, metadata_props:[]> # a comment\n g # another\n=>(){}",
        "<\n   ir_version: 10,\n   opset_import: []\n>\ng () => () {\n}\n");
    becomes("<opset_import: [\"ai.onnx\" : 9]> g()=>(){}",
            "<\n   ir_version: 14,\n   opset_import: [\"\" : 9]\n>\ng () => () {\n}\n");
}

static void types(void **state) {
    (void)state;
    same(HEAD
         "g (float a, float[] b, int64[batch,3,?,\"2*n + 1\"] c, undefined[2] d, undefined[] e, f, "
         "sparse_tensor(double[4,5]) h, sparse_tensor(int8[]) i, seq(float[N,3]) j, "
         "map(string, seq(int64)) k, optional(seq(float[])) l, opaque() m, opaque(x.y) n, "
         "opaque(dom.ain, \"a b\") o, seq(sparse_tensor(bool[?])) p, seq(undefined[\"a-b\"]) q) "
         "=> (float[] b) {\n}\n");
    same(HEAD
         "g (float8e4m3fn a, float8e4m3fnuz b, float8e5m2 c, float8e5m2fnuz d, float8e8m0 e, "
         "float4e2m1 f, int4 h, uint4 i, int2 j, uint2 k, bfloat16 l, complex64 m, complex128 n) "
         "=> () {\n}\n");
    hn_model *m = parse("g (float[n,n] x, float[\"\"] y) => () {}");
    const hn_value *x = hn_graph_value(m->graph, "x"), *y = hn_graph_value(m->graph, "y");
    assert_ptr_equal(x->type.shape.dim[0], x->type.shape.dim[1]);
    assert_true(hn_dim_is_fresh(y->type.shape.dim[0]));
    assert_ptr_equal(m->graph->inputs[0], x);
    hn_model_destroy(m);
}

static void contents(void **state) {
    (void)state;
    same(HEAD
         "g () => ()\n"
         "<\n"
         "   float a = {-0},\n"
         "   float[2,3] b = {0.1, 1e-45, 3.4028235e+38, inf, -inf, nan},\n"
         "   double[2] c = {0.1, -5e-324},\n"
         "   float16[2] d = {15360, 65535},\n"
         "   bfloat16[1] e = {16256},\n"
         "   float8e5m2[3] f = {0, 60, 255},\n"
         "   float4e2m1[3] h = {0, 7, 15},\n"
         "   int4[3] i = {-8, 0, 7},\n"
         "   uint2[5] j = {0, 1, 2, 3, 1},\n"
         "   int64[2] k = {-9223372036854775808, 9223372036854775807},\n"
         "   uint64[1] l = {18446744073709551615},\n"
         "   bool[2] m = {0, 1},\n"
         "   string[2] n = {\"\", \"q\\\"b\\\\\"},\n"
         "   complex64[1] o = {1, -2.5},\n"
         "   complex128 p = {0.1, 2},\n"
         "   float[0,3] q = {},\n"
         "   int8[2] r = {-128, 127},\n"
         "   uint32[1] s = {4294967295},\n"
         "   sparse_tensor(float[9]) t = {float[2] {1, 2}, int64[2] {0, 7}},\n"
         "   sparse_tensor(int32[3,3]) u = {int32[1] {5}, int64[1,2] {2, 1}},\n"
         "   float a,\n"
         "   \"not an id\"\n"
         ">\n"
         "{\n"
         "   \"not an id\" = Identity (a)\n"
         "}\n");
    hn_model *m = parse("g () => () <int4[3] i = {-8, 0, 7}, float16 h = {15360}> {}");
    const hn_tensor *i = hn_graph_value(m->graph, "i")->constant;
    assert_int_equal(i->bytes, 2);
    assert_int_equal(((const unsigned char *)i->data)[1], 7);
    assert_true(hn_tensor_f64(hn_graph_value(m->graph, "h")->constant, 0) == 1);
    hn_model_destroy(m);
}

/* Integers, exponents and words are floats where floats are wanted. */
static void numbers(void **state) {
    (void)state;
    becomes(HEAD "g () => () <float[6] a = {1, 1.50, 2E+2, -Infinity, NaN, 0.1e-1}> {}",
            HEAD "g () => ()\n<\n   float[6] a = {1, 1.5, 200, -inf, nan, 0.01}\n>\n{\n}\n");
}

static void nodes(void **state) {
    (void)state;
    same(
        "<\n   ir_version: 10,\n   opset_import: [\"\" : 21, \"com.microsoft\" : 1]\n>\n"
        "g (float[2] x, \"y/1:0\", \"float\") => (float[2] out, float[2] out) {\n"
        "   [first] a, \"\", b = Split (x, \"\", \"y/1:0\")\n"
        "   [\"a label\"] \"c.d\" = com.microsoft.Gelu (a)\n"
        "   d = \"my-domain\".\"an op\":v2 (b, \"\")\n"
        "   = Print (\"float\")\n"
        "   \"seq\" = other.Op:\"over load\" ()\n"
        "   out = Add (\"c.d\", \"seq\")\n"
        "}\n");
    becomes(HEAD "g(x)=>(y){y,=Op(,x,) z=Op(,) [] w = ai . onnx . Relu : over ( x ) }", HEAD
            "g (x) => (y) {\n   y = Op (\"\", x)\n   z = Op (\"\")\n   w = Relu:over (x)\n}\n");
    hn_model *m = parse("<opset_import: [\"\" : 13]> g (x) => (y) { y = a.b.Op (x) z = Relu (y) }");
    const hn_node *n = m->graph->first;
    assert_string_equal(n->domain, "a.b");
    assert_string_equal(n->op_type, "Op");
    assert_int_equal(n->opset, 1);
    assert_true(n->old);
    assert_null(n->op);
    assert_int_equal(n->next->opset, 13);
    hn_model_destroy(m);
}

static void attributes(void **state) {
    (void)state;
    same(
        HEAD
        "g (x) => () {\n"
        "   = Op <f: float = 0.1, i: int = -3, s: string = \"a\\\"b\", t: tensor = int32[2] {1, "
        "2}, "
        "named: tensor = float \"a b\" = {1}, \"not-id\": int = 1, tp: type_proto = "
        "seq(float[N]), tp2: type_proto = float[2], sp: sparse_tensor = sparse_tensor(float[9]) "
        "{float[1] {1}, int64[1] {4}}, fs: floats = [1, 0.5, nan], is: ints = [1, -2], ss: strings "
        "= [\"a\", \"\"], e: ints = [], e2: tensors = [], ts: tensors = [float {1}, int8[1] n = "
        "{2}], sps: sparse_tensors = [sparse_tensor(int8[2]) {int8[0] {}, int64[0] {}}], tps: "
        "type_protos = [float, optional(int8[])], inf: float = inf> (x)\n"
        "}\n");
    becomes(
        HEAD
        "g (x) => () {\n"
        "= Op <f = 1.0, i = 1, s = \"\", t = int64[1] {1}, u = int64 u = {2}, p = seq(float), n "
        "= -inf, l = [1, 2], m = [1.5, 2], k = [\"a\"], v = [float {1}, float {2}], g = h () => "
        "() {}, q = \"a b\" () => () {}, ext = float[1] ext {3}> (x)\n"
        "}\n",
        HEAD
        "g (x) => () {\n"
        "   = Op (x) <f: float = 1, i: int = 1, s: string = \"\", t: tensor = int64[1] {1}, u: "
        "tensor = int64 u = {2}, p: type_proto = seq(float), n: float = -inf, l: ints = [1, 2], "
        "m: floats = [1.5, 2], k: strings = [\"a\"], v: tensors = [float {1}, float {2}], g: "
        "graph = h () => () {\n"
        "   }, q: graph = \"a b\" () => () {\n"
        "   }, ext: tensor = float[1] ext = {3}>\n"
        "}\n");
    hn_model *m = parse("g () => () { = Op <a: float = 3, b = [7, 8], c: graphs = []> () }");
    const hn_node *n = m->graph->first;
    assert_true(hn_node_attr(n, "a")->u.f == 3);
    assert_int_equal(hn_node_attr(n, "b")->u.ints[1], 8);
    assert_int_equal(hn_node_attr(n, "c")->type, HN_ATTR_GRAPHS);
    hn_model_destroy(m);
}

static void subgraphs(void **state) {
    (void)state;
    same(HEAD
         "g (bool c, float[2] x) => (float[2] y) {\n"
         "   z = Neg (x)\n"
         "   [if] y = If (c) <then_branch: graph = then () => (float[2] a)\n"
         "   <\n"
         "      float[2] w = {1, 2}\n"
         "   >\n"
         "   {\n"
         "      a = Add (z, w)\n"
         "   }, else_branch: graph = other () => (float[2] a) {\n"
         "      a = If (c) <then_branch: graph = inner () => (z) {\n"
         "      }, else_branch: graph = inner () => (x) {\n"
         "      }>\n"
         "   }>\n"
         "   = Op () <list: graphs = [p () => () {\n"
         "   }, q (int64 i) => (int64 i) {\n"
         "   }]>\n"
         "}\n");
}

/* Before IR version 4 initializers are listed among the inputs without being any; later they are
 * inputs with a default. */
static void inputs_with_contents(void **state) {
    (void)state;
    const char *body =
        "g (float[2] w, float[2] x) => (float[2] y)\n"
        "<\n   float[2] w = {1, 2}\n>\n{\n   y = Add (x, w)\n}\n";
    static char text[400];
    for (int ir = 3; ir <= 4; ir++) {
        snprintf(text, sizeof text, "<\n   ir_version: %d,\n   opset_import: [\"\" : 7]\n>\n%s", ir,
                 body);
        same(text);
        hn_model *m = parse(text);
        const hn_value *w = hn_graph_value(m->graph, "w");
        assert_int_equal(w->is_input, ir == 4);
        assert_int_equal(m->graph->n_inputs, ir == 4 ? 2 : 1);
        assert_non_null(w->constant);
        hn_model_destroy(m);
    }
    becomes(HEAD "g (float[n] w, float[2] v = {3, 4}) => () <float[2] w = {1, 2}> {}", HEAD
            "g (float[n] w, float[2] v) => ()\n<\n   float[2] w = {1, 2},\n   float[2] v = {3, "
            "4}\n>\n{\n}\n");
}

static void declared_types(void **state) {
    (void)state;
    const char *text = HEAD
        "g (float[2] x) => (float[2] y)\n"
        "<\n   float[2] h\n>\n"
        "{\n   h = Relu (x)\n   k = Relu (h)\n   y = Relu (k)\n}\n";
    same(text);
    becomes(
        "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) <int8 gone, "
        "float[2] h> { h = Relu(x) k = Relu(h) y = Relu(k) }",
        text);
    hn_model *m = parse(text);
    hn_value *k = hn_graph_value(m->graph, "k");
    k->type = (hn_type){.kind = HN_TYPE_TENSOR, .dtype = HONE_DTYPE_F32, .shape.rank = 1};
    k->type.shape.dim[0] =
        hn_dim_add(&m->dims, hn_dim_symbol(&m->dims, "n"), hn_dim_const(&m->dims, 1));
    buffer b = {.n = 0};
    hn_text_out out = {.text = collect, .text_ctx = &b, .all_types = true};
    assert_int_equal(hn_text_print(m, &out, &err), HONE_OK);
    assert_string_equal(b.text, HEAD
                        "g (float[2] x) => (float[2] y)\n"
                        "<\n   float[2] h,\n   float[\"n + 1\"] k\n>\n"
                        "{\n   h = Relu (x)\n   k = Relu (h)\n   y = Relu (k)\n}\n");
    hn_model_destroy(m);
}

/* A lifted model is printed with the newest opset; one that is half lifted is not. */
static void opset_of_nodes(void **state) {
    (void)state;
    hn_model *m = parse(HEAD "g (float[2] x) => () { y = Relu (x) z = Neg (y) w = a.Op (z) }");
    hn_node *relu = m->graph->first, *neg = relu->next;
    relu->old = false;
    buffer b = {.n = 0};
    hn_text_out out = {.text = collect, .text_ctx = &b};
    assert_int_equal(hn_text_print(m, &out, &err), HONE_E_MODEL);
    assert_string_equal(err.text,
                        "Relu (output 'y') stands in the form of opset 28, Neg (output 'z') in "
                        "that of 21: infer the model before printing it");
    neg->old = false;
    assert_non_null(strstr(print(m), "opset_import: [\"\" : 28]"));
    hn_model_destroy(m);
    m = parse("<opset_import: []> g (x) => () { y = a.Op (x) }");
    m->graph->first->domain = "";
    m->graph->first->old = false;
    assert_non_null(strstr(print(m), "opset_import: [\"\" : 28]"));
    hn_model_destroy(m);
}

/* The example of docs/text.md, with the companion it speaks of left out. */
static void documented_example(void **state) {
    (void)state;
    same(HEAD
         "classify (float[batch,4] x) => (float[batch,2] y)\n"
         "<\n"
         "   float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8},\n"
         "   float[2] b = {0.5, -1},\n"
         "   float[batch,2] h\n"
         ">\n"
         "{\n"
         "   h = Gemm (x, w, b)\n"
         "   [last] y = LeakyRelu <alpha: float = 0.1> (h)\n"
         "}\n");
}

/* ---- the companion file ---- */

static hn_model *large_model(void) {
    hn_model *m = parse(
        "g () => () <float[64] small = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
        "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
        "0,0,0,0}> { c = Constant <value = float {0}> () }");
    hn_tensor *t;
    hn_value *v;
    float f[65];
    for (int i = 0; i < 65; i++) f[i] = (float)i;
    assert_int_equal(hn_tensor_from_f32(&t, m->alloc, 1, (int64_t[]){65}, f, &err), HONE_OK);
    assert_int_equal(hn_value_create_constant(&v, m->graph, "w", NULL, t, &err), HONE_OK);
    hn_attr *a = hn_node_attr(m->graph->first, "value");
    hn_tensor_unref(a->u.tensor);
    int64_t ones[67];
    for (int i = 0; i < 67; i++) ones[i] = 1;
    assert_int_equal(
        hn_tensor_from_s64(&a->u.tensor, m->alloc, HONE_DTYPE_U4, 1, (int64_t[]){67}, ones, &err),
        HONE_OK);
    return m;
}

static void files(void **state) {
    (void)state;
    const char *path = scratch_path("m.txt");
    hn_model *m = large_model(), *back = NULL;
    assert_int_equal(hn_text_save(m, path, &err), HONE_OK);
    assert_int_equal(scratch_count(), 2);
    char *text = strdup(print(m));
    hn_model_destroy(m);
    assert_non_null(strstr(text, " w = ext(\""));
    assert_non_null(strstr(text, ", 260)"));
    assert_non_null(strstr(text, "uint4[67] ext(\""));
    assert_non_null(strstr(text, ", 34)"));

    assert_int_equal(hn_text_load(&back, path, &scratch_mem, &err), HONE_OK);
    assert_int_equal(hn_model_verify(back, &err), HONE_OK);
    assert_string_equal(back->path, path);
    assert_string_equal(print(back), text);
    const hn_tensor *w = hn_graph_value(back->graph, "w")->constant;
    assert_true(hn_tensor_f64(w, 64) == 64);
    assert_non_null(w->file);
    assert_int_equal(hn_tensor_s64(hn_node_attr(back->graph->first, "value")->u.tensor, 66), 1);
    /* What it was read from is not overwritten. */
    assert_int_equal(hn_text_save(back, path, &err), HONE_E_ARG);
    assert_int_equal(hn_model_check_target(back, scratch_path("m.txt.bin"), &err), HONE_E_ARG);
    assert_int_equal(hn_text_save(back, scratch_path("copy.txt"), &err), HONE_OK);
    hn_model_destroy(back);
    free(text);

    /* A model without large tensors has no companion. */
    m = parse("g () => () {}");
    assert_int_equal(hn_text_save(m, scratch_path("small.txt"), &err), HONE_OK);
    assert_int_equal(scratch_count(), 5);
    hn_model_destroy(m);
    assert_int_equal(hn_text_load(&m, scratch_path("small.txt"), &scratch_mem, &err), HONE_OK);
    hn_model_destroy(m);
}

static void damaged_files(void **state) {
    (void)state;
    hn_model *m = large_model();
    char *text = strdup(print(m)), message[2048];
    assert_int_equal(hn_text_save(m, scratch_path("m.txt"), &err), HONE_OK);
    hn_model_destroy(m);
    m = NULL;
    refuse(text, "8:21: the contents of 'w' lie in a companion file, but there is none");
    const char *path = scratch_put_text("bad.txt", text);
    scratch_put("bad.txt.bin", text, 100);
    assert_int_equal(hn_text_load(&m, path, &scratch_mem, &err), HONE_E_FORMAT);
    snprintf(message, sizeof message,
             "%s: 8:21: 'w' has 260 bytes, but the companion file '%s.bin' has 100 left", path,
             path);
    assert_string_equal(err.text, message);
    scratch_put("bad.txt.bin", text, 300);
    assert_int_equal(hn_text_load(&m, path, &scratch_mem, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "have the digest "));
    assert_int_equal(hn_text_load(&m, scratch_path("none.txt"), &scratch_mem, &err), HONE_E_IO);
    path = scratch_put_text("syntax.txt", "g (");
    assert_int_equal(hn_text_load(&m, path, &scratch_mem, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "syntax.txt: 1:4: found the end"));
    assert_null(m);
    free(text);
    refuse("g () => () <float[65] w = ext(\"a\", 261)> {}",
           "1:30: 'w' has 261 bytes, its type takes 260");
    refuse("g () => () <string[65] w = ext(\"a\", 5)> {}",
           "1:31: the contents of 'w' cannot lie in a companion file");
}

/* ---- what cannot ---- */

static void syntax_errors(void **state) {
    (void)state;
    refuse("", "1:1: found the end of the text, wanted the name of a graph");
    refuse("  \n # only this", "2:13: found the end of the text, wanted the name of a graph");
    refuse("<", "1:2: found the end of the text, wanted a key of the model, such as ir_version");
    refuse("<ir_version: 8, colour: 3>",
           "1:17: found 'colour', wanted a key of the model, such as ir_version");
    refuse("<ir_version: 8 ir_version: 8>", "1:16: found 'ir_version', wanted '>'");
    refuse("<ir_version: 8, ir_version: 8>", "1:17: ir_version is given twice");
    refuse("<ir_version: \"8\">", "1:14: found '\"', wanted a number");
    refuse("<ir_version: 2>", "1:14: IR version 2, wanted 3 to 14");
    refuse("<ir_version: 99>", "1:14: IR version 99, wanted 3 to 14");
    refuse("<ir_version: 8.5>", "1:14: found 8.5, wanted int64");
    refuse("<ir_version: 99999999999999999999>", "1:14: found 99999999999999999999, wanted int64");
    refuse("<opset_import: [\"\" : 99]>",
           "1:17: opset 99 of ai.onnx is imported; the newest known is 28");
    refuse("<opset_import: [\"\" : 0]>", "1:17: opset 0 is imported, wanted 1 or more");
    refuse("<opset_import: [\"\" : 7, \"ai.onnx\" : 8]>",
           "1:25: domain 'ai.onnx' is imported twice");
    refuse("<opset_import: [a : 7]>", "1:17: found 'a', wanted a string");
    refuse("<domain: \"never ends", "1:10: the string that begins here does not end");
    refuse("<domain: \"never ends\\", "1:10: the string that begins here does not end");
    refuse("g (int8 x = > (y) {}", "1:13: found '>', wanted '{' or ext(...)");
    refuse("g (x) = > (y) {}", "1:9: found '>', wanted '=>'");
    refuse("g (x) => y {}", "1:10: found 'y', wanted '('");
    refuse("g (x)\n=> (x)\n{\n  y = Relu(x)\n", "5:1: found the end of the text, wanted '}'");
    refuse("g () => () { y }", "1:16: found '}', wanted '='");
    refuse("g () => () { y = }", "1:18: found '}', wanted a name");
    refuse("g () => () { y = Op }", "1:21: found '}', wanted '('");
    refuse("g () => () { y = Op (\xc3\xa9) }", "1:22: found the byte 195, wanted ')'");
    refuse("g () => () { y = Op <> () }", "1:22: found '>', wanted the name of an attribute");
    refuse("g () => () { y = Op <a = > () }", "1:26: found '>', wanted the value of an attribute");
    refuse("g () => () { y = Op <a: colour = 1> () }",
           "1:25: found 'colour', wanted the type of an attribute, such as int");
    refuse("g () => () { y = Op <a: int = 1.5> () }",
           "1:31: found a value of type FLOAT, wanted INT");
    refuse("g () => () { y = Op <a: int = [1]> () }",
           "1:31: found '[', wanted the value of an attribute");
    refuse("g () => () { y = Op <a: ints = 1> () }", "1:32: found '1', wanted '['");
    refuse("g () => () { y = Op <a = [1, \"x\"]> () }",
           "1:30: found a value of type STRING, wanted INT");
    refuse("g () => () { y = Op <a: ints = [float {1}]> () }",
           "1:33: found a value of type TENSOR, wanted INT");
    refuse("g () => () { y = Op <a = []> () }",
           "1:28: an empty list needs its type, as in 'axes: ints = []'");
    refuse("g () => () { y = Op <a: float = @b> () }",
           "1:33: attribute 'a' refers to an attribute of a function, but is in none");
    refuse("g () => () { y = Op <a = 1, a = 2> () }", "1:29: attribute 'a' is given twice");
    refuse("g () => () { y = Op <a: float = 1e99> () }", "1:33: found 1e99, wanted float");
    refuse("g () => () { y = Op <a = 1e> () }", "1:26: found 1e, wanted float");
    refuse("g () => () {} f () => () {}",
           "1:15: the text goes on after the graph; functions are not read from text");
    hn_model *m = NULL;
    assert_int_equal(hn_text_parse(&m, "g (\"a\0b\") => () {}", 18, NULL, &scratch_mem, &err),
                     HONE_E_FORMAT);
    assert_string_equal(err.text, "1:4: a name has a zero byte inside");
}

static void type_errors(void **state) {
    (void)state;
    refuse("g (float[-1] x) => () {}", "1:10: found -1, wanted a size of 0 or more");
    refuse("g (float[9223372036854775807] x) => () {}",
           "1:10: found 9223372036854775807, wanted a size of 0 or more");
    refuse("g (float[2 x) => () {}", "1:12: found 'x', wanted ']'");
    refuse("g (float[,] x) => () {}", "1:10: found ',', wanted a size, a name or '?'");
    refuse("g (float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x) => () {}",
           "1:42: a shape has more than 16 axes");
    refuse("g (sparse_tensor(seq(float)) x) => () {}", "1:18: found 'seq', wanted an element type");
    refuse("g (map(seq, float) x) => () {}", "1:8: found 'seq', wanted the type of a key");
    refuse("g (seq(float x) => () {}", "1:14: found 'x', wanted ')'");
    refuse("g (colour x) => () {}", "1:11: found 'x', wanted ')'");
    refuse("g () => () <float[n] w = {1}> {}",
           "1:22: 'w' has contents, so its sizes must be numbers");
    refuse("g () => () <float[] w = {1}> {}",
           "1:21: 'w' has contents, so its sizes must be numbers");
    refuse("g () => () <w = {1}> {}", "1:13: 'w' has contents, but its type is not a tensor");
    refuse("g () => () <seq(float) w = {1}> {}",
           "1:24: 'w' has contents, but its type is not a tensor");
    refuse("g () => () <undefined w = {1}> {}", "1:23: 'w' has contents, but no element type");
    refuse("g () => () <float[2] w = {1}> {}", "1:26: 'w' has 1 numbers, wanted 2");
    refuse("g () => () <float[2] w = {}> {}", "1:26: 'w' has 0 numbers, wanted 2");
    refuse("g () => () <float[2] w = {1, 2, 3}> {}", "1:26: 'w' has more than 2 numbers");
    refuse("g () => () <float[0] w = {1}> {}", "1:26: 'w' has more than 0 numbers");
    refuse("g () => () <float[1000000,1000000] w = {1}> {}",
           "1:40: 'w' has fewer than the 1000000000000 elements of its type");
    refuse("g () => () <float[4000000000000000,4000000000000000] w = {1}> {}",
           "1:54: the size of 'w' overflows");
    refuse("g () => () <int8[1] w = {128}> {}", "1:26: found 128, wanted int8");
    refuse("g () => () <uint4[1] w = {-1}> {}", "1:27: found -1, wanted uint4");
    refuse("g () => () <bool[1] w = {2}> {}", "1:26: found 2, wanted bool");
    refuse("g () => () <float16[1] w = {1.5}> {}", "1:29: found 1.5, wanted uint16");
    refuse("g () => () <float[1] w = {\"a\"}> {}", "1:27: found '\"', wanted a number");
    refuse("g () => () <string[1] w = {1}> {}", "1:28: found '1', wanted a string");
    refuse("g () => () <float w = [\"location\": \"x\"]> {}",
           "1:23: 'w' has external data, which is not read from text");
    refuse("g () => () <sparse_tensor(float[9]) s = {int8[1] {1}, int64[1] {0}}> {}",
           "1:37: the values of 's' are int8, its type says float");
    refuse("g () => () <sparse_tensor(float[9]) s = {float[1] {1}, int64[2] {0, 1}}> {}",
           "1:37: the indices of a sparse tensor do not match its 1 values and rank 1");
    refuse("g () => () <sparse_tensor(float[9]) s = {float[1] {1}}> {}",
           "1:54: found '}', wanted ','");
}

static void name_errors(void **state) {
    (void)state;
    refuse("g (x, x) => () {}", "1:7: 'x' is already the name of another value");
    refuse("g (\"\") => () {}", "1:4: a value has no name");
    refuse("g (x) => () { x = Relu (x) }", "1:15: 'x' is already the name of another value");
    refuse("g (x) => () { y, y = Split (x) }", "1:18: 'y' is already the name of another value");
    refuse("g (x) => () { y = Relu (z) z = Neg (x) }", "1:25: 'z' is not defined here or above");
    refuse("g (x) => () { y = Add (y, x) }", "1:24: 'y' is not defined here or above");
    refuse("g (x) => (y) { }", "1:11: 'y' is not defined here or above");
    refuse("g () => () <int8 w = {1}, int8 w = {2}> {}", "1:32: 'w' gets contents twice");
    refuse("g (int8 w = {1}) => () <int8 w = {2}> {}", "1:30: 'w' gets contents twice");
    refuse("g (int8 w) => () <float w = {2}> {}",
           "1:9: 'w' is int8 here, but its contents are float");
    refuse("<opset_import: []> g (x) => () { y = Relu (x) }",
           "1:38: no opset of ai.onnx is imported, so it is not known what 'Relu' means");
    refuse("g (x) => () { y = \"\" (x) }", "1:19: a node names no operator");
    refuse("g (x) => () { y = a.\"\" (x) }", "1:19: a node names no operator");
    refuse("g (c) => () { y = If (c) <b = s () => () { c = Op () }> }",
           "1:44: 'c' is already the name of a value of a graph around this one");
    refuse("g (c) => () { y = If (c) <b = s () => () { z = Op () }> z = Op () }",
           "1:44: 'z' is already the name of a value of a graph around this one");
    refuse("g (c) => () { y = If (c) <b = s () => () { z = Op () }> w = Op (z) }",
           "1:65: 'z' is not defined here or above");
}

static void repeat(char *to, size_t size, const char *head, const char *part, int n) {
    size_t at = (size_t)snprintf(to, size, "%s", head);
    for (int i = 0; i < n; i++) at += (size_t)snprintf(to + at, size - at, "%s", part);
    assert_true(at < size);
}

static void nesting(void **state) {
    (void)state;
    static char text[1 << 20];
    hn_model *m = NULL;
    repeat(text, sizeof text, "g (", "seq(", 100000);
    assert_int_equal(hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err), HONE_E_LIMIT);
    assert_string_equal(err.text, "1:264: types are nested more than 64 deep");
    repeat(text, sizeof text, "", "g()=>(){=Op()<a=", 30000);
    assert_int_equal(hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err), HONE_E_LIMIT);
    assert_string_equal(err.text, "1:1041: subgraphs are nested more than 64 deep");
    repeat(text, sizeof text, "g () => () { y = ", "a.", 100000);
    refuse(text, "1:200018: found the end of the text, wanted a name");
    repeat(text, sizeof text, "g () => () <float w = {", "1", 100000);
    assert_int_equal(hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err),
                     HONE_E_FORMAT);
    assert_memory_equal(err.text, "1:24: found 1111", 16);
    assert_non_null(strstr(err.text, "1111, wanted float"));
}

/* ---- memory ---- */

static const char *const everything =
    "<ir_version: 10, opset_import: [\"\" : 21, \"x\" : 1], doc_string: \"d\\\"\", metadata_props: "
    "[\"k\": \"v\"]>\n"
    "g (float[n,?] x, seq(map(int8, float[n])) s, opaque(a.b, c) o, bool c) => (float[] y)\n"
    "<float[2] w = {1, 2}, string[2] t = {\"a\\\"\", \"b\"}, float[n] \"h 1\",\n"
    " sparse_tensor(int8[4]) p = {int8[1] {1}, int64[1] {2}}>\n"
    "{ \"h 1\" = x.Op:v <t = float[1] a {1}, f = [1.5], i: ints = [1, 2, 3, 4, 5, 6, 7, 8, 9], s = "
    "[\"a\"], ts = [float b {1}, float {2}], tp = seq(float), tps = [float]> (x, \"\", w)\n"
    "  y = If (c) <then_branch = a () => (u) { u = Neg (\"h 1\") }, else_branch = b () => (u) {u = "
    "Neg (x)}, gs = [e () => () {}]> }";

static void every_allocation_fails(void **state) {
    (void)state;
    hn_model *m = parse(everything);
    char *text = strdup(print(m));
    hn_model_destroy(m);
    same(text);
    free(text);
    bool done = false;
    for (long long n = 0; !done; n++) {
        m = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status =
            hn_text_parse(&m, everything, strlen(everything), NULL, &scratch_mem, &err);
        done = status == HONE_OK;
        atomic_store(&scratch_mem.fail_after, -1);
        if (!done) assert_int_equal(status, HONE_E_NOMEM);
        hn_model_destroy(m);
        assert_int_equal(atomic_load(&scratch_mem.blocks), 0);
    }
    hn_model *large = large_model();
    assert_int_equal(hn_text_save(large, scratch_path("m.txt"), &err), HONE_OK);
    done = false;
    for (long long n = 0; !done; n++) {
        m = NULL;
        atomic_store(&scratch_mem.fail_after, n);
        hone_status status = hn_text_save(large, scratch_path("n.txt"), &err);
        if (status == HONE_OK) status = hn_text_load(&m, scratch_path("m.txt"), &scratch_mem, &err);
        done = status == HONE_OK;
        atomic_store(&scratch_mem.fail_after, -1);
        if (!done) assert_int_equal(status, HONE_E_NOMEM);
        hn_model_destroy(m);
    }
    hn_model_destroy(large);
}

/* Cut anywhere, the text is refused or, if only space was lost, read. */
static void every_length(void **state) {
    (void)state;
    size_t n = strlen(everything);
    for (size_t i = 0; i < n; i++) {
        hn_model *m = NULL;
        char *copy = malloc(i + 1); /* so that a sanitizer sees the first byte too many */
        memcpy(copy, everything, i);
        assert_int_not_equal(hn_text_parse(&m, copy, i, NULL, &scratch_mem, &err), HONE_OK);
        assert_null(m);
        free(copy);
    }
}

/* The sink fails: printing says what it said. */
static hone_status full(void *ctx, const void *data, size_t bytes, hn_error *e) {
    (void)ctx, (void)data, (void)bytes;
    return HN_FAIL(e, HONE_E_IO, "the disk is full");
}

static void sinks_fail(void **state) {
    (void)state;
    hn_model *m = large_model();
    buffer b = {.n = 0};
    assert_int_equal(hn_text_print(m, &(hn_text_out){.text = full}, &err), HONE_E_IO);
    hn_text_out out = {.text = collect, .text_ctx = &b, .data = full};
    assert_int_equal(hn_text_print(m, &out, &err), HONE_E_IO);
    assert_string_equal(err.text, "the disk is full");
    hn_model_destroy(m);
}

/* Types kept as bytes come from files and may be anything. */
static void malformed_types(void **state) {
    (void)state;
    static const struct {
        const char *p;
        size_t n;
    } bad[] = {{"\x22", 1}, {"\x22\x05\x0a", 3}, {"\x0a\x02\x08\x63", 4},
               {"", 0},     {"\x22\x00", 2},     {"\x0a\x04\x12\x02\x0a\x09", 6},
               {"\x07", 1}};
    buffer b;
    hn_text_out out = {.text = collect, .text_ctx = &b};
    hn_model *m = parse("g (x) => () {}");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        b.n = 0;
        hn_graph_value(m->graph, "x")->type =
            (hn_type){.kind = HN_TYPE_OTHER, .shape.rank = -1, .other = {bad[i].p, bad[i].n}};
        assert_int_equal(hn_text_print(m, &out, &err), HONE_E_MODEL);
        assert_string_equal(err.text, "a type is malformed, or nested more than 64 deep");
    }
    /* With a denotation and an unknown field: said without them. */
    hn_graph_value(m->graph, "x")->type.other = (hn_bytes){
        "\x22\x04\x0a\x02\x0a\x00\x32\x01Z\x55\x01\x02\x03\x04\x49\x01\x02\x03\x04\x05"
        "\x06\x07\x08",
        23};
    assert_non_null(strstr(print(m), "g (seq(undefined[]) x)"));
    hn_model_destroy(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(headers),
        TEST(types),
        TEST(contents),
        TEST(numbers),
        TEST(nodes),
        TEST(attributes),
        TEST(subgraphs),
        TEST(inputs_with_contents),
        TEST(declared_types),
        TEST(opset_of_nodes),
        TEST(documented_example),
        TEST(files),
        TEST(damaged_files),
        TEST(syntax_errors),
        TEST(type_errors),
        TEST(name_errors),
        TEST(nesting),
        TEST(every_allocation_fails),
        TEST(every_length),
        TEST(sinks_fail),
        TEST(malformed_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
