/* Every architecture: its parameters and multiply-accumulates are the published ones, and its text
 * and names are what they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/made.h"
#include "support/scratch.h"

static const struct row {
    bool large;
    const char *name, *settings;
    int64_t params, macs;
    const char *output;
} rows[] = {
#define ROW(large, name, settings, params, macs, output) \
    {large, name, settings, params, macs, output},
#include "make/architectures.def"
#undef ROW
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void counts_are_the_published_ones(void **state) {
    (void)state;
    for (int i = 0; i < N_ROWS; i++)
        if (!rows[i].large)
            made_counts(rows[i].name, rows[i].settings, rows[i].params, rows[i].macs,
                        rows[i].output);
}

static void all_are_counted(void **state) {
    (void)state;
    for (int i = 0; i < hn_n_architectures; i++) {
        bool found = false;
        for (int k = 0; k < N_ROWS; k++)
            found = found || strcmp(rows[k].name, hn_architectures[i].name) == 0;
        if (!found) fail_msg("%s has no row here", hn_architectures[i].name);
    }
}

/* The text with its settings filled in makes the same model as the text and the settings. */
static void described_text_makes_the_same(void **state) {
    (void)state;
    hn_error err;
    hn_arena arena;
    char *text;
    const hn_architecture *a = hn_architecture_find("resnet20");
    const char *settings = "n=1 width=0.5 classes=7";
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(hn_make_describe(&text, a->name, a->text, strlen(a->text),
                                      &(hn_make_options){.settings = settings}, &arena, &err),
                     HONE_OK);
    assert_non_null(strstr(text, "number width = 0.5 from"));
    hn_model *x = made_architecture("resnet20", settings), *y = made_text(text, NULL);
    assert_int_equal(x->graph->n_values, y->graph->n_values);
    for (int i = 0; i < x->graph->n_values; i++) {
        const hn_value *u = x->graph->values[i], *v = y->graph->values[i];
        assert_string_equal(u->name, v->name);
        if (u->constant != NULL) assert_true(hn_tensor_equal(u->constant, v->constant));
    }
    hn_arena_deinit(&arena);
    hn_model_destroy(x);
    hn_model_destroy(y);
}

/* Names are those PyTorch gives. */
static void names_are_readable(void **state) {
    (void)state;
    static const char *const names[] = {
        "conv1.weight",      "bn1.running_var", "layer1.0.conv1.weight",
        "layer3.2.bn2.bias", "fc.weight",       "input"};
    hn_model *m = made_architecture("resnet20", NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hn_graph_value(m->graph, names[i]) == NULL) fail_msg("there is no %s", names[i]);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_the_published_ones, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(all_are_counted),
        cmocka_unit_test_setup_teardown(described_text_makes_the_same, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(names_are_readable, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
