#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/layer_type.h"
#include "compress/quantizer.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define LSTM                                                                \
    "m (float[3,2,6] x, float[2,20,6] w, float[2,20,5] wr, float[2,40] wb)" \
    " => (float[3,2,2,5] y, float[2,2,5] h) { y, h ="                       \
    " LSTM <direction: string = \"bidirectional\", hidden_size: int = 5> (x, w, wr, wb) }"
#define GRU                                                 \
    "m (float[3,2,6] x, float[1,15,6] w, float[1,15,5] wr)" \
    " => (float[3,1,2,5] y) { y = GRU <hidden_size: int = 5> (x, w, wr) }"

#define RNN                                               \
    "m (float[3,2,6] x, float[1,5,6] w, float[1,5,5] wr)" \
    " => (float[3,1,2,5] y) { y = RNN <hidden_size: int = 5> (x, w, wr) }"

#define BATCH_FIRST                                                               \
    "m (float[2,3,6] x, float[1,20,6] w, float[1,20,5] wr) => (float[2,3,1,5] y)" \
    "{ y = LSTM <hidden_size: int = 5, layout: int = 1> (x, w, wr) }"

static hn_scheme scheme_of(const char *type) {
    return (hn_scheme){.layer = hn_layer_type_named(type)->layer,
                       .target = hn_quant_target_named("hone")};
}

/* Ranges of the values of that name. */
static hn_calibration *ranges(void) {
    hn_calibration *c;
    hn_error err;
    const char *text =
        "hone-calibration/1\nmethod minmax\nsamples 1\nstable 0\n"
        "-4 4 -4 4 x\n-4 4 -4 4 z\n0 4 0 4 t\n";
    if (hn_calibration_read(&c, scratch_put_text("ranges", text), &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    return c;
}

static void quantize(hn_model *m, const hn_scheme *s, hn_quantize_report *r) {
    hn_error err;
    hn_calibration *c = ranges();
    if (hn_quantize_model(m, s, c, NULL, NULL, r, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_calibration_destroy(c);
}

/* An LSTM becomes one node with turned codes and a scale for each direction and row. */
static void dynamic_lstm_is_one_node(void **state) {
    (void)state;
    hn_model *floats = method_model(LSTM, 1), *m = method_model(LSTM, 1);
    const float *w = method_weight(floats, "w");
    hn_scheme s = scheme_of("int8-dynamic");
    hn_quantize_report r;
    quantize(m, &s, &r);
    const hn_node *n = hn_graph_value(m->graph, "y")->producer;
    assert_string_equal(n->op_type, "DynamicQuantizeLSTM");
    assert_ptr_equal(n, hn_graph_value(m->graph, "h")->producer);
    const hn_tensor *codes = hn_const_in(n, 1), *scale = hn_const_in(n, 8);
    assert_int_equal(codes->dtype, HONE_DTYPE_S8);
    assert_int_equal(codes->dims[1], 6);
    assert_int_equal(codes->dims[2], 20);
    assert_int_equal(scale->n, 40);
    for (int64_t i = 0; i < 2 * 20 * 6; i++) {
        int64_t d = i / 120, row = i / 6 % 20, k = i % 6;
        double step = hn_tensor_f64(scale, d * 20 + row);
        double x = hn_tensor_f64(codes, (d * 6 + k) * 20 + row) * step;
        assert_true(fabs(x - (double)w[i]) <= 0.501 * step);
    }
    assert_int_equal(hn_const_in(n, 9)->n, 40);
    assert_null(hn_graph_value(m->graph, "w"));
    assert_int_equal(r.n, 1);
    assert_int_equal(r.v[0].kind, HN_LAYER_DYNAMIC);
    assert_int_equal(r.v[0].params, 240 + 200 + 80);
    assert_int_equal(r.v[0].bytes_before, 4 * (240 + 200 + 80));
    assert_int_equal(r.v[0].bytes_after, 240 + 200 + 4 * 80 + 4 * 80);
    assert_int_equal(r.weights, 440);
    hn_quantize_report_deinit(&r);
    method_same(floats, m, 0.05);

    s.layer.weights.per_channel = false;
    hn_model *all = method_model(LSTM, 1);
    quantize(all, &s, NULL);
    n = hn_graph_value(all->graph, "y")->producer;
    assert_int_equal(hn_const_in(n, 8)->n, 2);
    method_same(floats, all, 0.1);
    hn_model_destroy(all);
    hn_model_destroy(floats);
    hn_model_destroy(m);
}

/* Input i of n is dequantized from integers of that type. */
static hn_node *dequantized(const hn_node *n, int i, hone_dtype type) {
    hn_node *p = n->inputs[i].value->producer;
    assert_true(hn_is(p, "DequantizeLinear"));
    assert_int_equal(hn_node_input(p, 0)->type.dtype, type);
    return p;
}

static void weights_stand_behind_dequantize(void **state) {
    (void)state;
    static const char *const texts[] = {LSTM, GRU};
    for (int i = 0; i < 2; i++) {
        hn_model *floats = method_model(texts[i], 1), *m = method_model(texts[i], 1);
        hn_scheme s = scheme_of("int8-weights");
        hn_quantize_report r;
        quantize(m, &s, &r);
        const hn_node *n = hn_graph_value(m->graph, "y")->producer;
        for (int k = 1; k <= 2; k++) dequantized(n, k, HONE_DTYPE_S8);
        assert_null(n->inputs[0].value->producer);
        assert_int_equal(r.v[0].kind, HN_LAYER_WEIGHTS);
        hn_quantize_report_deinit(&r);
        method_same(floats, m, 0.05);
        hn_model_destroy(floats);
        hn_model_destroy(m);
    }
}

/* With a range found beforehand X has a pair, and W and R are codes; all else stays in floats. */
static void static_layer_reads_integers(void **state) {
    (void)state;
    static const char *const texts[] = {LSTM, GRU, RNN, BATCH_FIRST};
    for (int i = 0; i < 4; i++) {
        hn_model *floats = method_model(texts[i], 1), *m = method_model(texts[i], 1);
        hn_scheme s = scheme_of("int8");
        hn_quantize_report r;
        quantize(m, &s, &r);
        const hn_node *n = hn_graph_value(m->graph, "y")->producer;
        const hn_node *back = dequantized(n, 0, HONE_DTYPE_U8);
        assert_true(hn_is(back->inputs[0].value->producer, "QuantizeLinear"));
        assert_int_equal(hn_const_in(back, 1)->n, 1);
        for (int k = 1; k <= 2; k++) {
            const hn_node *p = dequantized(n, k, HONE_DTYPE_S8);
            assert_int_equal(hn_const_in(p, 1)->n, hn_const_in(p, 0)->dims[1]);
            assert_int_equal(hn_attr_i(p, "axis"), 1);
        }
        if (i == 0) assert_int_equal(hn_const_in(n, 3)->dtype, HONE_DTYPE_F32);
        assert_int_equal(r.n, 1);
        assert_int_equal(r.v[0].kind, HN_LAYER_STATIC);
        assert_string_equal(r.v[0].weights, "s8 per channel");
        assert_string_equal(r.v[0].activations, "u8");
        assert_int_equal(r.n_values, 1);
        hn_quantize_report_deinit(&r);
        method_same(floats, m, 0.1);
        hn_model_destroy(floats);
        hn_model_destroy(m);
    }
}

/* A value that others read in integers too has one pair. What the layer gives are floats: a Relu
 * between them and a product stays so. */
static void input_is_shared(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[3,2,6] x, float[1,15,6] w, float[1,15,5] wr, float[6,4] wm, float[5,4] wn) =>"
        " (float[3,1,2,4] z2, float[3,2,4] u) {"
        " y = GRU <hidden_size: int = 5> (x, w, wr) t = Relu (y) z2 = MatMul (t, wn)"
        " u = MatMul (x, wm) }",
        1);
    hn_scheme s = scheme_of("int8");
    quantize(m, &s, NULL);
    const hn_node *n = hn_graph_value(m->graph, "t")->producer;
    const hn_node *gru = hn_graph_value(m->graph, "y")->producer;
    assert_true(hn_is(gru, "GRU"));
    assert_ptr_equal(dequantized(gru, 0, HONE_DTYPE_U8),
                     dequantized(hn_graph_value(m->graph, "u")->producer, 0, HONE_DTYPE_U8));
    assert_true(hn_is(n, "DequantizeLinear")); /* of what the product reads */
    hn_model_destroy(m);
}

/* The only row says what stayed, and why. */
static void assert_left(const char *text, const hn_scheme *s, const char *why) {
    hn_model *m = method_model(text, 1);
    hn_quantize_report r;
    quantize(m, s, &r);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.v[0].kind, HN_LAYER_F32);
    assert_true(r.v[0].params > 0 && r.v[0].bytes_after == r.v[0].bytes_before);
    if (r.v[0].why_not == NULL || strstr(r.v[0].why_not, why) == NULL)
        fail_msg("'%s', expected '%s'", r.v[0].why_not, why);
    hn_quantize_report_deinit(&r);
    hn_model_destroy(m);
}

/* The same where a rule gives the layer that type. */
static void assert_named(const char *text, const char *type, const char *why) {
    hn_scheme s = scheme_of("f32");
    hn_scheme_rule rule = {"y", hn_layer_type_named(type)->layer};
    s.rules = &rule;
    s.n_rules = 1;
    assert_left(text, &s, why);
}

/* Where the type of the whole model has no form of a layer, its weights alone become integers. */
static void weights_alone_where_there_is_no_other_form(void **state) {
    (void)state;
    static const struct {
        const char *text, *type, *target;
    } cases[] = {{GRU, "int8-dynamic", "hone"},
                 {BATCH_FIRST, "int8-dynamic", "hone"},
                 {GRU, "int8", "onnxruntime"},
                 {LSTM, "int8", "openvino"},
                 {LSTM, "int8", "tensorrt"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *floats = method_model(cases[i].text, 1), *m = method_model(cases[i].text, 1);
        hn_scheme s = scheme_of(cases[i].type);
        s.target = hn_quant_target_named(cases[i].target);
        hn_quantize_report r;
        quantize(m, &s, &r);
        assert_int_equal(r.n, 1);
        assert_int_equal(r.v[0].kind, HN_LAYER_WEIGHTS);
        assert_true(3 * r.v[0].bytes_after < 2 * r.v[0].bytes_before);
        const hn_node *n = hn_graph_value(m->graph, "y")->producer;
        for (int k = 1; k <= 2; k++) dequantized(n, k, HONE_DTYPE_S8);
        assert_null(n->inputs[0].value->producer);
        hn_quantize_report_deinit(&r);
        method_same(floats, m, 0.05);
        hn_model_destroy(floats);
        hn_model_destroy(m);
    }
}

static void what_stays_says_why(void **state) {
    (void)state;
    assert_named(GRU, "int8-dynamic", "no dynamic form of it (int8-weights has one)");
    assert_named(BATCH_FIRST, "int8-dynamic", "with the batch first");
    assert_named(
        "m (float[1,15,6] w, float[1,15,5] wr, float[3,2,6] wx) => (float[3,1,2,5] y)"
        "{ y = GRU <hidden_size: int = 5> (wx, w, wr) }",
        "int8", "the input is a constant");
    hn_scheme s = scheme_of("int8-dynamic");
    assert_left(
        "m (float[4,6] x, float[6,5] w) => (float[4,5] y)"
        "{ y = Einsum <equation: string = \"ij,jk->ik\"> (x, w) }",
        &s, "no type quantizes its operator");
    s = scheme_of("int4-dynamic");
    assert_left(LSTM, &s, "fewer than 8 bits only where a rule names them");
    s = scheme_of("int4");
    assert_left(LSTM, &s, "fewer than 8 bits only where a rule names them");
    hn_scheme_rule rule = {"y", s.layer};
    s.rules = &rule;
    s.n_rules = 1;
    hn_model *m = method_model(LSTM, 1);
    hn_quantize_report r;
    quantize(m, &s, &r);
    assert_int_equal(r.v[0].kind, HN_LAYER_WEIGHTS);
    hn_quantize_report_deinit(&r);
    hn_model_destroy(m);
}

static void survives(const char *type) {
    hn_error err;
    hone_status status = HONE_E_NOMEM;
    hn_scheme s = scheme_of(type);
    hn_calibration *c = ranges();
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *m = method_model(LSTM, 1);
        hn_quantize_report r = {0};
        scratch_mem.fail_after = k;
        status = hn_quantize_model(m, &s, c, NULL, NULL, &r, &err);
        scratch_mem.fail_after = -1;
        if (status == HONE_OK) hn_quantize_report_deinit(&r);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
        hn_model_destroy(m);
    }
    hn_calibration_destroy(c);
}

static void allocation_may_fail(void **state) {
    (void)state;
    survives("int8-dynamic");
    survives("int8");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(dynamic_lstm_is_one_node),
        TEST(weights_stand_behind_dequantize),
        TEST(static_layer_reads_integers),
        TEST(input_is_shared),
        TEST(weights_alone_where_there_is_no_other_form),
        TEST(what_stays_says_why),
        TEST(allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
