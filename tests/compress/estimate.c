#include "compress/estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/layer_type.h"
#include "compress/quantize.h"
#include "measure/distance.h"
#include "ops/infer.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* A copy of m with its layer in the type. */
static hn_model *in_type(const hn_model *m, const hn_layer_scheme *type,
                         const hn_calibration *ranges) {
    hn_scheme s = {.layer = *type, .target = hn_quant_target_named("hone")};
    hn_model *copy = method_copy(m);
    hn_error err;
    if (hn_quantize_model(copy, &s, ranges, NULL, NULL, NULL, &err) != HONE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(hn_model_infer(copy, NULL, &err), HONE_OK);
    return copy;
}

/* Noise by signal at the outputs, over all samples. */
static double measured(const hn_model *m, const hn_model *q, const method_bench *b) {
    hn_program *a, *c;
    hn_error err;
    hn_distance d = {0};
    assert_int_equal(hn_program_create(&a, m, &b->how, &err), HONE_OK);
    assert_int_equal(hn_program_create(&c, q, &b->how, &err), HONE_OK);
    for (int64_t first = 0; first < 40; first += 8) {
        hn_samples s;
        hn_tensor *want, *is;
        assert_int_equal(hn_feed_read(b->feed, NULL, first, 8, &s, &err), HONE_OK);
        assert_int_equal(hn_program_run(a, (const hn_tensor *const *)s.in, &want, &err), HONE_OK);
        assert_int_equal(hn_program_run(c, (const hn_tensor *const *)s.in, &is, &err), HONE_OK);
        hn_distance_add(&d, want, is);
        hn_tensor_unref(want);
        hn_tensor_unref(is);
        hn_samples_deinit(&s);
    }
    hn_program_destroy(a);
    hn_program_destroy(c);
    return d.noise / d.wanted;
}

static void compare(const char *text, uint64_t seed) {
    static const char *const names[] = {"int4", "int8-weights", "int8"};
    hn_model *m = method_model(text, seed);
    method_bench b;
    hn_error err;
    hn_calibration *ranges;
    hn_calibrate_options how = {.method = HN_RANGE_MINMAX};
    hn_weighted w;
    hn_layer_scheme types[3];
    hn_estimate found[3];
    method_begin(&b, m);
    const char *const watched[] = {"x", "y"};
    assert_int_equal(hn_calibrate(&ranges, m, watched, 2, b.feed, &b.how, &how, &scratch_mem, &err),
                     HONE_OK);
    assert_true(hn_weighted_of(hn_graph_value(m->graph, "y")->producer, &b.scheme, &w, NULL));
    for (int t = 0; t < 3; t++) types[t] = hn_layer_type_named(names[t])->layer;
    types[0].weights.group = 0;
    if (hn_estimate_layers(found, &w, 1, types, 3, ranges, m, &b.c, 40, &err) != HONE_OK)
        fail_msg("%s", err.text);
    for (int t = 0; t < 3; t++) {
        hn_model *q = in_type(m, &types[t], ranges);
        double is = measured(m, q, &b), ratio = found[t].error / is;
        /* Weights alone: exact. Inputs, and the outputs that are rounded too: about so large. */
        bool good = t < 2 ? fabs(ratio - 1) < 1e-3 : ratio > 0.2 && ratio < 2;
        if (!good) fail_msg("%s in %s: %g, measured %g", text, names[t], found[t].error, is);
        assert_true(found[t].bits > (t == 0 ? 4 : 8) * (double)w.weight->constant->n);
        hn_model_destroy(q);
    }
    hn_calibration_destroy(ranges);
    method_end(&b);
    hn_model_destroy(m);
}

static void errors_are_those_of_outputs(void **state) {
    (void)state;
    compare("m (float[n,6,8] x, float[8,5] w) => (float[n,6,5] y) { y = MatMul (x, w) }", 1);
    compare("m (float[n,8] x, float[5,8] w) => (float[n,5] y) { y = Gemm <transB = 1> (x, w) }", 2);
    compare("m (float[n,3,8,8] x, float[8,3,3,3] w) => (float[n,8,6,6] y) { y = Conv (x, w) }", 3);
    compare(
        "m (float[n,4,8,8] x, float[8,1,3,3] w) => (float[n,8,6,6] y) {"
        " y = Conv <group = 4> (x, w) }",
        4);
}

/* No product with a matrix: the error of the weights. Types it cannot have: NaN. */
static void what_is_no_matrix(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,4,5,5] x, float[4,6,3,3] w) => (float[n,6,7,7] y) {"
        " y = ConvTranspose (x, w) }",
        5);
    method_bench b;
    hn_error err;
    hn_weighted w;
    hn_layer_scheme types[] = {hn_layer_type_named("int8-weights")->layer,
                               hn_layer_type_named("int8")->layer,
                               hn_layer_type_named("bf16")->layer};
    hn_estimate found[3];
    method_begin(&b, m);
    b.scheme.layer = types[0];
    assert_true(hn_weighted_of(hn_graph_value(m->graph, "y")->producer, &b.scheme, &w, NULL));
    assert_int_equal(hn_estimate_layers(found, &w, 1, types, 3, NULL, m, &b.c, 40, &err), HONE_OK);
    assert_true(found[0].error > 0 && found[0].error < 1e-3);
    assert_true(isnan(found[1].error));
    assert_true(found[2].error > 0 && found[2].error < 1e-4);
    assert_true(found[2].bits == 16 * (double)w.weight->constant->n);
    method_end(&b);
    hn_model_destroy(m);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_model *m =
        method_model("m (float[n,8] x, float[8,5] w) => (float[n,5] y) { y = MatMul (x, w) }", 6);
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status != HONE_OK; k++) {
        method_bench b;
        hn_error err;
        hn_weighted w;
        hn_layer_scheme type = hn_layer_type_named("int8-weights")->layer;
        hn_estimate found;
        method_begin(&b, m);
        assert_true(hn_weighted_of(hn_graph_value(m->graph, "y")->producer, &b.scheme, &w, NULL));
        scratch_mem.fail_after = k;
        status = hn_estimate_layers(&found, &w, 1, &type, 1, NULL, m, &b.c, 40, &err);
        scratch_mem.fail_after = -1;
        method_end(&b);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(errors_are_those_of_outputs, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_matrix, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
