#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/quantize.h"
#include "ops/op.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* The first norm feeds three products and nothing else; the second one product and a sum. */
#define BLOCK(norm1, norm2)                                                                       \
    "m (float[n,6,8] x, float[8] ws1, float[8] wb1, float[8,8] wq, float[8,8] wk, float[8,8] wv," \
    " float[8] ws2, float[8] wb2, float[8,12] wf) => (float[n,6,12] y, float[n,6,8] z) {"         \
    " " norm1                                                                                     \
    " q = MatMul (h, wq) k = MatMul (h, wk) v = MatMul (h, wv)"                                   \
    " a = Mul (q, k) b = Add (a, v) " norm2 " y = MatMul (i, wf) z = Add (i, b) }"

static const hn_node *node_with_output(const hn_model *m, const char *name) {
    return hn_graph_value(m->graph, name)->producer;
}

static void products_of_a_norm_are_scaled_together(void **state) {
    (void)state;
    static const char *const texts[] = {
        BLOCK("h = LayerNormalization (x, ws1, wb1)", "i = LayerNormalization (b, ws2, wb2)"),
        BLOCK("h = LayerNormalization <axis = 2> (x, ws1)", "i = LayerNormalization (b, ws2)"),
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], k);
        memset(method_weight(m, "ws1") + 3, 0, sizeof(float)); /* a channel of zeros */
        if (k == 0) method_weight(m, "wb1")[3] = 0;
        hn_model *e = method_keeps(m, hn_transform_smooth, 4);
        for (int64_t r = 0; r < 8; r++) {
            double s =
                (double)method_weight(e, "wq")[r * 8] / (double)method_weight(m, "wq")[r * 8];
            if (r == 3) assert_true(s == 1);
            if (r != 3) assert_true(s != 1);
            const char *const names[] = {"wk", "wv"};
            for (int i = 0; i < 2; i++) {
                const float *a = method_weight(m, names[i]), *b = method_weight(e, names[i]);
                for (int64_t c = r * 8; c < (r + 1) * 8; c++)
                    assert_true(fabs((double)b[c] - (double)a[c] * s) <= 1e-6 * fabs((double)b[c]));
            }
        }
        hn_model_destroy(e);
        hn_model_destroy(m);
    }
}

/* What the outputs of m are off by when it is quantized. */
static double error_in_integers(const hn_model *m, method_bench *b) {
    hn_model *q = method_copy(m);
    hn_scheme s = b->scheme;
    hn_calibration *ranges;
    hn_calibrate_options o = {.method = HN_RANGE_MINMAX};
    hn_arena arena;
    hn_error err;
    const char *const *names;
    int n;
    s.target = hn_quant_target_named("hone");
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_quantize_watches(q, &s, &arena, &names, &n, &err), HONE_OK);
    assert_int_equal(hn_calibrate(&ranges, q, names, n, b->feed, &b->how, &o, &scratch_mem, &err),
                     HONE_OK);
    hn_arena_deinit(&arena);
    if (hn_quantize_model(q, &s, ranges, NULL, NULL, NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    double distance = method_distance(m, q);
    hn_calibration_destroy(ranges);
    hn_model_destroy(q);
    return distance;
}

/* One channel is larger than the others by far: weights take over as much of that as gains. */
static void outliers_move_into_weights(void **state) {
    (void)state;
    for (uint64_t seed = 5; seed < 8; seed++) {
        hn_model *m = method_model(
            "m (float[n,6,8] x, float[8] ws, float[8,5] wf) => (float[n,6,5] y) {"
            " h = LayerNormalization (x, ws) y = MatMul (h, wf) }",
            seed);
        for (int k = 0; k < 8; k++) method_weight(m, "ws")[k] = k == 3 ? 30 : 0.5f;
        hn_model *e = method_keeps(m, hn_transform_smooth, 1);
        const hn_tensor *scale = node_with_output(e, "h")->inputs[1].value->constant;
        const float *old = method_weight(m, "ws"), *was = method_weight(m, "wf"),
                    *is = method_weight(e, "wf");
        for (int64_t k = 0; k < 8; k++) {
            double by = (double)is[k * 5] / (double)was[k * 5];
            assert_true(fabs(hn_tensor_f64(scale, k) * by / (double)old[k] - 1) < 1e-5);
        }
        method_bench b;
        method_begin(&b, m);
        double before = error_in_integers(m, &b), after = error_in_integers(e, &b);
        if (!(after < 0.95 * before)) fail_msg("%g, before %g", after, before);
        method_end(&b);
        hn_model_destroy(e);
        hn_model_destroy(m);
    }
}

/* Channels that are alike already gain nothing. */
static void even_channels_stay(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,6,8] x, float[8] ws, float[8,5] wf) => (float[n,6,5] y) {"
        " h = LayerNormalization (x, ws) y = MatMul (h, wf) }",
        9);
    for (int k = 0; k < 8; k++) method_weight(m, "ws")[k] = 1;
    for (int k = 0; k < 40; k++) method_weight(m, "wf")[k] = k % 2 ? 0.5f : -0.5f;
    hn_model *e = method_keeps(m, hn_transform_smooth, 0);
    hn_model_destroy(e);
    hn_model_destroy(m);
}

static void a_norm_that_others_read_is_made_twice(void **state) {
    (void)state;
    hn_model *m = method_model(BLOCK("h = LayerNormalization <epsilon = 0.25> (x, ws1, wb1)",
                                     "i = LayerNormalization <epsilon = 0.5> (b, ws2, wb2)"),
                               3);
    hn_model *e = method_keeps(m, hn_transform_smooth, 4);
    assert_int_equal(e->graph->n_nodes, m->graph->n_nodes + 1);
    assert_ptr_equal(node_with_output(e, "q")->inputs[0].value, hn_graph_value(e->graph, "h"));
    const hn_node *twin = node_with_output(e, "y")->inputs[0].value->producer;
    assert_string_equal(twin->op_type, "LayerNormalization");
    assert_true(twin != node_with_output(e, "i"));
    assert_memory_equal(method_weight(m, "ws2"), method_weight(e, "ws2"), 8 * sizeof(float));
    hn_model_destroy(e);
    hn_model_destroy(m);
}

static void gemms_of_either_order(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,8] x, float[8] ws, float[8] wb, float[8,5] w1, float[7,8] w2, float[7] wc)"
        " => (float[n,5] y, float[n,7] z) { h = LayerNormalization (x, ws, wb)"
        " y = Gemm (h, w1) z = Gemm <transB = 1, alpha = 2.0> (h, w2, wc) }",
        8);
    hn_model_destroy(method_keeps(m, hn_transform_smooth, 2));
    hn_model_destroy(m);
}

static void what_must_stay_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* over two axes; a scale that comes from outside; a weight of two products; no product */
        "m (float[n,6,8] x, float[6,8] ws, float[8,5] w) => (float[n,6,5] y) {"
        " h = LayerNormalization <axis = 1> (x, ws) y = MatMul (h, w) }",
        "m (float[n,6,8] x, float[8] s, float[8,5] w) => (float[n,6,5] y) {"
        " h = LayerNormalization (x, s) y = MatMul (h, w) }",
        "m (float[n,6,8] x, float[8] ws, float[8,8] w) => (float[n,6,8] y) {"
        " h = LayerNormalization (x, ws) a = MatMul (h, w) y = MatMul (a, w) }",
        "m (float[n,6,8] x, float[8] ws, float[8,8] w) => (float[n,6,8] y) {"
        " h = LayerNormalization (x, ws) a = Relu (h) y = MatMul (a, w) }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], 40 + k);
        hn_model_destroy(method_keeps(m, hn_transform_smooth, 0));
        hn_model_destroy(m);
    }
}

static void layers_with_float_inputs_stay(void **state) {
    (void)state;
    hn_model *m = method_model(
        BLOCK("h = LayerNormalization (x, ws1, wb1)", "i = LayerNormalization (b, ws2, wb2)"), 2);
    hn_error err;
    method_bench b;
    method_begin(&b, m);
    b.scheme.layer.kind = HN_LAYER_WEIGHTS;
    assert_int_equal(hn_transform_smooth(&b.c, &err), HONE_OK);
    assert_int_equal(b.c.changed, 0);
    method_end(&b);
    hn_model_destroy(m);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_model *m = method_model(
        BLOCK("h = LayerNormalization (x, ws1, wb1)", "i = LayerNormalization (b, ws2, wb2)"), 2);
    method_survives(m, hn_transform_smooth);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_of_a_norm_are_scaled_together, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(outliers_move_into_weights, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(even_channels_stay, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_norm_that_others_read_is_made_twice, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(gemms_of_either_order, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(what_must_stay_stays, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(layers_with_float_inputs_stay, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
