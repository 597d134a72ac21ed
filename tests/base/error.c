#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void names_and_texts(void **state) {
    (void)state;
    assert_string_equal(hone_status_name(HONE_OK), "HONE_OK");
    assert_string_equal(hone_status_name(HONE_E_SHAPE), "HONE_E_SHAPE");
    assert_string_equal(hone_status_text(HONE_E_SHAPE), "incompatible shapes");
    assert_string_equal(hone_status_name((hone_status)999), "HONE_?");
    assert_string_equal(hone_status_text((hone_status)999), "unknown status");
}

static void numbers_are_pinned(void **state) {
    (void)state;
    assert_int_equal(HONE_OK, 0);
    assert_int_equal(HONE_E_NOMEM, 10);
    assert_int_equal(HONE_E_ARG, 20);
    assert_int_equal(HONE_E_MODEL, 30);
    assert_int_equal(HONE_E_UNSUPPORTED, 40);
}

static void fail_writes_one_line(void **state) {
    (void)state;
    hn_error err;
    assert_int_equal(hn_fail(&err, HONE_E_ARG, "axis %d of '%s'", 3, "a\nb\x7f\tc"), HONE_E_ARG);
    assert_int_equal(err.status, HONE_E_ARG);
    assert_string_equal(err.text, "axis 3 of 'a?b??c'");
    assert_int_equal(hn_fail(NULL, HONE_E_IO, "nobody listens"), HONE_E_IO);
    hn_fail(&err, HONE_E_ARG, "caf\xc3\xa9");
    assert_string_equal(err.text, "caf\xc3\xa9");
}

static void long_message_is_cut(void **state) {
    (void)state;
    hn_error err;
    char name[3000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    hn_fail(&err, HONE_E_ARG, "%s", name);
    assert_int_equal(strlen(err.text), HONE_ERROR_TEXT - 1);
    /* A cut head leaves room for the message. */
    hn_fail(&err, HONE_E_SHAPE, "the message");
    hn_error_context(&err, "%s", name);
    assert_string_equal(err.text + 300, ": the message");
    assert_int_equal(err.status, HONE_E_SHAPE);
}

static void context_goes_in_front(void **state) {
    (void)state;
    hn_error err;
    hn_fail(&err, HONE_E_MODEL, "no input 'x'");
    hn_error_context(&err, "node '%s'", "n1");
    hn_error_context(&err, "m.onnx");
    assert_string_equal(err.text, "m.onnx: node 'n1': no input 'x'");
    assert_int_equal(err.status, HONE_E_MODEL);
    hn_error_context(NULL, "nobody listens");
}

static hone_status checked(hn_error *err, int value, int *reached) {
    HN_CHECK(err, value != 1, HONE_E_ARG, "value is %d", value);
    HN_TRY(value == 2 ? HONE_E_IO : HONE_OK);
    *reached += 1;
    return HONE_OK;
}

static hone_status cleaned(hn_error *err, int value, int *cleanups) {
    hone_status status = HONE_OK;
    HN_CHECK_GOTO(err, value != 1, HONE_E_ARG, "value is %d", value);
    HN_TRY_GOTO(value == 2 ? HONE_E_IO : HONE_OK);
fail:
    *cleanups += 1;
    return status;
}

static void macros_leave_early(void **state) {
    (void)state;
    hn_error err;
    int reached = 0, cleanups = 0;
    assert_int_equal(checked(&err, 1, &reached), HONE_E_ARG);
    assert_string_equal(err.text, "value is 1");
    assert_int_equal(checked(&err, 2, &reached), HONE_E_IO);
    assert_int_equal(reached, 0);
    assert_int_equal(checked(&err, 3, &reached), HONE_OK);
    assert_int_equal(reached, 1);
    assert_int_equal(cleaned(&err, 1, &cleanups), HONE_E_ARG);
    assert_int_equal(cleaned(&err, 2, &cleanups), HONE_E_IO);
    assert_int_equal(cleaned(&err, 3, &cleanups), HONE_OK);
    assert_int_equal(cleanups, 3);
    assert_int_equal(HN_NOMEM(&err), HONE_E_NOMEM);
    assert_string_equal(err.text, "out of memory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_texts),       cmocka_unit_test(numbers_are_pinned),
        cmocka_unit_test(fail_writes_one_line),  cmocka_unit_test(long_message_is_cut),
        cmocka_unit_test(context_goes_in_front), cmocka_unit_test(macros_leave_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
