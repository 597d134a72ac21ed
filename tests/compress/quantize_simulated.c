#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compress/quantizer.h"
#include "ops/eval.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

static const hone_dtype types[] = {
    [1] = HONE_DTYPE_S2,   [2] = HONE_DTYPE_S2,   [3] = HONE_DTYPE_S4,   [4] = HONE_DTYPE_S4,
    [5] = HONE_DTYPE_S8,   [6] = HONE_DTYPE_S8,   [7] = HONE_DTYPE_S8,   [8] = HONE_DTYPE_S8,
    [9] = HONE_DTYPE_S16,  [10] = HONE_DTYPE_S16, [11] = HONE_DTYPE_S16, [12] = HONE_DTYPE_S16,
    [13] = HONE_DTYPE_S16, [14] = HONE_DTYPE_S16, [15] = HONE_DTYPE_S16, [16] = HONE_DTYPE_S16,
};

static hn_scheme scheme_of(hn_layer_kind kind, int bits, bool simulate) {
    return (hn_scheme){.layer = {.kind = kind,
                                 .weights = {types[bits], bits, true, true, 0},
                                 .activations = {bits > 8 ? HONE_DTYPE_U16 : HONE_DTYPE_U8, bits,
                                                 false, false, 0}},
                       .target = hn_quant_target_named("hone"),
                       .simulate = simulate};
}

static void quantize(hn_model *m, const hn_scheme *s, const hn_calibration *c,
                     hn_quantize_report *report) {
    hn_error err;
    if (hn_quantize_model(m, s, c, NULL, NULL, report, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
}

static int count(const hn_model *m, const char *op) {
    int n = 0;
    for (const hn_node *at = m->graph->first; at != NULL; at = at->next) n += hn_is(at, op);
    return n;
}

#define LAYERS                                                                             \
    "m (float[n,3,6,6] x, float[5,3,3,3] w1, float[5] wb, float[20,4] w2, float[4] wc) =>" \
    " (float[n,4] z) { a = Conv (x, w1, wb) b = Relu (a)"                                  \
    " c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b) d = Flatten (c)"           \
    " z = Gemm <alpha = 0.5, beta = 2.0> (d, w2, wc) }"

/* What is simulated answers as what is stored in so many bits; it has no other nodes than before,
 * and its weights have their names. */
static void weights_are_those_of_every_width(void **state) {
    (void)state;
    for (int bits = 1; bits <= 16; bits++) {
        hn_model *m = method_model(LAYERS, 1), *stored = method_copy(m), *floats = method_copy(m);
        hn_scheme s = scheme_of(HN_LAYER_WEIGHTS, bits, true), t = s;
        hn_quantize_report r;
        t.simulate = false;
        quantize(m, &s, NULL, &r);
        quantize(stored, &t, NULL, NULL);
        assert_int_equal(count(m, "DequantizeLinear"), 0);
        assert_int_equal(m->graph->n_nodes, floats->graph->n_nodes);
        assert_int_equal(hn_graph_value(m->graph, "w1")->constant->dtype, HONE_DTYPE_F32);
        method_same(m, stored, 1e-6);
        if (bits < 16) assert_true(method_distance(m, floats) > 0);
        char text[32];
        snprintf(text, sizeof text, "%d bit%s per channel", bits, bits == 1 ? "" : "s");
        assert_string_equal(r.v[0].weights, text);
        assert_int_equal(r.v[0].bytes_after, (135 * bits + 7) / 8 + 4 * 5 + 4 * 5);
        assert_int_equal(r.weight_bits, (135 + 80) * bits + 32 * (5 + 4));
        hn_quantize_report_deinit(&r);
        hn_model_destroy(floats);
        hn_model_destroy(stored);
        hn_model_destroy(m);
    }
}

/* The sign times the mean magnitude of the output channel. */
static void one_bit_is_the_sign(void **state) {
    (void)state;
    hn_model *m = method_model(LAYERS, 2);
    hn_tensor *was = hn_tensor_ref(hn_graph_value(m->graph, "w1")->constant);
    hn_scheme s = scheme_of(HN_LAYER_WEIGHTS, 1, true);
    quantize(m, &s, NULL, NULL);
    const float *w = was->data, *is = hn_graph_value(m->graph, "w1")->constant->data;
    for (int c = 0; c < 5; c++) {
        double sum = 0;
        for (int i = 0; i < 27; i++) sum += fabs((double)w[27 * c + i]);
        for (int i = 0; i < 27; i++)
            assert_true(is[27 * c + i] == (float)copysign(sum / 27, (double)w[27 * c + i]));
    }
    hn_tensor_unref(was);
    hn_model_destroy(m);
}

static void readers_of_other_kinds_see_floats(void **state) {
    (void)state;
    static const char text[] =
        "m (float[n,6] x, float[6,6] w) => (float[n,6] y, float[6,6] z) {"
        " a = MatMul (x, w) y = MatMul (a, w) z = Neg (w) }";
    hn_model *m = method_model(text, 3);
    hn_scheme s = scheme_of(HN_LAYER_WEIGHTS, 2, true);
    hn_tensor *was = hn_tensor_ref(hn_graph_value(m->graph, "w")->constant);
    quantize(m, &s, NULL, NULL);
    const hn_node *a = hn_graph_value(m->graph, "a")->producer;
    const hn_node *y = hn_graph_value(m->graph, "y")->producer;
    const hn_node *z = hn_graph_value(m->graph, "z")->producer;
    assert_ptr_equal(a->inputs[1].value, y->inputs[1].value);
    assert_ptr_not_equal(a->inputs[1].value, z->inputs[0].value);
    assert_true(hn_tensor_equal(hn_const_in(z, 0), was));
    assert_false(hn_tensor_equal(hn_const_in(a, 1), was));
    hn_tensor_unref(was);
    hn_model_destroy(m);
}

/* ---- activations ---- */

/* x comes as it would in so many bits, -1 to 3; the product after it is with 1. */
static void activations_are_those_of_every_width(void **state) {
    (void)state;
    static const char text[] =
        "m (float[1,400] x, float[1,1] w) => (float[400,1] z) {"
        " y = Transpose <perm = [1, 0]> (x) z = MatMul (y, w) }";
    static const char table[] =
        "hone-calibration/1\nmethod minmax\nsamples 1\nstable 0\n"
        "-1 3 -1 3 x\n-1 3 -1 3 y\n";
    hn_calibration *c;
    hn_error err;
    if (hn_calibration_read(&c, scratch_put_text("ranges", table), &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int bits = 2; bits <= 16; bits++) {
        hn_model *m = method_model(text, 4);
        *method_weight(m, "w") = 1;
        hn_scheme s = scheme_of(HN_LAYER_STATIC, bits, true);
        hn_tensor *x, *y;
        quantize(m, &s, c, NULL);
        assert_int_equal(count(m, "Clip"), bits == 8 || bits == 16 ? 0 : 1);
        assert_int_equal(count(m, "QuantizeLinear"), 1);
        assert_non_null(hn_const_in(hn_graph_value(m->graph, "z")->producer, 1));
        if (hn_tensor_create(&x, &scratch_mem, HN_MEM_TENSOR, HONE_DTYPE_F32, 2,
                             (int64_t[]){1, 400}, &err))
            fail_msg("%s", err.text);
        for (int i = 0; i < 400; i++) ((float *)x->data)[i] = -4 + 0.0251f * (float)i;
        hn_exec_options o = {.alloc = &scratch_mem};
        if (hn_graph_run(m->graph, &o, (const hn_tensor *[]){x}, &y, &err) != HONE_OK)
            fail_msg("%s", err.text);
        hn_grid_point p = hn_grid_of_range(&s.layer.activations, (hn_range){-1, 3});
        for (int i = 0; i < 400; i++) {
            double in = (double)((float *)x->data)[i], out = (double)((float *)y->data)[i];
            int32_t code = hn_grid_code(&s.layer.activations, p, in);
            assert_true(fabs(out - (double)hn_grid_value(p, code)) < 1e-6);
        }
        hn_tensor_unref(x);
        hn_tensor_unref(y);
        hn_model_destroy(m);
    }
    hn_calibration_destroy(c);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    hn_scheme s = scheme_of(HN_LAYER_STATIC, 5, true);
    static const char table[] =
        "hone-calibration/1\nmethod minmax\nsamples 1\nstable 0\n"
        "-1 3 -1 3 x\n0 3 0 3 b\n0 3 0 3 d\n";
    hn_calibration *c;
    hn_error err;
    if (hn_calibration_read(&c, scratch_put_text("ranges", table), &scratch_mem, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *m = method_model(LAYERS, 5);
        hn_quantize_report r;
        scratch_mem.fail_after = k;
        status = hn_quantize_model(m, &s, c, NULL, NULL, &r, &err);
        scratch_mem.fail_after = -1;
        if (status == HONE_OK) {
            assert_int_equal(count(m, "Clip"), 2);
            assert_string_equal(r.v[0].activations, "5 bits");
            hn_quantize_report_deinit(&r);
        }
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
    hn_calibration_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_those_of_every_width),
        cmocka_unit_test(one_bit_is_the_sign),
        cmocka_unit_test(readers_of_other_kinds_see_floats),
        cmocka_unit_test(activations_are_those_of_every_width),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
