#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

static void test_files(void **state) {
    (void)state;
    scratch_put("a.bin", "\1\0\2\0", 4);
    scratch_put("b2.bin", "\xff\xff\4\0", 4);
    scratch_put_text("y.csv", "a.bin,12,7\r\nb2.bin,12,3\n");
    hn_dataset *ds = data_open("raw:%s,labels=y.csv,dtype=s16,scale=0.5,mean=1", scratch_path(""));
    assert_int_equal(hn_dataset_count(ds), 2);
    assert_int_equal(hn_dataset_field_at(ds, 0)->dims[0], 2);
    float x[4];
    int64_t labels[2];
    data_fill(ds, 0, 2, 3, DIMS(1, 2, 1), x);
    assert_memory_equal(x, ((const float[]){-0.5f, 0, -1.5f, 1}), sizeof x);
    assert_int_equal(hn_dataset_labels(ds, 0, 2, labels, NULL), HONE_OK);
    assert_int_equal(labels[0], 7);
    assert_int_equal(labels[1], 3);

    /* A file that changes under us is noticed when it is read. */
    scratch_put("b2.bin", "\1", 1);
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 1, .dims = DIMS(2)};
    hn_error err;
    assert_int_equal(hn_dataset_fill(ds, 0, 1, 1, &want, x, &err), HONE_E_FORMAT);
    assert_non_null(strstr(err.text, "b2.bin' has 1 bytes; it had 4"));
    hn_dataset_close(ds);

    char spec[600];
    scratch_put_text("one.csv", "a.bin,0");
    /* The list may also lie elsewhere; without dtype, elements are bytes. */
    snprintf(spec, sizeof spec, "raw:%s,labels=%s", scratch_path(""), scratch_path("one.csv"));
    ds = data_open("%s", spec);
    assert_int_equal(hn_dataset_field_at(ds, 0)->dtype, HONE_DTYPE_U8);
    assert_int_equal(hn_dataset_field_at(ds, 0)->dims[0], 4);
    hn_dataset_close(ds);
    data_count_down(spec);
}

static void test_errors(void **state) {
    (void)state;
    scratch_put("a.bin", "1234", 4);
    scratch_put("b.bin", "123", 3);
    scratch_put("empty.bin", "", 0);
#define BAD(status, text, rows, keys)                                                     \
    do {                                                                                  \
        scratch_put_text("y.csv", rows);                                                  \
        data_expect_error(status, text, "raw:%s,labels=y.csv%s", scratch_path(""), keys); \
    } while (0)
    BAD(HONE_E_FORMAT, "has no rows", "\n", "");
    BAD(HONE_E_FORMAT, "line 2 has one column", "a.bin,1\nb.bin\n", "");
    BAD(HONE_E_FORMAT, "line 2, column 2: 'x' is not a label", "a.bin,1\na.bin,x\n", "");
    BAD(HONE_E_FORMAT, "has no rows", "file,label\n", "");
    BAD(HONE_E_FORMAT, "b.bin' has 3 bytes, 'a.bin' has 4", "a.bin,1\nb.bin,1\n", "");
    BAD(HONE_E_FORMAT, "b.bin' has 3 bytes, which is not a number of elements of type s16",
        "b.bin,1\n", ",dtype=s16");
    BAD(HONE_E_FORMAT, "empty.bin' has 0 bytes", "empty.bin,1\n", "");
    BAD(HONE_E_TYPE, "samples of type s4", "a.bin,1\n", ",dtype=s4");
    BAD(HONE_E_TYPE, "samples of type string", "a.bin,1\n", ",dtype=string");
    BAD(HONE_E_ARG, "no type is called 'int7'", "a.bin,1\n", ",dtype=int7");
    BAD(HONE_E_IO, "cannot find", "absent.bin,1\n", "");
    static const char *const outside[] = {"../a.bin,1", "/etc/hostname,1", "x/../../a.bin,1",
                                          "..,1", ",1"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        BAD(HONE_E_FORMAT, "is not the name of a file inside the folder", outside[i], "");
    data_expect_error(HONE_E_FORMAT, "b.bin' has 3 bytes, 'a.bin' has 4", "raw:%s",
                      scratch_path(""));
    data_expect_error(HONE_E_IO, "cannot open 'none.csv'", "raw:%s,labels=none.csv",
                      scratch_path(""));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_files),
        TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
