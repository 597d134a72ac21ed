/* What is counted of a model without running it, whatever its names and sizes are. */
#include "advise/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ir.h"
#include "support/graph.h"
#include "support/scratch.h"

typedef struct counted {
    hn_model *model;
    hn_arena arena;
    hn_counts c;
} counted;

/* Of a model that takes images of so many rows by an input of that name. */
static void begin(counted *k, const char *input, int64_t rows) {
    char text[200];
    hn_error err;
    snprintf(text, sizeof text,
             "g (float[n,3,%lld,64] x) => (float[n,3,%lld,64] y) { y = Relu (x) }", (long long)rows,
             (long long)rows);
    k->model = graph_model(17, text);
    if (strcmp(input, "x") != 0)
        assert_int_equal(hn_value_rename(k->model->graph->inputs[0], input, &err), HONE_OK);
    hn_arena_init(&k->arena, &scratch_mem, HN_MEM_OTHER);
    if (hn_counts_make(&k->c, k->model, NULL, 0, 8, &k->arena, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

static void end(counted *k) {
    hn_arena_deinit(&k->arena);
    hn_model_destroy(k->model);
}

/* Commands are for a shell: a name is quoted where it must be, and one that quotes do not help is
 * in no command. */
static void names_become_words(void **state) {
    (void)state;
    counted k;
    begin(&k, "x.1/in", 64);
    assert_string_equal(k.c.set_batch, " --set-dim x.1/in:0=8");
    assert_string_equal(k.c.set_smaller, " --set-dim x.1/in:2=45 --set-dim x.1/in:3=45");
    end(&k);
    begin(&k, "the $in[0]", 64);
    assert_string_equal(k.c.set_batch, " --set-dim 'the $in[0]:0=8'");
    end(&k);
    static const char *const others[] = {"it's", "two\nlines", "\033[31m"};
    for (int i = 0; i < 3; i++) {
        begin(&k, others[i], 64);
        assert_string_equal(k.c.set_batch, "");
        assert_string_equal(k.c.set_smaller, "");
        end(&k);
    }
}

static void sizes_may_be_huge(void **state) {
    (void)state;
    counted k;
    begin(&k, "x", INT64_MAX / 4);
    assert_string_equal(k.c.smaller, "2305843009213693951 x 64 to 1647030720866924250 x 45");
    assert_true(k.c.pixels > 0.49 && k.c.pixels < 0.52);
    end(&k);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(names_become_words), TEST(sizes_may_be_huge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
