#include "formats/dataset_text.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool f64(const char *text, double *v) { return hn_text_f64(text, strlen(text), v); }
static bool s64(const char *text, int64_t *v) { return hn_text_s64(text, strlen(text), v); }

static void test_f64(void **state) {
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* where it exists: a decimal comma must change nothing */
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},  {"-1.5", -1.5}, {"+2", 2},        {"1e3", 1000}, {".5", 0.5},
                {"5.", 5}, {"1E-2", 0.01}, {"0.485", 0.485}, {"1e-400", 0}};
    static const char *const bad[] = {"",  " 1", "1 ", "1,5", "inf", "nan", "0x10", "1e999",
                                      "-", "e",  "1e", "1e+", "1-2", "--1", "1.2.3"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double v = 99;
        assert_true(f64(good[i].text, &v));
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double v = 99;
        if (f64(bad[i], &v)) fail_msg("'%s' was read as %g", bad[i], v);
        assert_true(v == 99);
    }
    double v = 0;
    assert_true(hn_text_f64("12345", 2, &v) && v == 12); /* the text ends where its length says */
    char longest[64];
    memset(longest, '0', sizeof longest);
    assert_true(hn_text_f64(longest, 63, &v));
    assert_false(hn_text_f64(longest, 64, &v));
}

static void test_s64(void **state) {
    (void)state;
    int64_t v = 0;
    assert_true(s64("9223372036854775807", &v) && v == INT64_MAX);
    assert_true(s64("-9223372036854775808", &v) && v == INT64_MIN);
    assert_true(s64("+7", &v) && v == 7);
    static const char *const bad[] = {
        "", "-", "+", "1.0", "1e3", " 1", "9223372036854775808", "-9223372036854775809", "\xb2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (s64(bad[i], &v)) fail_msg("'%s' was read", bad[i]);
}

static void test_rows(void **state) {
    (void)state;
    static const char text[] = "\n a , b,\r\n \t\n,\nlast";
    static const struct {
        int64_t line;
        int n;
        const char *cells[3];
    } want[] = {{2, 3, {"a", "b", ""}}, {4, 2, {"", ""}}, {5, 1, {"last"}}};
    hn_rows rows = hn_rows_of(text, sizeof text - 1);
    hn_row row;
    for (size_t r = 0; r < sizeof want / sizeof want[0]; r++) {
        assert_true(hn_rows_next(&rows, &row));
        assert_int_equal(rows.line, want[r].line);
        assert_int_equal(hn_row_count(row), want[r].n);
        const char *cell;
        size_t n;
        for (int c = 0; c < want[r].n; c++) {
            assert_true(hn_row_next(&row, &cell, &n));
            assert_int_equal(n, strlen(want[r].cells[c]));
            assert_memory_equal(cell, want[r].cells[c], n);
        }
        assert_false(hn_row_next(&row, &cell, &n));
    }
    assert_false(hn_rows_next(&rows, &row));
    rows = hn_rows_of("", 0);
    assert_false(hn_rows_next(&rows, &row));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f64), cmocka_unit_test(test_s64),
                                       cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
