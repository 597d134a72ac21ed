#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define PAIR(between)                                                                        \
    "m (float[n,3,9,9] x, float[8,3,3,3] w1, float[8] wb1, float[5,8,3,3] w2, float[5] wb2)" \
    " => (float[n,5,5,5] y) <float zero = {0}, float six = {6}> {"                           \
    " a = Conv (x, w1, wb1) " between " y = Conv (b, w2, wb2) }"

/* Greatest |w| of output channel m / input channel c of a Conv's weight without groups. */
static double reach(hn_model *m, const char *name, int axis, int64_t at) {
    const hn_tensor *t = hn_graph_value(m->graph, name)->constant;
    int64_t inner = t->dims[2] * t->dims[3];
    double most = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t place = axis == 0 ? i / inner / t->dims[1] : i / inner % t->dims[1];
        if (place == at) most = fmax(most, fabs(hn_tensor_f64(t, i)));
    }
    return most;
}

static double bias_or_weight(hn_model *m, const char *weight, const char *bias, int64_t at) {
    return fmax(reach(m, weight, 0, at), fabs(method_weight(m, bias)[at]));
}

static void pairs_are_balanced(void **state) {
    (void)state;
    static const char *const texts[] = {
        PAIR("b = Relu (a)"),
        PAIR("b = LeakyRelu <alpha = 0.3> (a)"),
        "m (float[n,3,9,9] x, float[8,3,3,3] w1, float[8] wb1, float[8,1,1] ws, float[5,8,3,3] w2,"
        " float[5] wb2) => (float[n,5,5,5] y) {"
        " a = Conv (x, w1, wb1) b = PRelu (a, ws) y = Conv (b, w2, wb2) }",
        PAIR("b = Clip (a, zero)"),
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], k);
        hn_model *e = method_keeps(m, hn_transform_equalize, 2);
        for (int64_t i = 0; i < 8; i++) {
            double r1 = bias_or_weight(e, "w1", "wb1", i), r2 = reach(e, "w2", 1, i);
            double before = bias_or_weight(m, "w1", "wb1", i) * reach(m, "w2", 1, i);
            assert_true(fabs(r1 / r2 - 1) < 1e-3);
            assert_true(fabs(r1 * r2 / before - 1) < 1e-3);
        }
        hn_model_destroy(e);
        hn_model_destroy(m);
    }
}

/* One side's sizes end in the middle of the chain, so it takes several rounds. */
static void chains_settle(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,3,9,9] x, float[8,3,3,3] w1, float[8] wb1, float[8,1,3,3] w2, float[8] wb2,"
        " float[5,8,1,1] w3) => (float[n,5,5,5] y) { a = Conv (x, w1, wb1) b = Relu (a)"
        " c = Conv <group = 8> (b, w2, wb2) d = Relu (c) y = Conv (d, w3) }",
        3);
    memset(method_weight(m, "wb2"), 0, 8 * sizeof(float));
    hn_model *e = method_keeps(m, hn_transform_equalize, 3);
    for (int64_t i = 0; i < 8; i++) {
        double r = reach(e, "w2", 0, i);
        assert_true(fabs(bias_or_weight(e, "w1", "wb1", i) / r - 1) < 1e-2);
        assert_true(fabs(reach(e, "w3", 1, i) / r - 1) < 1e-2);
    }
    hn_model_destroy(e);
    hn_model_destroy(m);
}

static void groups_pools_and_gemms(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* the second has groups; the first has; both */
        "m (float[n,4,9,9] x, float[8,4,3,3] w1, float[6,4,3,3] w2) => (float[n,6,5,5] y) {"
        " a = Conv (x, w1) b = Relu (a) y = Conv <group = 2> (b, w2) }",
        "m (float[n,4,9,9] x, float[8,2,3,3] w1, float[8] wb, float[6,8,3,3] w2)"
        " => (float[n,6,5,5] y) {"
        " a = Conv <group = 2> (x, w1, wb) b = Relu (a) y = Conv (b, w2) }",
        "m (float[n,4,9,9] x, float[8,2,3,3] w1, float[8] wb, float[8,2,3,3] w2)"
        " => (float[n,8,5,5] y) {"
        " a = Conv <group = 2> (x, w1, wb) y = Conv <group = 4> (a, w2) }",
        "m (float[n,4,9] x, float[8,4,3] w1, float[6,8,3] w2) => (float[n,6,2] y) {"
        " a = Conv (x, w1) b = Relu (a)"
        " c = MaxPool <kernel_shape = [2], strides = [2]> (b)"
        " d = AveragePool <kernel_shape = [2], pads = [1, 1]> (c) y = Conv (d, w2) }",
        "m (float[n,4] x, float[4,8] w1, float[8] wb1, float[6,8] w2, float[1,6] wb2)"
        " => (float[n,6] y) { a = Gemm <beta = 0.5, alpha = 2.0> (x, w1, wb1) b = Relu (a)"
        " y = Gemm <transB = 1> (b, w2, wb2) }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], 20 + k);
        hn_model_destroy(method_keeps(m, hn_transform_equalize, 2));
        hn_model_destroy(m);
    }
}

static void what_must_stay_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        PAIR("b = Clip (a, zero, six)"),
        PAIR("b = Sigmoid (a)"),
        PAIR("c = Relu (a) b = Add (a, c)"),
        /* an output of the graph between; a weight of both; a weight that an input may replace */
        "m (float[n,3,9,9] x, float[8,3,3,3] w1, float[5,8,3,3] w2)"
        " => (float[n,5,5,5] y, float[n,8,7,7] b) {"
        " a = Conv (x, w1) b = Relu (a) y = Conv (b, w2) }",
        "m (float[n,8,9,9] x, float[8,8,3,3] w) => (float[n,8,5,5] y) {"
        " a = Conv (x, w) b = Relu (a) y = Conv (b, w) }",
        "m (float[n,3,9,9] x, float[8,3,3,3] w1, float[5,8,3,3] v2) => (float[n,5,5,5] y) {"
        " a = Conv (x, w1) b = Relu (a) y = Conv (b, v2) }",
        /* a bias of both */
        "m (float[n,8,9,9] x, float[8,8,3,3] w1, float[8,8,3,3] w2, float[8] wb)"
        " => (float[n,8,5,5] y) { a = Conv (x, w1, wb) b = Relu (a) y = Conv (b, w2, wb) }",
        "m (float[n,4,9,9] x, float[4,8,3,3] w1, float[5,8,3,3] w2) => (float[n,5,9,9] y) {"
        " a = ConvTranspose (x, w1) b = Relu (a) y = Conv (b, w2) }",
        "m (float[n,4] x, float[4,8] w1, float[1] wb, float[8,6] w2) => (float[n,6] y) {"
        " a = Gemm (x, w1, wb) b = Relu (a) y = Gemm (b, w2) }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], 40 + k);
        hn_model_destroy(method_keeps(m, hn_transform_equalize, 0));
        hn_model_destroy(m);
    }
}

static void channels_of_zeros_stay(void **state) {
    (void)state;
    hn_model *m = method_model(PAIR("b = Relu (a)"), 9);
    float *w1 = method_weight(m, "w1"), *w2 = method_weight(m, "w2");
    memset(w1 + 2 * 27, 0, 27 * sizeof *w1);
    method_weight(m, "wb1")[2] = 0;
    for (int o = 0; o < 5; o++) memset(w2 + (o * 8 + 4) * 9, 0, 9 * sizeof *w2);
    hn_model *e = method_keeps(m, hn_transform_equalize, 2);
    assert_memory_equal(method_weight(e, "w1") + 4 * 27, w1 + 4 * 27, 27 * sizeof *w1);
    assert_memory_equal(method_weight(e, "w2") + 2 * 9, w2 + 2 * 9, 9 * sizeof *w2);
    assert_memory_not_equal(method_weight(e, "w1") + 3 * 27, w1 + 3 * 27, 27 * sizeof *w1);
    hn_model_destroy(e);
    hn_model_destroy(m);
}

static void weights_out_of_range_stay(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, 3e38f};
    for (int k = 0; k < 3; k++) {
        hn_model *m = method_model(PAIR("b = Relu (a)"), 9), *copy;
        hn_error err;
        method_weight(m, "w2")[5] = bad[k];
        assert_int_equal(hn_model_clone(&copy, m, &scratch_mem, &err), HONE_OK);
        hn_transform_ctx c = {.model = copy, .alloc = &scratch_mem};
        assert_int_equal(hn_transform_equalize(&c, &err), HONE_OK);
        assert_int_equal(c.changed, 0);
        hn_model_destroy(copy);
        hn_model_destroy(m);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hn_model *m = method_model(PAIR("b = Relu (a)"), 9);
    method_survives(m, hn_transform_equalize);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pairs_are_balanced, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(chains_settle, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(groups_pools_and_gemms, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(what_must_stay_stays, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(channels_of_zeros_stay, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(weights_out_of_range_stay, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
