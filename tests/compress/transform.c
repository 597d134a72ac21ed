#include "compress/transform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void rows_are_sorted_and_found(void **state) {
    (void)state;
    for (int i = 0; i < hn_transform_count(); i++) {
        const hn_transform *t = hn_transform_at(i);
        assert_ptr_equal(hn_transform_named(t->name), t);
        assert_non_null(t->run);
        assert_true(strlen(t->help) > 10);
        if (i > 0) assert_true(strcmp(hn_transform_at(i - 1)->name, t->name) < 0);
        bool trains = (t->needs & HN_NEEDS_TRAINING) != 0;
        bool shrinks = t->stage == HN_STAGE_SHRINK && t->params[0].name != NULL;
        bool texts = false; /* a text is checked by the plan */
        for (const hn_parameter *p = t->params; p->name != NULL; p++)
            texts = texts || p->kind == HN_PARAM_TEXT;
        assert_int_equal(t->plan != NULL, t->stage == HN_STAGE_WRITE || trains || shrinks || texts);
    }
    assert_null(hn_transform_named("no such transform"));
    assert_null(hn_transform_named(""));
}

/* Parameters take their usual values, words and limits, and nothing beyond these. */
static void parameters_say_what_they_take(void **state) {
    (void)state;
    hn_error err;
    char text[64];
    for (int i = 0; i < hn_transform_count(); i++) {
        for (const hn_parameter *p = hn_transform_at(i)->params; p->name != NULL; p++) {
            assert_ptr_equal(hn_transform_param(hn_transform_at(i), p->name), p);
            assert_true(strlen(p->help) > 10);
            if (p->usual != NULL) assert_int_equal(hn_param_check(p, p->usual, &err), HONE_OK);
            for (int k = 0; hn_param_word(p, k) != NULL; k++)
                assert_int_equal(hn_param_check(p, hn_param_word(p, k), &err), HONE_OK);
            bool number = p->kind == HN_PARAM_COUNT || p->kind == HN_PARAM_NUMBER;
            snprintf(text, sizeof text, "%.17g", p->most);
            if (number) assert_int_equal(hn_param_check(p, text, &err), HONE_OK);
            snprintf(text, sizeof text, "%.17g", p->most * 2 + 1);
            if (number) assert_int_equal(hn_param_check(p, text, &err), HONE_E_ARG);
            bool any = p->kind == HN_PARAM_TEXT || p->kind == HN_PARAM_FILE;
            if (p->kind == HN_PARAM_FLAG || any) continue;
            assert_int_equal(hn_param_check(p, "no such value", &err), HONE_E_ARG);
            assert_non_null(strstr(err.text, "'no such value', expected "));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_found),
        cmocka_unit_test(parameters_say_what_they_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
