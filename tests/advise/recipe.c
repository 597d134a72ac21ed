#include "advise/recipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char whole[] =
    "hone recipe 1\n"
    "name int8 with a head of its own\n"
    "layer '*' static s8:symmetric:channel u8\n"
    "layer 'it's the head*' f32\n"
    "layer 'fc?' weights s4:bits=3:symmetric:group=64\n"
    "layer 'last' bf16\n"
    "embeddings\n"
    "for openvino\n"
    "ranges percentile\n"
    "method equalize\n"
    "seed 18446744073709551615\n"
    "source " SHA
    "\n"
    "calibration 512 " SHA "\n";

static void a_text_is_read_and_written_as_it_was(void **state) {
    (void)state;
    hn_arena arena;
    hn_recipe r;
    hn_error err;
    char *text;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    if (hn_recipe_read(&r, whole, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
    assert_string_equal(r.name, "int8 with a head of its own");
    assert_int_equal(r.layer.kind, HN_LAYER_STATIC);
    assert_true(r.layer.weights.symmetric && r.layer.weights.per_channel);
    assert_int_equal(r.layer.activations.dtype, HONE_DTYPE_U8);
    assert_int_equal(r.layer.activations.bits, 8);
    assert_false(r.layer.activations.symmetric);
    assert_int_equal(r.n_rules, 3);
    assert_string_equal(r.rules[0].name, "it's the head*");
    assert_int_equal(r.rules[1].layer.weights.bits, 3);
    assert_int_equal(r.rules[1].layer.weights.group, 64);
    assert_int_equal(r.rules[2].layer.kind, HN_LAYER_BF16);
    assert_string_equal(r.runtime->name, "openvino");
    assert_int_equal(r.ranges, HN_RANGE_PERCENTILE);
    assert_int_equal(r.n_methods, 1);
    assert_string_equal(r.methods[0]->name, "equalize");
    assert_true(r.seed == UINT64_MAX && r.embeddings && r.samples == 512);
    assert_string_equal(r.calibration, SHA);
    assert_int_equal(hn_recipe_write(&r, &arena, &text, &err), HONE_OK);
    assert_string_equal(text, whole);
    hn_arena_deinit(&arena);
}

/* What people write behind it, and a name with a line break in it. */
static void remarks_and_odd_names(void **state) {
    (void)state;
    hn_arena arena;
    hn_recipe r, again;
    char *text;
    hn_scheme_rule rule = {"a\nb", {.kind = HN_LAYER_F16}};
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_recipe_read(&r, "hone recipe 1\n\n# seed 5\nlayer '*' f32\n", &arena, NULL),
                     HONE_OK);
    assert_int_equal(r.seed, 1);
    assert_false(hn_recipe_needs_data(&r));
    r.rules = &rule;
    r.n_rules = 1;
    assert_int_equal(hn_recipe_write(&r, &arena, &text, NULL), HONE_OK);
    assert_int_equal(hn_recipe_read(&again, text, &arena, NULL), HONE_OK);
    assert_string_equal(again.rules[0].name, "a?b"); /* which matches it */
    hn_arena_deinit(&arena);
}

static void damaged_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"layer * f32", "line 2: found '* f32', a name in quotes"},
        {"layer 'conv1' f32", "found 'conv1', '*' as the first layer"},
        {"layer '*' int8", "found 'int8', f32, bf16, static"},
        {"layer '*' static s9", "found 's9', a type such as"},
        {"layer '*' static s8:wide", "found 'wide', symmetric, channel"},
        {"layer '*' static s8:bits=9", "found 'bits=9'"},
        {"layer '*' static s8 u8 u8", "found 'u8', the end of the line"},
        {"ranges widest", "found 'widest'"},
        {"method magic", "found 'magic', a method"},
        {"seed -1", "found '-1', a whole number"},
        {"source 12", "found '12', a SHA-256"},
        {"calibration 0 " SHA, "found '0', a number of samples"},
        {"colour red", "found 'colour', name, layer"},
        {"name", "found 'nothing', a short name"},
        {"", "there is no line layer '*'"},
        {"layer '*' static s8 u8", "there is no line calibration"},
    };
    hn_arena arena;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    hn_recipe r;
    hn_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, "hone recipe 1\n%s\n", bad[i].line);
        assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_E_FORMAT);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].says);
    }
    assert_int_equal(hn_recipe_read(&r, "PK\003\004", &arena, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "'hone recipe 1' is wanted"));
    hn_arena_deinit(&arena);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_text_is_read_and_written_as_it_was),
        TEST(remarks_and_odd_names),
        TEST(damaged_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
