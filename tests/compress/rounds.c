/* Lines that ask for rounds become the lines that they stand for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compress/rounds.h"
#include "support/scratch.h"

static hn_error err;

static void ramps(void **state) {
    (void)state;
    assert_true(fabs(hn_ramp_at("linear", 0.8, 1, 4) - 0.2) < 1e-12);
    assert_true(fabs(hn_ramp_at("cubic", 0.8, 1, 2) - 0.7) < 1e-12);
    assert_true(fabs(hn_ramp_at("share", 0.75, 1, 2) - 0.5) < 1e-12);
    for (int i = 0; hn_ramp_word(i) != NULL; i++) {
        assert_true(hn_ramp_at(hn_ramp_word(i), 0.9, 7, 7) == 0.9);
        for (int k = 1; k < 7; k++)
            assert_true(hn_ramp_at(hn_ramp_word(i), 0.9, k, 7) <
                        hn_ramp_at(hn_ramp_word(i), 0.9, k + 1, 7));
    }
}

static void lines(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"simplify; prune kind=taylor sparsity=0.8 rounds=2; train epochs=3; quantize",
         "simplify; prune kind=taylor sparsity=0.7; train epochs=3; prune kind=taylor "
         "sparsity=0.8; "
         "train epochs=3; quantize"},
        {"prune sparsity=0.75 rounds=2 ramp=share ticket=5; train batch=8 keep=1; cluster",
         "train batch=8 keep=5; prune sparsity=0.5; rewind; train batch=8; prune sparsity=0.75; "
         "rewind; train batch=8; cluster"},
        {"prune rounds=1; train", "prune rounds=1; train"},
        {"prune layer-sparsity:a*=0.8 layer-sparsity:b=0.5 rounds=2 ramp=linear; train",
         "prune layer-sparsity:a*=0.4 layer-sparsity:b=0.25; train; prune layer-sparsity:a*=0.8 "
         "layer-sparsity:b=0.5; train"},
        {"prune; cluster", "prune; cluster"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_arena arena;
        hn_recipe r;
        char text[400] = "hone recipe 2; ", *line;
        hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
        strcat(text, cases[i].from);
        if (hn_recipe_read(&r, text, &arena, &err) != HONE_OK) fail_msg("%s", err.text);
        assert_int_equal(hn_rounds_expand(&r, &err), HONE_OK);
        assert_int_equal(hn_recipe_write(&r, true, &arena, &line, &err), HONE_OK);
        assert_string_equal(line + strlen("hone recipe 2; "), cases[i].to);
        hn_arena_deinit(&arena);
    }
}

static void wrong_lines(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"prune rounds=3", "wants training between them"},
        {"prune rounds=3; cluster; train", "wants training between them"},
        {"prune rounds=40; train", "more than 64 transforms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_arena arena;
        hn_recipe r;
        char text[200] = "hone recipe 2; ";
        hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
        strcat(text, cases[i][0]);
        assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_OK);
        assert_int_equal(hn_rounds_expand(&r, &err), HONE_E_ARG);
        if (strstr(err.text, cases[i][1]) == NULL) fail_msg("%s", err.text);
        hn_arena_deinit(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ramps),
        cmocka_unit_test(lines),
        cmocka_unit_test(wrong_lines),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
