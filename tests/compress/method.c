#include "compress/method.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void rows_are_sorted_and_found(void **state) {
    (void)state;
    for (int i = 0; i < hn_method_count(); i++) {
        const hn_method *m = hn_method_at(i);
        assert_ptr_equal(hn_method_named(m->name), m);
        assert_non_null(m->run);
        assert_true(strlen(m->help) > 10);
        if (i > 0) assert_true(strcmp(hn_method_at(i - 1)->name, m->name) < 0);
    }
}

static void what_is_no_method_is_not_found(void **state) {
    (void)state;
    assert_null(hn_method_named("no such method"));
    assert_null(hn_method_named(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_found),
        cmocka_unit_test(what_is_no_method_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
