#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compress/grid.h"
#include "compress/layer_input.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define TWO                                                                           \
    "m (float[n,6,16] x, float[16] ws, float[16] wb, float[16,8] wq, float[16,8] wk)" \
    " => (float[n,6,8] q, float[n,6,8] k) { h = LayerNormalization (x, ws, wb)"       \
    " q = MatMul (h, wq) k = MatMul (h, wk) }"

static void begin(method_bench *b, hn_model *m, int64_t group) {
    method_begin(b, m);
    b->scheme.layer = (hn_layer_scheme){.kind = HN_LAYER_WEIGHTS,
                                        .weights = {HONE_DTYPE_S4, 4, true, true, group, false}};
}

/* What the product's outputs are off by when its weight is rounded, on the grid chosen for it or
 * one of its whole range. */
static double error_of(hn_model *m, const method_bench *b, const char *output) {
    hn_weighted w;
    hn_layer_input in;
    hn_error err;
    hn_grid g;
    hn_tensor *codes, *rounded;
    hn_allocator *mem = &scratch_mem;
    assert_true(hn_weighted_of(hn_graph_value(m->graph, output)->producer, &b->scheme, &w, NULL));
    const hn_tensor *t = w.weight->constant;
    assert_int_equal(
        hn_layer_inputs(&in, &w, 1, &(hn_layer_look){1000, true, NULL}, m, &b->c, &err), HONE_OK);
    assert_int_equal(hn_grid_create(&g, t, &w.scheme.weights, 1, 0, NULL, mem, &err), HONE_OK);
    const hn_grid *chosen = hn_grids_of(b->c.grids, w.weight->name, NULL),
                  *by = chosen ? chosen : &g;
    assert_int_equal(hn_grid_codes(by, t, NULL, mem, &codes, &err), HONE_OK);
    assert_int_equal(hn_grid_floats(by, codes, NULL, mem, &rounded, &err), HONE_OK);
    double sum = 0;
    for (int64_t o = 0; o < t->dims[1]; o++)
        for (int64_t i = 0; i < in.k; i++)
            for (int64_t j = 0; j < in.k; j++) {
                int64_t a = i * t->dims[1] + o, c = j * t->dims[1] + o;
                sum += (hn_tensor_f64(rounded, a) - hn_tensor_f64(t, a)) *
                       (hn_tensor_f64(rounded, c) - hn_tensor_f64(t, c)) *
                       in.gram[i >= j ? i * in.k + j : j * in.k + i];
            }
    hn_tensor_unref(rounded);
    hn_tensor_unref(codes);
    hn_grid_deinit(&g);
    hn_layer_input_deinit(&in, mem);
    return sum;
}

/* Two channels are large and others small: worth scaling. */
static hn_model *uneven(uint64_t seed) {
    hn_model *m = method_model(TWO, seed);
    for (int k = 0; k < 16; k++) method_weight(m, "ws")[k] = k % 7 == 3 ? 20 : 0.5f;
    return m;
}

static void large_inputs_count_more(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        hn_model *m = uneven(seed), *same = uneven(seed);
        method_bench b;
        hn_error err;
        begin(&b, m, seed == 2 ? 8 : 0);
        double before = error_of(m, &b, "q") + error_of(m, &b, "k");
        if (hn_transform_awq(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(b.c.changed, 2);
        if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
        method_same(same, m, 1e-5);
        assert_true(error_of(m, &b, "q") + error_of(m, &b, "k") < 0.7 * before);
        method_end(&b);
        hn_model_destroy(m);
        hn_model_destroy(same);
    }
}

/* Grids that cut off the largest weights, of layers behind no normalization too. */
static void grids_are_chosen_by_inputs(void **state) {
    (void)state;
    hn_model *m = method_model(
        "m (float[n,6,16] x, float[16] ws, float[16,64] wq, float[64,8] wd) => (float[n,6,8] d) {"
        " h = LayerNormalization (x, ws) q = MatMul (h, wq) r = Relu (q) d = MatMul (r, wd) }",
        4);
    for (int i = 0; i < 8; i++) method_weight(m, "wd")[63 * 8 + i] *= 8;
    method_bench b;
    hn_error err;
    begin(&b, m, 0);
    double before = error_of(m, &b, "d");
    assert_int_equal(hn_grids_create(&b.c.grids, &scratch_mem, &err), HONE_OK);
    if (hn_transform_awq(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_non_null(hn_grids_of(b.c.grids, "wq", NULL));
    assert_non_null(hn_grids_of(b.c.grids, "wd", NULL));
    assert_true(error_of(m, &b, "d") < 0.9 * before);
    hn_grids_destroy(b.c.grids);
    method_end(&b);
    hn_model_destroy(m);
}

/* Integer inputs are for another method; no normalization, nothing to do. */
static void what_must_stay_stays(void **state) {
    (void)state;
    hn_model *m = uneven(1), *plain = method_model(
                                 "m (float[n,16] x, float[16,8] w) => (float[n,8] y) {"
                                 " h = Relu (x) y = MatMul (h, w) }",
                                 2);
    method_bench b;
    hn_error err;
    begin(&b, m, 0);
    b.scheme.layer.kind = HN_LAYER_STATIC;
    assert_int_equal(hn_transform_awq(&b.c, &err), HONE_OK);
    assert_int_equal(b.c.changed, 0);
    method_end(&b);
    begin(&b, plain, 0);
    assert_int_equal(hn_transform_awq(&b.c, &err), HONE_OK);
    assert_int_equal(b.c.changed, 0);
    method_end(&b);
    hn_model_destroy(m);
    hn_model_destroy(plain);
}

static hn_tensor *by_threads(int threads) {
    hn_model *m = method_model(
        "m (float[n,6,40] x, float[40] ws, float[40] wb, float[40,600] wq) => (float[n,6,600] q) {"
        " h = LayerNormalization (x, ws, wb) q = MatMul (h, wq) }",
        6);
    for (int k = 0; k < 40; k++) method_weight(m, "ws")[k] = k % 7 == 3 ? 20 : 0.5f;
    method_bench b;
    hn_error err;
    begin(&b, m, 0);
    hn_pool_destroy(b.pool);
    assert_int_equal(hn_pool_create(&b.pool, threads, &scratch_mem, &err), HONE_OK);
    b.how.engine.pool = b.pool;
    if (hn_transform_awq(&b.c, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_int_equal(b.c.changed, 1);
    hn_tensor *w =
        hn_tensor_ref(hn_graph_value(m->graph, "q")->producer->inputs[1].value->constant);
    method_end(&b);
    hn_model_destroy(m);
    return w;
}

static void threads_change_nothing(void **state) {
    (void)state;
    hn_tensor *one = by_threads(1), *three = by_threads(3);
    assert_true(hn_tensor_equal(one, three));
    hn_tensor_unref(one);
    hn_tensor_unref(three);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    for (long long k = 0; status != HONE_OK; k += k < 200 ? 1 : 37) {
        hn_model *m = uneven(3);
        method_bench b;
        hn_error err;
        begin(&b, m, 0);
        scratch_mem.fail_after = k;
        status = hn_transform_awq(&b.c, &err);
        scratch_mem.fail_after = -1;
        method_end(&b);
        hn_model_destroy(m);
        if (status != HONE_OK) assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_inputs_count_more),   cmocka_unit_test(grids_are_chosen_by_inputs),
        cmocka_unit_test(what_must_stay_stays),      cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
