#include "compress/rounded.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "compress/quantize.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define MODEL                                                            \
    "m (float[n,6] x, float[6,8] w1, float[8,4] w2, float[4,4] w3)"      \
    " => (float[n,4] y) { [a] h = MatMul (x, w1) [b] i = MatMul (h, w2)" \
    " [c] y = MatMul (i, w3) }"

static hn_error err;

static void methods_are_for_few_bits(void **state) {
    (void)state;
    const hn_layer_type *types[] = {hn_layer_type_named("int8"), hn_layer_type_named("w4a8"),
                                    hn_layer_type_named("f16")};
    assert_false(hn_rounded_serves(&types[0]->layer.weights, types, 3));
    assert_true(hn_rounded_serves(&types[1]->layer.weights, types, 3));
    assert_false(hn_rounded_serves(&types[2]->layer.weights, types, 3));
    assert_true(hn_rounded_serves(&types[0]->layer.weights, types, 1));
    hn_weighted layers[3];
    for (int i = 0; i < 3; i++)
        layers[i] = (hn_weighted){.channel_axis = i, .scheme = types[i == 1]->layer};
    assert_int_equal(hn_weighted_to_round(layers, 3), 1);
    assert_int_equal(layers[0].channel_axis, 1);
    layers[0].scheme = layers[1].scheme = types[0]->layer;
    assert_int_equal(hn_weighted_to_round(layers, 3), 3);
}

/* A model whose weights a method has made `by`, with a grid for each but w3. */
static void add_type(hn_rounded *r, const hn_model *m, const hn_layer_type *t, float by) {
    static const char *const names[] = {"w1", "w2", "w3"};
    hn_rounded_type *v = &r->v[r->n++];
    *v = (hn_rounded_type){t->layer.weights, method_copy(m)};
    for (int i = 0; i < 3; i++) {
        const hn_tensor *w = hn_graph_value(v->model->graph, names[i])->constant;
        hn_tensor *made;
        hn_grid g;
        assert_int_equal(hn_tensor_create(&made, &scratch_mem, HN_MEM_WEIGHTS, HONE_DTYPE_F32,
                                          w->rank, w->dims, &err),
                         HONE_OK);
        for (int64_t k = 0; k < w->n; k++) ((float *)made->data)[k] = by;
        hn_value_set_constant(hn_graph_value(v->model->graph, names[i]), made);
        if (i == 2) continue;
        assert_int_equal(
            hn_grid_create(&g, made, &t->layer.weights, 1, 0, NULL, &scratch_mem, &err), HONE_OK);
        assert_int_equal(hn_grids_set(r->grids, names[i], &g, &err), HONE_OK);
    }
}

static float first(const hn_model *m, const char *name) {
    return ((const float *)hn_graph_value(m->graph, name)->constant->data)[0];
}

/* Weights and grids are those of each layer's type; what methods left alone stays. */
static void layers_get_those_of_their_type(void **state) {
    (void)state;
    hn_model *was = method_model(MODEL, 1), *m = method_copy(was);
    hn_layer_type three = *hn_layer_type_named("w4a8");
    three.layer.weights.bits = 3;
    hn_rounded r = {.v = hn_alloc_zero(&scratch_mem, 2 * sizeof *r.v, HN_MEM_OTHER)};
    assert_int_equal(hn_grids_create(&r.grids, &scratch_mem, &err), HONE_OK);
    add_type(&r, was, hn_layer_type_named("w4a8"), 4);
    add_type(&r, was, &three, 3);
    hn_scheme_rule rules[] = {{"a", three.layer},
                              {"b", hn_layer_type_named("int8")->layer},
                              {"c", hn_layer_type_named("w4a8")->layer}};
    hn_scheme s = {.n_rules = 3, .rules = rules, .target = hn_quant_target_named("hone")};
    assert_int_equal(hn_rounded_apply(&r, m, &s, &err), HONE_OK);
    assert_true(first(m, "w1") == 3);
    assert_true(first(m, "w2") == first(was, "w2"));
    assert_true(first(m, "w3") == first(was, "w3"));
    rules[1].layer = hn_layer_type_named("w4a8")->layer;
    assert_int_equal(hn_rounded_apply(&r, m, &s, &err), HONE_OK);
    assert_true(first(m, "w2") == 4);
    const hn_qtype *four = &rules[1].layer.weights, *of = &three.layer.weights;
    assert_true(((const float *)hn_grids_of(r.grids, "w1", four)->scale->data)[0] == 4.0f / 7);
    assert_true(((const float *)hn_grids_of(r.grids, "w1", of)->scale->data)[0] == 1);
    assert_null(hn_grids_of(r.grids, "w3", four));
    hn_rounded_deinit(&r, &scratch_mem);
    hn_model_destroy(m);
    hn_model_destroy(was);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(methods_are_for_few_bits),
        TEST(layers_get_those_of_their_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
