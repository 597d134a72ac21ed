#include "compress/shrinking.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ops/nodes.h"
#include "support/method_model.h"
#include "support/scratch.h"

#define THREE                                                                                      \
    "m (float[n,4] x, float[4,6] w1, float[6,6] w2, float[6,2] w3) => (float[n,2] y) {"            \
    " [first] a = MatMul (x, w1) [\"head.a\"] b = MatMul (a, w2) [\"head.b\"] y = MatMul (b, w3) " \
    "}"

/* Rows and what is kept, many times over, so that lists grow. */
static void rows_and_marks_are_kept(void **state) {
    (void)state;
    hn_shrinking s;
    hn_transform_ctx c = {.shrinking = &s};
    hn_error err;
    char name[32];
    hn_shrinking_init(&s, &scratch_mem);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "w%d", i);
        hn_shrunk_layer row = {.transform = "prune", .layer = name, .weights = i, .error = NAN};
        assert_int_equal(hn_shrinking_tell(&c, &row, &err), HONE_OK);
        assert_int_equal(hn_shrinking_keep(&c, name, HN_KEEPS_ZEROS, &err), HONE_OK);
    }
    assert_int_equal(hn_shrinking_keep(&c, "w50", HN_KEEPS_TIES, &err), HONE_OK);
    strcpy(name, "changed");
    assert_int_equal(s.n, 100);
    assert_int_equal(s.n_kept, 100);
    assert_string_equal(s.v[7].layer, "w7");
    assert_int_equal(hn_shrinking_keeps(&s, "w7"), HN_KEEPS_ZEROS);
    assert_int_equal(hn_shrinking_keeps(&s, "w50"), HN_KEEPS_ZEROS | HN_KEEPS_TIES);
    assert_int_equal(hn_shrinking_keeps(&s, "w100"), 0);
    assert_int_equal(hn_shrinking_keeps(NULL, "w7"), 0);
    hn_shrinking_deinit(&s);
}

static int count(const char *only, const char *except) {
    hn_model *m = method_model(THREE, 1);
    hn_arena arena;
    hn_weighted *layers;
    hn_error err;
    int n;
    method_bench b;
    method_begin(&b, m);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_SCRATCH);
    assert_int_equal(hn_shrinking_layers(&b.c, only, except, &arena, &layers, &n, &err), HONE_OK);
    hn_arena_deinit(&arena);
    method_end(&b);
    hn_model_destroy(m);
    return n;
}

static void patterns_choose_layers(void **state) {
    (void)state;
    assert_int_equal(count(NULL, NULL), 3);
    assert_int_equal(count("first", NULL), 1);
    assert_int_equal(count("first,head.b", NULL), 2);
    assert_int_equal(count(NULL, "head*"), 1);
    assert_int_equal(count("head*", "none,*.b"), 1);
    assert_int_equal(count("", NULL), 0);
}

/* The constant of another model that shares it stays as it was. */
static void an_edit_is_a_copy(void **state) {
    (void)state;
    hn_model *m = method_model(THREE, 1), *copy = method_copy(m);
    hn_arena arena;
    hn_weighted *layers;
    hn_error err;
    int n;
    float *v, was = method_weight(m, "w1")[3];
    method_bench b;
    method_begin(&b, copy);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_SCRATCH);
    assert_int_equal(hn_shrinking_layers(&b.c, "first", NULL, &arena, &layers, &n, &err), HONE_OK);
    assert_int_equal(n, 1);
    assert_int_equal(hn_shrinking_edit(&b.c, &layers[0], &v, &err), HONE_OK);
    assert_true(v[3] == was);
    v[3] = 77;
    assert_true(method_weight(copy, "w1")[3] == 77);
    assert_true(method_weight(m, "w1")[3] == was);
    hn_arena_deinit(&arena);
    method_end(&b);
    hn_model_destroy(copy);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_and_marks_are_kept, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(patterns_choose_layers, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(an_edit_is_a_copy, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
