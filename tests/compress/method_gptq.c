#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/grid.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* The inputs of y are mixtures of a few numbers, so errors of its weights can make up for each
 * other. Only y is quantized. */
#define MIXED                                                                   \
    "m (float[n,6,4] x, float[4,20] wmix, float[20,8] w) => (float[n,6,8] y) {" \
    " h = MatMul (x, wmix) y = MatMul (h, w) }"

typedef struct bench {
    method_bench b;
    hn_scheme_rule rule;
} bench;

static void begin(bench *t, hn_model *m, int64_t group) {
    hn_error err;
    method_begin(&t->b, m);
    t->b.scheme.layer.kind = HN_LAYER_F32;
    t->rule = (hn_scheme_rule){.name = "y",
                               .layer = {.kind = HN_LAYER_WEIGHTS,
                                         .weights = {.dtype = HONE_DTYPE_S4,
                                                     .bits = 4,
                                                     .symmetric = true,
                                                     .per_channel = true,
                                                     .group = group}}};
    t->b.scheme.rules = &t->rule;
    t->b.scheme.n_rules = 1;
    assert_int_equal(hn_grids_create(&t->b.c.grids, &scratch_mem, &err), HONE_OK);
}

static void end(bench *t) {
    hn_grids_destroy(t->b.c.grids);
    method_end(&t->b);
}

/* The weight, rounded by its grid; must not change what the method made. */
static hn_tensor *rounded(const hn_grid *g, const hn_tensor *w) {
    hn_tensor *codes, *floats;
    hn_error err;
    assert_int_equal(hn_grid_codes(g, w, NULL, &scratch_mem, &codes, &err), HONE_OK);
    assert_int_equal(hn_grid_floats(g, codes, NULL, &scratch_mem, &floats, &err), HONE_OK);
    hn_tensor_unref(codes);
    return floats;
}

/* Mean squared error of y for inputs x of N(0, 1): that of wmix times the weight's error. */
static double output_error(hn_model *m, const hn_tensor *was, const hn_tensor *is) {
    const float *mix = method_weight(m, "wmix"), *a = was->data, *b = is->data;
    double sum = 0;
    for (int i = 0; i < 4; i++)
        for (int o = 0; o < 8; o++) {
            double e = 0;
            for (int k = 0; k < 20; k++)
                e += (double)mix[i * 20 + k] * ((double)b[k * 8 + o] - (double)a[k * 8 + o]);
            sum += e * e;
        }
    return sum;
}

static void errors_make_up_for_each_other(void **state) {
    (void)state;
    const int64_t groups[] = {0, 8, 3};
    for (size_t i = 0; i < 3; i++) {
        hn_model *m = method_model(MIXED, i);
        hn_value *w = hn_graph_value(m->graph, "w");
        hn_tensor *was = hn_tensor_ref(w->constant);
        bench t;
        hn_error err;
        begin(&t, m, groups[i]);
        if (hn_transform_gptq(&t.b.c, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(t.b.c.changed, 1);
        const hn_grid *g = hn_grids_of(t.b.c.grids, "w", NULL);
        assert_non_null(g);
        hn_tensor *nearest = rounded(g, was), *same = rounded(g, w->constant);
        assert_true(hn_tensor_equal(same, w->constant));
        assert_true(output_error(m, was, w->constant) < 0.5 * output_error(m, was, nearest));
        hn_tensor_unref(nearest);
        hn_tensor_unref(same);
        hn_tensor_unref(was);
        end(&t);
        hn_model_destroy(m);
    }
}

/* A grid that was chosen before is kept. */
static void grids_of_others_stay(void **state) {
    (void)state;
    hn_model *m = method_model(MIXED, 9);
    hn_value *w = hn_graph_value(m->graph, "w");
    bench t;
    hn_error err;
    hn_grid g;
    begin(&t, m, 4);
    assert_int_equal(
        hn_grid_create(&g, w->constant, &t.rule.layer.weights, 1, 0, NULL, &scratch_mem, &err),
        HONE_OK);
    hn_tensor *scale = hn_tensor_ref(g.scale);
    assert_int_equal(hn_grids_set(t.b.c.grids, "w", &g, &err), HONE_OK);
    assert_int_equal(hn_transform_gptq(&t.b.c, &err), HONE_OK);
    assert_ptr_equal(hn_grids_of(t.b.c.grids, "w", NULL)->scale, scale);
    hn_tensor *same = rounded(hn_grids_of(t.b.c.grids, "w", NULL), w->constant);
    assert_true(hn_tensor_equal(same, w->constant));
    hn_tensor_unref(same);
    hn_tensor_unref(scale);
    end(&t);
    hn_model_destroy(m);
}

static hn_tensor *by_threads(const char *text, int threads) {
    hn_model *m = method_model(text, 4);
    bench t;
    hn_error err;
    begin(&t, m, 0);
    hn_pool_destroy(t.b.pool);
    assert_int_equal(hn_pool_create(&t.b.pool, threads, &scratch_mem, &err), HONE_OK);
    t.b.how.engine.pool = t.b.pool;
    if (hn_transform_gptq(&t.b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(t.b.c.changed, 1);
    hn_tensor *w = hn_tensor_ref(hn_graph_value(m->graph, "w")->constant);
    end(&t);
    hn_model_destroy(m);
    return w;
}

static void threads_change_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "m (float[n,6,9] x, float[9,40] wmix, float[40,37] w) => (float[n,6,37] y) {"
        " h = MatMul (x, wmix) y = MatMul (h, w) }",
        "m (float[n,9] x, float[9,150] wmix, float[11,150] w) => (float[n,11] y) {"
        " h = MatMul (x, wmix) y = Gemm <transB = 1> (h, w) }",
        "m (float[n,3,6,6] x, float[8,3,1,1] wmix, float[19,8,3,3] w) => (float[n,19,6,6] y) {"
        " h = Conv (x, wmix) y = Conv <pads = [1, 1, 1, 1]> (h, w) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hn_tensor *one = by_threads(texts[i], 1), *three = by_threads(texts[i], 3);
        assert_true(hn_tensor_equal(one, three));
        hn_tensor_unref(one);
        hn_tensor_unref(three);
    }
}

static void depthwise_stays(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,4,5,5] x, float[4,1,3,3] w) => (float[n,4,3,3] y) {"
        " y = Conv <group = 4> (x, w) }",
        1);
    hn_tensor *was = hn_tensor_ref(hn_graph_value(m->graph, "w")->constant);
    bench t;
    hn_error err;
    begin(&t, m, 0);
    assert_int_equal(hn_transform_gptq(&t.b.c, &err), HONE_OK);
    assert_int_equal(t.b.c.changed, 0);
    assert_ptr_equal(hn_graph_value(m->graph, "w")->constant, was);
    assert_null(hn_grids_of(t.b.c.grids, "w", NULL));
    hn_tensor_unref(was);
    end(&t);
    hn_model_destroy(m);
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    (void)ctx, (void)done, (void)total;
    return false;
}

static void it_can_be_stopped(void **state) {
    (void)state;
    hn_model *m = method_model(MIXED, 2);
    bench t;
    hn_error err;
    begin(&t, m, 0);
    t.b.c.progress = stop;
    assert_int_equal(hn_transform_gptq(&t.b.c, &err), HONE_E_LIMIT);
    end(&t);
    hn_model_destroy(m);
}

static void memory_runs_out(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status != HONE_OK; k++) {
        hn_model *m = method_model(MIXED, 3);
        bench t;
        hn_error err;
        begin(&t, m, 8);
        scratch_mem.fail_after = k;
        status = hn_transform_gptq(&t.b.c, &err);
        scratch_mem.fail_after = -1;
        end(&t);
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_make_up_for_each_other),
        cmocka_unit_test(grids_of_others_stay),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(depthwise_stays),
        cmocka_unit_test(it_can_be_stopped),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
