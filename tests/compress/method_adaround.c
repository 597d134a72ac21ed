#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/grid.h"
#include "ops/eval.h"
#include "support/method_model.h"
#include "support/scratch.h"

/* Inputs that go together: each comes three times. */
#define THREE_TIMES " h = Concat <axis = 1> (x, x, x)"

static void give_grids(method_bench *b, int bits) {
    hn_error err;
    assert_int_equal(hn_grids_create(&b->c.grids, &scratch_mem, &err), HONE_OK);
    b->scheme.layer.kind = HN_LAYER_WEIGHTS;
    b->scheme.layer.weights.bits = bits;
}

/* Runs the method on a copy of m; *grids, if not NULL, is then the caller's. */
static hn_model *rounded(const hn_model *m, int bits, int threads, int64_t changed,
                         hn_grids **grids) {
    hn_model *copy = method_copy(m);
    hn_pool *pool;
    hn_error err;
    method_bench b;
    method_begin_with(&b, copy, 160);
    give_grids(&b, bits);
    assert_int_equal(hn_pool_create(&pool, threads, &scratch_mem, &err), HONE_OK);
    b.how.engine.pool = pool;
    if (hn_transform_adaround(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(b.c.changed, changed);
    if (grids != NULL)
        *grids = b.c.grids;
    else
        hn_grids_destroy(b.c.grids);
    hn_pool_destroy(pool);
    method_end(&b);
    return copy;
}

/* A copy of m whose weight lies on the nearest points of the grid. */
static hn_model *nearest(const hn_model *m, const char *weight, const hn_grid *g) {
    hn_model *copy = method_copy(m);
    hn_value *v = hn_graph_value(copy->graph, weight);
    hn_tensor *codes, *w;
    hn_error err;
    assert_int_equal(hn_grid_codes(g, v->constant, NULL, &scratch_mem, &codes, &err), HONE_OK);
    assert_int_equal(hn_grid_floats(g, codes, NULL, &scratch_mem, &w, &err), HONE_OK);
    hn_value_set_constant(v, w);
    hn_tensor_unref(codes);
    return copy;
}

/* Weights are points of the grid, and some not the nearest. */
static void assert_on_grid(const hn_tensor *before, const hn_tensor *after, const hn_grid *g) {
    int64_t flipped = 0;
    for (int64_t i = 0; i < after->n; i++) {
        hn_grid_point p = hn_grid_at(g, after, i);
        double x = hn_tensor_f64(before, i), y = hn_tensor_f64(after, i);
        int32_t code = hn_grid_code(&g->type, p, y);
        assert_true((double)hn_grid_value(p, code) == y);
        flipped += code != hn_grid_code(&g->type, p, x);
    }
    assert_true(flipped > 0);
}

static void errors_cancel(void **state) {
    (void)state;
    static const char *const texts[] = {
        "m (float[n,4] x, float[12,8] w, float[8] wb) => (float[n,8] y) {" THREE_TIMES
        " y = Gemm (h, w, wb) }",
        "m (float[n,4] x, float[8,12] w) => (float[n,8] y) {" THREE_TIMES
        " y = Gemm <transB = 1> (h, w) }",
        "m (float[n,4] x, float[12,8] w, float[8] wb) => (float[n,8] y) {" THREE_TIMES
        " a = Gemm (h, w, wb) y = Relu (a) }",
        "m (float[n,5,4] x, float[12,8] w) => (float[n,5,8] y) {"
        " h = Concat <axis = 2> (x, x, x) y = MatMul (h, w) }",
        "m (float[n,2,6,6] x, float[8,6,3,3] w, float[8] wb) => (float[n,8,3,3] y) {" THREE_TIMES
        " y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (h, w, wb) }",
        "m (float[n,1,6,6] x, float[6,3,3,3] w) => (float[n,6,6,6] y) {"
        " h = Concat <axis = 1> (x, x, x, x, x, x)"
        " a = Conv <group = 2, dilations = [2, 2], auto_pad = \"SAME_UPPER\"> (h, w)"
        " y = Relu (a) }",
        "m (float[n,1,8,8] x, float[6,1,3,3] w, float[6] wb) => (float[n,6,8,8] y) {"
        " h = Concat <axis = 1> (x, x, x, x, x, x) s = AveragePool <kernel_shape = [3, 3],"
        " pads = [1, 1, 1, 1]> (h) y = Conv <group = 6, pads = [1, 1, 1, 1]> (s, w, wb) }",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        hn_model *m = method_model(texts[k], 90 + k);
        hn_grids *grids;
        hn_model *e = rounded(m, 4, 1, 1, &grids);
        const hn_grid *g = hn_grids_of(grids, "w", NULL);
        assert_non_null(g);
        assert_on_grid(hn_graph_value(m->graph, "w")->constant,
                       hn_graph_value(e->graph, "w")->constant, g);
        hn_model *n = nearest(m, "w", g);
        double plain = method_distance(m, n), learned = method_distance(m, e);
        if (!(learned < 0.85 * plain)) fail_msg("case %zu: %g, nearest %g", k, learned, plain);
        hn_model_destroy(n);
        hn_model_destroy(e);
        hn_model_destroy(m);
        hn_grids_destroy(grids);
    }
}

/* The second layer sees the first rounded. */
static void layers_make_up_for_those_before(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,4] x, float[12,16] w, float[16,8] w2) => (float[n,8] y) {" THREE_TIMES
        " a = Gemm (h, w) b = Relu (a) y = Gemm (b, w2) }",
        5);
    hn_model *copy = method_copy(m);
    hn_error err;
    method_bench b;
    method_begin_with(&b, copy, 160);
    give_grids(&b, 4);
    if (hn_transform_adaround(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(b.c.changed, 2);
    hn_model *n = nearest(m, "w", hn_grids_of(b.c.grids, "w", NULL));
    hn_model *n2 = nearest(n, "w2", hn_grids_of(b.c.grids, "w2", NULL));
    assert_true(method_distance(m, copy) < method_distance(m, n2));
    hn_grids_destroy(b.c.grids);
    method_end(&b);
    hn_model_destroy(n2);
    hn_model_destroy(n);
    hn_model_destroy(copy);
    hn_model_destroy(m);
}

static void threads_change_no_bit(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,2,6,6] x, float[8,6,3,3] w) => (float[n,8,4,4] y) {"
        " " THREE_TIMES " a = Conv (h, w) y = Relu (a) }",
        8);
    hn_model *one = rounded(m, 4, 1, 1, NULL), *two = rounded(m, 4, 2, 1, NULL);
    assert_true(hn_tensor_equal(hn_graph_value(one->graph, "w")->constant,
                                hn_graph_value(two->graph, "w")->constant));
    hn_model_destroy(one);
    hn_model_destroy(two);
    hn_model_destroy(m);
}

static void what_must_stay_stays(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int bits;
    } cases[] = {
        {"m (float[n,4,5,5] x, float[4,6,3,3] w) => (float[n,6,7,7] y) {"
         " y = ConvTranspose (x, w) }",
         4},
        {"m (float[n,8] x, float[8,8] w) => (float[n,8] y) { a = Gemm (x, w) y = Gemm (a, w) }", 4},
        {"m (float[n,8] x, float[8,5] w) => (float[n,5] y) { y = Gemm <alpha = 2.0> (x, w) }", 4},
        {"m (float[n,8] x, float[8,5] w) => (float[n,5] y) { y = Gemm (x, w) }", 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hn_model *m = method_model(cases[k].text, k);
        hn_model *e = rounded(m, cases[k].bits, 1, 0, NULL);
        assert_true(hn_tensor_equal(hn_graph_value(m->graph, "w")->constant,
                                    hn_graph_value(e->graph, "w")->constant));
        hn_model_destroy(e);
        hn_model_destroy(m);
    }
}

static void too_few_rows_teach_nothing(void **state) {
    (void)state;
    hn_model *m =
        method_model("m (float[n,4] x, float[4,5] w) => (float[n,5] y) { y = Gemm (x, w) }", 3);
    hn_error err;
    method_bench b;
    method_begin_with(&b, m, 160);
    give_grids(&b, 4);
    b.c.samples = 3;
    assert_int_equal(hn_transform_adaround(&b.c, &err), HONE_OK);
    assert_int_equal(b.c.changed, 0);
    assert_null(hn_grids_of(b.c.grids, "w", NULL));
    hn_grids_destroy(b.c.grids);
    method_end(&b);
    hn_model_destroy(m);
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    assert_true(done <= total);
    return ++*(int *)ctx < 2;
}

/* Two layers, stopped after the first: an allocation may fail anywhere before. */
static void it_can_be_stopped_and_fail(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,4] x, float[12,8] w, float[8,5] w2) => (float[n,5] y) {" THREE_TIMES
        " a = Gemm (h, w) y = Gemm (a, w2) }",
        3);
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status == HONE_E_NOMEM; k += 5) {
        hn_model *copy = method_copy(m);
        hn_error err;
        int calls = 0;
        method_bench b;
        method_begin_with(&b, copy, 160);
        give_grids(&b, 4);
        b.c.progress = stop;
        b.c.progress_ctx = &calls;
        scratch_mem.fail_after = k;
        status = hn_transform_adaround(&b.c, &err);
        scratch_mem.fail_after = -1;
        hn_grids_destroy(b.c.grids);
        method_end(&b);
        hn_model_destroy(copy);
    }
    assert_int_equal(status, HONE_E_LIMIT);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(errors_cancel, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(layers_make_up_for_those_before, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(threads_change_no_bit, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(what_must_stay_stays, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(too_few_rows_teach_nothing, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(it_can_be_stopped_and_fail, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
