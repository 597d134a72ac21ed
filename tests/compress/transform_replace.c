/* A convolution as a depthwise and a pointwise one: exact where it is one, closer with samples than
 * without, closer with more outputs for a channel. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "ops/infer.h"
#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

typedef struct outcome {
    hn_model *model;
    hn_shrinking told;
    int64_t changed;
} outcome;

static outcome replaced(const hn_model *m, const char *parameters, bool samples, int threads) {
    outcome o = {.model = method_copy(m)};
    hn_error err;
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    char text[200];
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; replace %s", parameters);
    if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_shrinking_init(&o.told, &scratch_mem);
    method_begin(&b, o.model);
    hn_pool_destroy(b.pool);
    assert_int_equal(hn_pool_create(&b.pool, threads, &scratch_mem, &err), HONE_OK);
    b.how.engine.pool = b.pool;
    b.c.step = &r.steps[0];
    b.c.shrinking = &o.told;
    if (!samples) b.c.feed = NULL;
    if (hn_transform_replace(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    o.changed = b.c.changed;
    b.c.feed = b.feed;
    method_end(&b);
    hn_arena_deinit(&arena);
    if (hn_model_infer(o.model, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(o.model, &err) != HONE_OK) fail_msg("%s", err.text);
    return o;
}

static void finish(outcome *o) {
    hn_model_destroy(o->model);
    hn_shrinking_deinit(&o->told);
}

#define CONV                                                                      \
    "m (float[n,6,8,9] x, float[6,6,1,1] w0, float[10,6,3,3] w, float[10] wb) =>" \
    " (float[n,10,p,q] y) { [first] a = Conv (x, w0) b = Relu (a)"                \
    " [layer] y = Conv <strides = [1, 2], pads = [1, 1, 0, 1], dilations = [2, 1]> (b, w, wb) }"

/* Weights of which each channel has rank 1 are rebuilt, in whatever order and size. */
static void what_is_separable_is_rebuilt(void **state) {
    (void)state;
    hn_model *m = method_model(CONV, 1);
    float *w = method_weight(m, "w"), points[10 * 6], windows[6 * 9];
    memcpy(points, w, sizeof points);
    memcpy(windows, w + 60, sizeof windows);
    for (int i = 0; i < 10 * 6 * 9; i++) w[i] = points[i / 9] * windows[i % 54];
    for (int samples = 0; samples < 2; samples++) {
        outcome o = replaced(m, "turns=2", samples, 1);
        assert_int_equal(o.changed, 1);
        assert_int_equal(o.told.n, 2);
        assert_string_equal(o.told.v[0].why_not, "it is a pointwise convolution");
        assert_string_equal(o.told.v[1].what, "depthwise and pointwise, 21 % of its MACs");
        assert_int_equal(o.told.v[1].kept, 6 * 9 + 10 * 6);
        assert_true(o.told.v[1].error < (samples ? 1e-5 : 1e-10));
        method_same(m, o.model, samples ? 2e-3 : 1e-5);
        finish(&o);
    }
    hn_model_destroy(m);
}

static double error_of(const hn_model *m, const char *parameters, bool samples) {
    outcome o = replaced(m, parameters, samples, 1);
    double error = method_distance(m, o.model);
    assert_int_equal(o.changed, 1);
    assert_true(samples == false || o.told.v[1].error < 1);
    finish(&o);
    return error;
}

static void samples_rounds_and_outputs_leave_less_error(void **state) {
    (void)state;
    hn_model *m = method_model(CONV, 2);
    double alone = error_of(m, "", false), once = error_of(m, "turns=1", true),
           often = error_of(m, "turns=8", true), twice = error_of(m, "multiplier=2", true);
    if (!(once < 0.95 * alone && often < 0.98 * once && twice < 0.8 * often))
        fail_msg("weights %g, samples %g, in turns %g, two outputs %g", alone, once, often, twice);
    hn_model_destroy(m);
}

static void others_stay(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,8,6,6] x, float[8,1,3,3] w1, float[8,4,3,3] w2,"
        " float[2,8,2,2] w3, float[18,5] w4) => (float[n,5] y) {"
        " a = Conv <group = 8, pads = [1, 1, 1, 1]> (x, w1)"
        " b = Conv <group = 2> (a, w2) c = Conv (b, w3) d = Flatten (c)"
        " y = MatMul (d, w4) }",
        3);
    outcome o = replaced(m, "multiplier=4", false, 1);
    const char *const why[] = {"it is a depthwise convolution", "a convolution in groups",
                               "the two would take no fewer weights",
                               "only convolutions become depthwise and pointwise ones"};
    assert_int_equal(o.changed, 0);
    for (int i = 0; i < 4; i++) assert_string_equal(o.told.v[i].why_not, why[i]);
    method_same(m, o.model, 0);
    finish(&o);
    hn_model_destroy(m);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    hn_model *m = method_model(CONV, 2);
    outcome a = replaced(m, "", true, 1), b = replaced(m, "", true, 4);
    const hn_graph *g = a.model->graph;
    for (int k = 0; k < g->n_values; k++) {
        const hn_tensor *x = g->values[k]->constant, *y = b.model->graph->values[k]->constant;
        if (!g->values[k]->dead && x != NULL) assert_true(hn_tensor_equal(x, y));
    }
    finish(&a);
    finish(&b);
    hn_model_destroy(m);
}

static void memory_runs_out(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,3,5,5] x, float[4,3,3,3] w) => (float[n,4,3,3] y) {"
        " y = Conv (x, w) }",
        1);
    method_survives(m, hn_transform_replace);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
        TEST(what_is_separable_is_rebuilt),
        TEST(samples_rounds_and_outputs_leave_less_error),
        TEST(others_stay),
        TEST(threads_change_no_bit),
        TEST(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
