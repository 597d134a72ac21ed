/* What is known of other runtimes: a row for everything that could be asked. */
#include "advise/runtimes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/layer_type.h"
#include "support/graph.h"
#include "support/scratch.h"

static const hn_candidate *named(const char *name) {
    const hn_candidate *c;
    for (int i = 0; (c = hn_candidate_at(i)) != NULL; i++)
        if (strcmp(c->name, name) == 0) return c;
    fail_msg("there is no candidate '%s'", name);
    return NULL;
}

static hn_arena arena;

static const hn_rule *rule_of(const char *runtime, const hn_candidate *c) {
    hn_recipe r;
    hn_compress_plan p;
    assert_int_equal(hn_candidate_recipe(c, 1, &arena, &r, &p, NULL), HONE_OK);
    return hn_rule_of(runtime, &r);
}

static void every_runtime_has_a_row_for_every_type(void **state) {
    (void)state;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    for (int i = 0; i < hn_quant_target_count(); i++) {
        const char *runtime = hn_quant_target_at(i)->name;
        const hn_candidate *c;
        if (strcmp(runtime, "hone") == 0) continue;
        for (int k = 0; (c = hn_candidate_at(k)) != NULL; k++) {
            const hn_rule *r = rule_of(runtime, c);
            assert_string_equal(r->runtime, runtime);
            assert_true(strcmp(r->type, "f32") == 0 || strstr(c->recipe, r->type) != NULL);
        }
    }
    hn_arena_deinit(&arena);
}

static void a_mix_needs_all_of_its_types(void **state) {
    (void)state;
    static const struct {
        const char *runtime, *candidate;
        hn_rule_gain gain;
    } cases[] = {
        {"onnxruntime", "int8", HN_RULE_FASTER},    {"onnxruntime", "bf16", HN_RULE_NO},
        {"onnxruntime", "f16", HN_RULE_NO},         {"onnxruntime", "mixed", HN_RULE_FASTER},
        {"onnxruntime", "mixed-bf16", HN_RULE_NO},  {"onnxruntime", "int8-int4", HN_RULE_NO},
        {"openvino", "mixed-bf16", HN_RULE_FASTER}, {"openvino", "int8-dynamic", HN_RULE_NO},
        {"tensorrt", "f16", HN_RULE_FASTER},        {"elsewhere", "int8", HN_RULE_NO}};
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(rule_of(cases[i].runtime, named(cases[i].candidate))->gain, cases[i].gain);
    hn_arena_deinit(&arena);
}

static void most_weights_tell_what_a_model_is(void **state) {
    (void)state;
    static const char products[] =
        "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }";
    static const char images[] =
        "g (float[1,1,3,3] x) => (float[1,1,2,2] y) <float[1,1,2,2] w = {1, 2, 3, 4}> {"
        " y = Conv (x, w) }";
    for (int i = 0; i < 2; i++) {
        hn_model *m = graph_model(21, i == 0 ? products : images);
        assert_int_equal(hn_rule_is_of_products(m->graph), i == 0);
        hn_model_destroy(m);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_runtime_has_a_row_for_every_type),
        TEST(a_mix_needs_all_of_its_types),
        TEST(most_weights_tell_what_a_model_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
