#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compress/quantizer.h"
#include "ops/eval.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

static hn_scheme scheme_of(hn_layer_kind kind) {
    return (hn_scheme){.layer = {.kind = kind, .weights = {HONE_DTYPE_S8, 8, true, true, 0, false}},
                       .target = hn_quant_target_named("hone"),
                       .embeddings = true};
}

static int count(const hn_model *m, const char *op) {
    int n = 0;
    for (const hn_node *at = m->graph->first; at != NULL; at = at->next) n += hn_is(at, op);
    return n;
}

#define TABLE                                                                \
    "m (int64[n,3] x, float[80,16] w, float[16,4] wm) => (float[n,3,4] z) {" \
    " y = Gather (w, x) z = MatMul (y, wm) }"

/* Rows come as bytes; no number is off by more than half a step of its column. */
static void tables_become_bytes(void **state) {
    (void)state;
    hn_model *m = method_model(TABLE, 1);
    hn_tensor *was = hn_tensor_ref(hn_graph_value(m->graph, "w")->constant);
    hn_scheme s = scheme_of(HN_LAYER_F32);
    hn_quantize_report r;
    hn_error err;
    if (hn_quantize_model(m, &s, NULL, NULL, NULL, &r, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    const hn_node *back = hn_graph_value(m->graph, "y")->producer;
    assert_true(hn_is(back, "DequantizeLinear") && hn_attr_i(back, "axis") == -1);
    const hn_node *gather = hn_node_input(back, 0)->producer;
    assert_true(hn_is(gather, "Gather"));
    const hn_tensor *codes = hn_const_in(gather, 0), *scale = hn_const_in(back, 1);
    assert_int_equal(codes->dtype, HONE_DTYPE_S8);
    assert_true(scale->rank == 1 && scale->n == 16);
    for (int64_t i = 0; i < was->n; i++) {
        double step = hn_tensor_f64(scale, i % 16), x = hn_tensor_f64(was, i);
        assert_true(fabs(hn_tensor_f64(codes, i) * step - x) <= 0.501 * step);
    }
    assert_null(hn_graph_value(m->graph, "w"));
    assert_int_equal(r.weights, 80 * 16);
    assert_int_equal(r.v[r.n - 1].bytes_after, 80 * 16 + 16 * 4);
    assert_string_equal(r.v[r.n - 1].op, "Gather");
    hn_quantize_report_deinit(&r);
    hn_tensor_unref(was);
    hn_model_destroy(m);
}

/* The scheme that has layers in 4 bits, in groups of 8. */
static hn_scheme nibbles(void) {
    hn_scheme s = scheme_of(HN_LAYER_WEIGHTS);
    s.layer.weights = (hn_qtype){HONE_DTYPE_S4, 4, true, true, 8, false};
    return s;
}

static double largest(const float *w, int n) {
    float most = 0;
    for (int k = 0; k < n; k++)
        if (fabsf(w[k]) > most) most = fabsf(w[k]);
    return (double)most;
}

/* Rows come as two codes in a byte; no number is off by more than half a step of its group. */
static void tables_become_nibbles(void **state) {
    (void)state;
    hn_model *m = method_model(TABLE, 1);
    hn_tensor *was = hn_tensor_ref(hn_graph_value(m->graph, "w")->constant), *x, *y;
    hn_scheme s = nibbles();
    hn_quantize_report r;
    hn_error err;
    float *wm = method_weight(m, "wm"); /* takes out columns 0, 7, 8 and 15, and keeps them */
    static const int columns[] = {0, 7, 8, 15};
    for (int i = 0; i < 64; i++) wm[i] = columns[i % 4] == i / 4;
    if (hn_quantize_model(m, &s, NULL, NULL, NULL, &r, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_null(hn_graph_value(m->graph, "w"));
    assert_string_equal(r.v[r.n - 1].weights, "s4 groups of 8");
    assert_int_equal(r.v[r.n - 1].bytes_after, 80 * 8 + 80 * 2 * 4);
    const hn_node *back = hn_graph_value(m->graph, "y")->producer;
    assert_int_equal(hn_attr_i(back, "block_size"), 8);
    if (hn_tensor_create(&x, &scratch_mem, HN_MEM_TENSOR, HONE_DTYPE_S64, 2, (int64_t[]){27, 3},
                         &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 81; i++) ((int64_t *)x->data)[i] = (80 - i) % 80;
    hn_exec_options o = {.alloc = &scratch_mem};
    if (hn_graph_run(m->graph, &o, (const hn_tensor *[]){x}, &y, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < 81 * 4; i++) {
        int64_t row = (80 - i / 4) % 80;
        const float *w = (const float *)was->data + 16 * row;
        double off = hn_tensor_f64(y, i) - (double)w[columns[i % 4]];
        assert_true(fabs(off) <= 0.501 * largest(w + columns[i % 4] / 8 * 8, 8) / 7);
    }
    hn_tensor_unref(x);
    hn_tensor_unref(y);
    hn_quantize_report_deinit(&r);
    hn_tensor_unref(was);
    hn_model_destroy(m);
}

/* Odd rows stay bytes, tables that a rule names stay; simulated ones are rounded where they are. */
static void not_all_become_nibbles(void **state) {
    (void)state;
    static const char odd[] =
        "m (int64[n,3] x, float[80,15] w) => (float[n,3,15] y) { y = Gather (w, x) }";
    hn_model *m = method_model(odd, 1);
    hn_scheme s = nibbles();
    hn_error err;
    assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err), HONE_OK);
    assert_int_equal(count(m, "DequantizeLinear"), 1);
    assert_int_equal(count(m, "BitShift"), 0);
    hn_model_destroy(m);

    hn_scheme_rule rule = {"y", {.kind = HN_LAYER_F32}};
    s.n_rules = 1;
    s.rules = &rule;
    m = method_model(odd, 1);
    assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err), HONE_OK);
    assert_int_equal(count(m, "DequantizeLinear"), 0);
    hn_model_destroy(m);

    m = method_model(odd, 1);
    hn_model *copy = method_copy(m);
    s = nibbles();
    s.simulate = true;
    assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err), HONE_OK);
    assert_int_equal(m->graph->n_nodes, 1);
    const hn_tensor *is = hn_graph_value(m->graph, "w")->constant;
    const hn_tensor *was = hn_graph_value(copy->graph, "w")->constant;
    assert_false(hn_tensor_equal(is, was));
    for (int i = 0; i < 15; i++)
        assert_true(fabs(hn_tensor_f64(is, i) - hn_tensor_f64(was, i)) < 0.5);
    hn_model_destroy(copy);
    hn_model_destroy(m);
}

static void beside_layers(void **state) {
    (void)state;
    hn_model *m = method_model(TABLE, 2);
    hn_scheme s = scheme_of(HN_LAYER_WEIGHTS);
    hn_error err;
    if (hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(count(m, "DequantizeLinear"), 2);
    hn_model_destroy(m);
}

static void what_must_stay_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* columns, two readers, small, of rank 3 */
        "m (int64[n,3] x, float[80,16] w) => (float[80,n,3] y) { y = Gather <axis = 1> (w, x) }",
        "m (int64[n] x, float[80,16] w) => (float[n,16] y, float[n,16] z) {"
        " y = Gather (w, x) z = Gather (w, x) }",
        "m (int64[n] x, float[60,16] w) => (float[n,16] y) { y = Gather (w, x) }",
        "m (int64[n] x, float[80,4,16] w) => (float[n,4,16] y) { y = Gather (w, x) }",
        TABLE,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hn_model *m = method_model(texts[i], i);
        hn_scheme s = scheme_of(HN_LAYER_F32);
        hn_error err;
        s.embeddings = i < 4;
        assert_int_equal(hn_quantize_model(m, &s, NULL, NULL, NULL, NULL, &err), HONE_OK);
        assert_int_equal(count(m, "DequantizeLinear"), 0);
        hn_model_destroy(m);
    }
}

static void fail_all(hn_scheme s) {
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *m = method_model(TABLE, 3);
        hn_quantize_report r;
        hn_error err;
        scratch_mem.fail_after = k;
        status = hn_quantize_model(m, &s, NULL, NULL, NULL, &r, &err);
        scratch_mem.fail_after = -1;
        if (status == HONE_OK) hn_quantize_report_deinit(&r);
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fail_all(scheme_of(HN_LAYER_F32));
    fail_all(nibbles());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_become_bytes),    cmocka_unit_test(tables_become_nibbles),
        cmocka_unit_test(not_all_become_nibbles), cmocka_unit_test(beside_layers),
        cmocka_unit_test(what_must_stay_stays),   cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
