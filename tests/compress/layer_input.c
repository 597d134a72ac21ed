#include "compress/layer_input.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support/method_model.h"
#include "support/scratch.h"

static hn_weighted layer_of(hn_model *m, const hn_scheme *s, const char *output) {
    hn_weighted w;
    assert_true(hn_weighted_of(hn_graph_value(m->graph, output)->producer, s, &w, NULL));
    return w;
}

/* The second layer's inputs are the first one's outputs: their squares add up to what the first
 * one's weights make of its X^T X. */
static void products_explain_outputs(hn_model *m, int64_t rows) {
    method_bench b;
    hn_error err;
    method_begin(&b, m);
    hn_weighted layers[2] = {layer_of(m, &b.scheme, "h"), layer_of(m, &b.scheme, "y")};
    hn_layer_input in[2];
    hn_layer_matrix w;
    assert_true(hn_layer_as_matrix(&layers[0], &w));
    if (hn_layer_inputs(in, layers, 2, &(hn_layer_look){1000, true, NULL}, m, &b.c, &err) !=
        HONE_OK)
        fail_msg("%s", err.text);
    assert_true(in[0].k == w.k && in[1].k == w.n);
    assert_true(in[0].rows == rows && in[1].rows == rows);
    const float *weight = layers[0].weight->constant->data;
    for (int64_t o = 0; o < w.n; o++) {
        double sum = 0;
        for (int64_t i = 0; i < w.k; i++)
            for (int64_t j = 0; j < w.k; j++) {
                double g = in[0].gram[i >= j ? i * w.k + j : j * w.k + i];
                sum += g * (double)weight[o * w.o_stride + i * w.k_stride] *
                       (double)weight[o * w.o_stride + j * w.k_stride];
            }
        assert_true(fabs(sum - in[1].squares[o]) <= 1e-4 * in[1].squares[o]);
    }
    for (int64_t k = 0; k < w.k; k++) {
        assert_true(fabs(in[0].gram[k * (w.k + 1)] - in[0].squares[k]) <= 1e-5 * in[0].squares[k]);
        double mean = in[0].magnitudes[k] / (double)in[0].rows;
        assert_true(mean > 0 && mean * mean <= in[0].squares[k] / (double)in[0].rows);
    }
    for (int i = 0; i < 2; i++) hn_layer_input_deinit(&in[i], &scratch_mem);
    method_end(&b);
    hn_model_destroy(m);
}

static void rows_of_products_and_windows(void **state) {
    (void)state;
    products_explain_outputs(method_model("m (float[n,6,8] x, float[8,5] wa, float[5,4] wb)"
                                          " => (float[n,6,4] y) {"
                                          " h = MatMul (x, wa) y = MatMul (h, wb) }",
                                          1),
                             40 * 6);
    products_explain_outputs(method_model("m (float[n,8] x, float[5,8] wa, float[5,4] wb)"
                                          " => (float[n,4] y) {"
                                          " h = Gemm <transB = 1> (x, wa) y = Gemm (h, wb) }",
                                          2),
                             40);
    products_explain_outputs(
        method_model("m (float[n,3,9,7] x, float[4,3,3,2] wa, float[5,4,1,1] wb)"
                     " => (float[n,5,p,q] y) {"
                     " h = Conv <strides = [2, 1], pads = [1, 0, 2, 1], dilations = [1, 2]> (x, wa)"
                     " y = Conv (h, wb) }",
                     3),
        40 * 5 * 6);
    products_explain_outputs(method_model("m (float[n,3,9] x, float[4,3,4] wa, float[5,4,1] wb)"
                                          " => (float[n,5,p] y) {"
                                          " h = Conv <auto_pad = \"SAME_LOWER\"> (x, wa)"
                                          " y = Conv (h, wb) }",
                                          4),
                             40 * 9);
}

/* Weights are found again from X^T X and Y^T X: H w = c for each output, the bias left out. */
static void outputs_are_those_of_the_same_rows(void **state) {
    (void)state;
    static const char *const texts[] = {
        "m (float[n,6,8] x, float[8,5] w) => (float[n,6,5] y) { y = MatMul (x, w) }",
        "m (float[n,8] x, float[5,8] w, float[5] wb) => (float[n,5] y) {"
        " y = Gemm <transB = 1, beta = 2.0> (x, w, wb) }",
        "m (float[n,2,40,40] x, float[3,2,3,3] w, float[3] wb) => (float[n,3,p,q] y) {"
        " y = Conv <strides = [2, 1], pads = [1, 0, 2, 1]> (x, w, wb) }",
        "m (float[n,4,9,9] x, float[8,1,3,3] w) => (float[n,8,7,7] y) {"
        " y = Conv <group = 4> (x, w) }",
        "m (float[n,4,9,9] x, float[6,2,3,3] w, float[6] wb) => (float[n,6,7,7] y) {"
        " y = Conv <group = 2> (x, w, wb) }",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        hn_model *m = method_model(texts[t], t);
        method_bench b;
        hn_error err;
        hn_layer_output out;
        hn_layer_input in;
        hn_layer_matrix a;
        method_begin(&b, m);
        hn_weighted w = layer_of(m, &b.scheme, "y");
        assert_true(hn_layer_as_matrix(&w, &a));
        assert_int_equal(hn_layer_outputs(&out, &w, 1, m, &b.c, 1000, &err), HONE_OK);
        hn_layer_look look = {.samples = 1000, .gram = true, .outputs = &out};
        assert_int_equal(hn_layer_inputs(&in, &w, 1, &look, m, &b.c, &err), HONE_OK);
        assert_true(out.rows == in.rows && in.rows >= in.k);
        const float *weight = w.weight->constant->data;
        for (int64_t o = 0; o < a.n; o++) {
            const double *h = in.gram + o / (a.n / a.groups) * a.k * a.k;
            for (int64_t i = 0; i < a.k; i++) {
                double sum = 0, size = 0;
                for (int64_t j = 0; j < a.k; j++) {
                    double term = h[i >= j ? i * a.k + j : j * a.k + i] *
                                  (double)weight[o * a.o_stride + j * a.k_stride];
                    sum += term, size += fabs(term);
                }
                assert_true(fabs(sum - in.cross[o * a.k + i]) <= 1e-4 * size);
            }
        }
        hn_layer_input_deinit(&in, &scratch_mem);
        hn_layer_output_deinit(&out, &scratch_mem);
        method_end(&b);
        hn_model_destroy(m);
    }
}

/* Long sequences: a part of the lines of each batch. */
static void lines_are_spread(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,500,4] x, float[4,3] wa) => (float[n,500,3] y) { y = MatMul (x, wa) }", 5);
    method_bench b;
    hn_error err;
    hn_layer_input in;
    method_begin(&b, m);
    hn_weighted w = layer_of(m, &b.scheme, "y");
    hn_layer_look look = {.samples = 40};
    assert_int_equal(hn_layer_inputs(&in, &w, 1, &look, m, &b.c, &err), HONE_OK);
    assert_true(in.rows >= 4096 && in.rows < 2 * 4096);
    for (int64_t k = 0; k < in.k; k++) assert_true(fabs(in.squares[k] / (double)in.rows - 1) < 0.2);
    hn_layer_input_deinit(&in, &scratch_mem);
    method_end(&b);
    hn_model_destroy(m);
}

/* Large images: a part of the windows of each sample. */
static void windows_are_spread(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,2,40,40] x, float[3,2,3,3] wa) => (float[n,3,38,38] y) { y = Conv (x, wa) }",
        5);
    method_bench b;
    hn_error err;
    hn_layer_input in;
    method_begin(&b, m);
    hn_weighted w = layer_of(m, &b.scheme, "y");
    assert_int_equal(hn_layer_inputs(&in, &w, 1, &(hn_layer_look){.samples = 16}, m, &b.c, &err),
                     HONE_OK);
    assert_true(in.gram == NULL && in.rows >= 4096 && in.rows < 2 * 4096);
    for (int64_t k = 0; k < in.k; k++) /* of N(0, 1), 1444 * 16 windows and none outside */
        assert_true(fabs(in.squares[k] / (double)in.rows - 1) < 0.2);
    hn_layer_input_deinit(&in, &scratch_mem);
    method_end(&b);
    hn_model_destroy(m);
}

static void what_is_no_matrix(void **state) {
    (void)state;
    static const char *const texts[] = {
        "m (float[n,4,5,5] x, float[4,2,3,3] w) => (float[n,2,7,7] y) { y = ConvTranspose (x, w) }",
        "m (float[4,n] x, float[4,3] w) => (float[n,3] y) { y = Gemm <transA = 1> (x, w) }",
        ("m (float[n,2,5] x, float[2,5,3] w) => (float[2,n,3] y) {"
         " t = Transpose <perm = [1, 0, 2]> (x) y = MatMul (t, w) }"),
        "m (float[n,4] x, float[4,4] w) => (float[n,4] y) { h = MatMul (x, w) y = MatMul (h, w) }",
    };
    hn_scheme s = {.layer = {.kind = HN_LAYER_WEIGHTS,
                             .weights = {.dtype = HONE_DTYPE_S8, .bits = 8, .symmetric = true}}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hn_model *m = method_model(texts[i], i);
        hn_weighted w = layer_of(m, &s, "y");
        hn_layer_matrix matrix;
        assert_false(hn_layer_as_matrix(&w, &matrix));
        hn_model_destroy(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_products_and_windows),
        cmocka_unit_test(outputs_are_those_of_the_same_rows),
        cmocka_unit_test(lines_are_spread),
        cmocka_unit_test(windows_are_spread),
        cmocka_unit_test(what_is_no_matrix),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
