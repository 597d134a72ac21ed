#include "compress/weighted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_model.h"
#include "support/weights.h"

static const hn_layer_scheme s8 = {.kind = HN_LAYER_STATIC,
                                   .weights = {HONE_DTYPE_S8, 8, true, true, 0, false},
                                   .activations = {HONE_DTYPE_U8, 8, false, false, 0, false}};

static hn_model *model_of(const char *text) {
    hn_model *m = model_inferred(text);
    make_weights(m, 1);
    return m;
}

static int layers(hn_model *m, const hn_scheme *s, hn_arena *arena, hn_weighted **out) {
    hn_error err;
    int n;
    hn_arena_init(arena, &model_mem, HN_MEM_OTHER);
    if (hn_weighted_layers(m, s, arena, out, &n, &err) != HONE_OK) fail_msg("%s", err.text);
    return n;
}

static void axes_of_every_operator(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,4,8,8] x, float[3,5] y, float[6,4,1,1] w1, float[6] b1, float[6,1,3,3] w2,"
        "   float[6,2,2,2] w3, float[7,5] w4, float[7,8] w5, float[9,8] w6)"
        "=> (float[o,p,q,r] d, float[s,t] j)"
        "{ a = Conv (x, w1, b1)  c = Conv <group: int = 6> (a, w2)  d = ConvTranspose (c, w3)"
        "  e = Gemm <transB: int = 1> (y, w4)  f = Gemm (e, w5)"
        "  t = Transpose (w6)  i = Identity (t)  h = MatMul (f, i)"
        "  u = Transpose (h)  j = MatMul (u, h) }");
    hn_scheme s = {.layer = s8};
    s.layer.kind = HN_LAYER_WEIGHTS;
    hn_arena arena;
    hn_weighted *w;
    assert_int_equal(layers(m, &s, &arena, &w), 6);
    static const struct {
        const char *weight;
        int channel, sum;
    } want[] = {{"w1", 0, 1}, {"w2", 0, -1}, {"w3", 1, 0},
                {"w4", 0, 1}, {"w5", 1, 0},  {"w6", 0, 1}};
    for (int i = 0; i < 6; i++) {
        assert_string_equal(w[i].weight->name, want[i].weight);
        assert_int_equal(w[i].channel_axis, want[i].channel);
        assert_int_equal(w[i].sum_axis, want[i].sum);
    }
    assert_string_equal(w[0].input->name, "x");
    assert_string_equal(w[0].bias->name, "b1");
    assert_null(w[1].bias);
    hn_arena_deinit(&arena);
}

static void rules_say_which(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,4] x, float[4,4] w) => (float[1,4] d)"
        "{ a = MatMul (x, w)  b = MatMul (a, w)  c = MatMul (b, w)"
        "  d = MatMul (c, w) }");
    hn_layer_scheme left = {.kind = HN_LAYER_F32}, weights = s8;
    weights.kind = HN_LAYER_WEIGHTS;
    hn_scheme_rule rules[] = {{"b", left}, {"c*", left}, {"c", weights}};
    hn_scheme s = {.layer = s8, .n_rules = 3, .rules = rules};
    hn_arena arena;
    hn_weighted *w;
    assert_int_equal(layers(m, &s, &arena, &w), 3);
    assert_int_equal(w[0].scheme.kind, HN_LAYER_STATIC);
    assert_string_equal(w[1].node->outputs[0]->name, "c");
    assert_int_equal(w[1].scheme.kind, HN_LAYER_WEIGHTS);
    assert_string_equal(w[2].node->outputs[0]->name, "d");
    hn_arena_deinit(&arena);
}

/* Groups are of one size where that makes no more of them. */
static void groups_are_even(void **state) {
    (void)state;
    static const struct {
        int64_t n, asked, want;
    } cases[] = {{128, 64, 64}, {3, 64, 3},   {96, 64, 48}, {100, 64, 64},
                 {97, 64, 64},  {64, 64, 64}, {8, 0, 0},    {80, 32, 32}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        long long n = cases[i].n;
        snprintf(text, sizeof text,
                 "m (float[1,%lld] x, float[%lld,4] w) => (float[1,4] y) { y = MatMul (x, w) }", n,
                 n);
        hn_model *m = model_of(text);
        hn_scheme s = {.layer = s8};
        s.layer.kind = HN_LAYER_WEIGHTS;
        s.layer.weights.group = cases[i].asked;
        hn_weighted w;
        assert_true(hn_weighted_of(m->graph->first, &s, &w, NULL));
        assert_int_equal(w.scheme.weights.group, cases[i].want);
    }
}

static void why_others_are_not_layers(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,4,8,8] x, float[4,4] y, float16[4,4] h, float[4,4,1,1] w, float16[4,4] w16,"
        "   float[4] wv, float[4,4] wk)"
        "=> (float[o,p,q,r] a, float[s,t,u,v] b, float[i,j] c, float16[k,l] d, float[m] e,"
        "    float[n,z] f)"
        "{ a = Conv (x, w)  b = ConvTranspose (x, w)  c = MatMul (y, y)  d = MatMul (h, w16)"
        "  e = MatMul (y, wv)  f = MatMul (wk, y) }");
    hn_scheme s = {.layer = s8};
    s.layer.kind = HN_LAYER_DYNAMIC;
    static const char *const want[] = {"convolutions are dynamic only where a rule names them",
                                       "no integer form of it",
                                       "a product of two activations",
                                       "the weight is not f32",
                                       "the weight is a vector",
                                       "the weight is computed"};
    hn_weighted w;
    const char *why;
    int i = 0;
    for (hn_node *n = m->graph->first; n != NULL; n = n->next, i++) {
        assert_false(hn_weighted_of(n, &s, &w, &why));
        assert_string_equal(why, want[i]);
    }
    hn_scheme_rule rule = {"a", s.layer};
    s.n_rules = 1;
    s.rules = &rule;
    assert_true(hn_weighted_of(m->graph->first, &s, &w, &why));
}

/* ConvInteger has no bias, and only a constant is known to be one of each channel. */
static void a_dynamic_convolution_has_no_computed_bias(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,4,8,8] x, float[4] c, float[4,4,1,1] w) => (float[1,4,8,8] y)"
        "{ y = Conv (x, w, c) }");
    hn_scheme_rule rule = {"y", s8};
    hn_scheme s = {.layer = s8, .n_rules = 1, .rules = &rule};
    hn_weighted w;
    const char *why;
    assert_true(hn_weighted_of(m->graph->first, &s, &w, &why));
    assert_null(w.bias);
    rule.layer.kind = HN_LAYER_DYNAMIC;
    assert_false(hn_weighted_of(m->graph->first, &s, &w, &why));
    assert_string_equal(why, "no dynamic form of it with a bias that is computed");
}

/* Below 8 bits an outlier is cut off where that leaves the others less error; of 8 bits it is the
 * scale. Groups of a depthwise weight are its channels. */
static void few_bits_are_spent_on_most_weights(void **state) {
    (void)state;
    hn_model *m = model_of(
        "m (float[1,1,8,8] x, float[1,1,8,8] w) => (float[n,p,q,r] y) { y = Conv (x, w) }");
    float *v = value_of(m, "w")->constant->data;
    for (int i = 0; i < 64; i++) v[i] = (float)(i % 8 - 4);
    v[0] = 7;
    hn_scheme s = {.layer = s8};
    hn_weighted w;
    hn_grid g;
    hn_error err;
    assert_true(hn_weighted_of(m->graph->first, &s, &w, NULL));
    assert_int_equal(hn_weighted_grid(&g, &w, NULL, &model_mem, &err), HONE_OK);
    assert_true(((float *)g.scale->data)[0] == (float)(7.0 / 127));
    hn_grid_deinit(&g);
    w.scheme.weights.bits = 3; /* codes from -3 to 3 */
    assert_int_equal(hn_weighted_grid(&g, &w, NULL, &model_mem, &err), HONE_OK);
    float scale = ((float *)g.scale->data)[0];
    assert_true(scale > 1 && scale < 1.5f);
    hn_grid_deinit(&g);
    w.scheme.weights.group = 16;
    w.sum_axis = -1;
    assert_int_equal(hn_weighted_grid(&g, &w, NULL, &model_mem, &err), HONE_OK);
    assert_int_equal(g.scale->n, 1);
    assert_int_equal(g.group_axis, -1);
    hn_grid_deinit(&g);
}

static void defaults_become_constants(void **state) {
    (void)state;
    hn_model *m = model_inferred(
        "m (float[1,4] x, float[4,4] w) => (float[1,4] y)"
        "{ y = MatMul (x, w) }");
    hn_error err;
    hn_tensor *t = tensor_of("float[4,4] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}");
    hn_value_set_constant(value_of(m, "w"), t);
    hn_scheme s = {.layer = s8};
    hn_weighted w;
    const char *why;
    assert_false(hn_weighted_of(m->graph->first, &s, &w, &why));
    assert_string_equal(why, "the weight is computed");
    assert_int_equal(hn_model_fix_defaults(m), 1);
    assert_int_equal(m->graph->n_inputs, 1);
    assert_true(hn_weighted_of(m->graph->first, &s, &w, &why));
    assert_int_equal(hn_model_verify(m, &err), HONE_OK);
    assert_int_equal(hn_model_fix_defaults(m), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, model_setup, model_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(axes_of_every_operator),
        TEST(rules_say_which),
        TEST(groups_are_even),
        TEST(why_others_are_not_layers),
        TEST(a_dynamic_convolution_has_no_computed_bias),
        TEST(few_bits_are_spent_on_most_weights),
        TEST(defaults_become_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
