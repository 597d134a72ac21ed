#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

static void test_rows(void **state) {
    (void)state;
    /* Headings, blank lines, spaces, a carriage return, a byte order mark, no line break at the
     * end. */
    const char *path = scratch_put_text(
        "a.csv", "\xef\xbb\xbfwidth,height,class\n1, 2.5 ,0\r\n\n-3e2,.5,7\n  \n4,5,-1");
    hn_dataset *ds = data_open("csv:%s", path);
    assert_int_equal(hn_dataset_count(ds), 3);
    const hn_dataset_field *f = hn_dataset_field_at(ds, 0);
    assert_null(f->name);
    assert_int_equal(f->rank, 1);
    assert_int_equal(f->dims[0], 2);
    float x[6];
    const float want[6] = {1, 2.5f, -300, 0.5f, 4, 5};
    data_fill(ds, 0, 3, 1, DIMS(2), x);
    assert_memory_equal(x, want, sizeof x);
    int64_t labels[3];
    assert_int_equal(hn_dataset_labels(ds, 0, 3, labels, NULL), HONE_OK);
    assert_int_equal(labels[0], 0);
    assert_int_equal(labels[1], 7);
    assert_int_equal(labels[2], -1);
    hn_dataset_close(ds);
    ds =
        data_open("csv:%s", scratch_put_text("plain.csv", "1,2,3\n")); /* numbers are no headings */
    assert_int_equal(hn_dataset_count(ds), 1);
    hn_dataset_close(ds);
    char spec[600];
    snprintf(spec, sizeof spec, "csv:%s", path);
    data_count_down(spec);
}

/* The last columns are numbers to be met, of any kind. */
static void test_targets(void **state) {
    (void)state;
    const char *path = scratch_put_text("t.csv", "a,b,c\n1,2.5,3\n4,5,-0.5\n");
    hn_dataset *ds = data_open("csv:%s,targets=2", path);
    assert_false(hn_dataset_has_labels(ds));
    assert_int_equal(hn_dataset_n_targets(ds), 1);
    const hn_dataset_field *t = hn_dataset_target_at(ds, 0);
    assert_true(t->dtype == HONE_DTYPE_F64 && t->rank == 1 && t->dims[0] == 2);
    float x[2];
    double y[4];
    data_fill(ds, 0, 2, 1, DIMS(1), x);
    assert_true(x[0] == 1 && x[1] == 4);
    assert_int_equal(hn_dataset_targets(ds, 0, 0, 2, y, NULL), HONE_OK);
    assert_memory_equal(y, ((const double[]){2.5, 3, 5, -0.5}), sizeof y);
    hn_dataset_close(ds);
    data_expect_error(HONE_E_ARG, "'3' is not a number of columns below the 3", "csv:%s,targets=3",
                      path);
    data_expect_error(HONE_E_ARG, "'c' is not a number of columns", "csv:%s,targets=c", path);
    data_expect_error(HONE_E_ARG, "targets: nothing is named", "csv:%s,targets=", path);
}

static void test_errors(void **state) {
    (void)state;
#define BAD(text, rows) \
    data_expect_error(HONE_E_FORMAT, text, "csv:%s", scratch_put_text("bad.csv", rows))
    BAD("has no rows", "");
    BAD("has no rows", "a,b\n");
    BAD("line 1 has one column", "1\n2\n");
    BAD("line 3 has 2 columns, line 1 has 3", "1,2,3\n4,5,6\n7,8\n");
    BAD("line 2 has 4 columns, line 1 has 3", "a,b,c\n1,2,3,4\n");
    BAD("line 2, column 1: 'x' is not a number", "1,2\nx,3\n");
    BAD("line 1, column 2: '' is not a number", "1,,3\n");
    BAD("line 1, column 1: 'nan' is not a number", "nan,1\n");
    BAD("line 1, column 1: '1e999' is not a number", "1e999,1\n");
    BAD("line 1, column 2: '1.5' is not a label", "1,1.5\n");
    BAD("line 1, column 2: '' is not a label", "1,\n");
    BAD("line 1, column 1: '0x10' is not a number", "0x10,1\n");
}

static void test_real(void **state) {
    (void)state;
    const char *path = scratch_asset("data/digits.csv");
    if (path == NULL) skip();
    hn_dataset *ds = data_open("csv:%s", path);
    assert_int_equal(hn_dataset_count(ds), 1797);
    float x[64], sum = 0;
    int64_t label;
    data_fill(ds, 1796, 1, 3, DIMS(1, 8, 8), x);
    for (int i = 0; i < 64; i++) sum += x[i];
    assert_true(sum == 392);
    assert_int_equal(hn_dataset_labels(ds, 1796, 1, &label, NULL), HONE_OK);
    assert_int_equal(label, 8);
    hn_dataset_close(ds);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_rows),
        TEST(test_targets),
        TEST(test_errors),
        TEST(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
