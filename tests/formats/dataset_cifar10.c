#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

/* n records of which record r has label r % 10 and byte (r + its index) % 256. */
static const char *put_records(const char *name, int n) {
    static unsigned char data[5 * 3073];
    for (int r = 0; r < n; r++) {
        data[r * 3073] = (unsigned char)(r % 10);
        for (int i = 0; i < 3072; i++) data[r * 3073 + 1 + i] = (unsigned char)(r + i);
    }
    return scratch_put(name, data, (size_t)n * 3073);
}

static float at(int r, int c, int p) { return (float)((r + c * 1024 + p) % 256); }

static void test_layouts(void **state) {
    (void)state;
    const char *path = put_records("a.bin", 5);
    static float x[2 * 3072];
    /* As stored; given as one row; transposed because asked; transposed because the dims say so. */
    static const struct {
        const char *keys;
        int rank;
        int64_t dims[3];
        bool hwc;
    } cases[] = {{"", 3, {3, 32, 32}, false},
                 {"", 1, {3072}, false},
                 {",layout=nchw", 3, {32, 32, 3}, false},
                 {",layout=nhwc", 3, {32, 32, 3}, true},
                 {",layout=nhwc", 1, {3072}, true},
                 {"", 3, {32, 32, 3}, true}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        hn_dataset *ds = data_open("cifar10:%s%s,skip=1", path, cases[k].keys);
        assert_int_equal(hn_dataset_count(ds), 4);
        data_fill(ds, 1, 2, cases[k].rank, cases[k].dims, x);
        for (int i = 0; i < 2; i++)
            for (int c = 0; c < 3; c++)
                for (int p = 0; p < 1024; p++)
                    assert_true(x[i * 3072 + (cases[k].hwc ? p * 3 + c : c * 1024 + p)] ==
                                at(2 + i, c, p));
        int64_t labels[4];
        assert_int_equal(hn_dataset_labels(ds, 0, 4, labels, NULL), HONE_OK);
        for (int i = 0; i < 4; i++) assert_int_equal(labels[i], i + 1);
        hn_dataset_close(ds);
    }
}

static void test_values(void **state) {
    (void)state;
    const char *path = put_records("a.bin", 1);
    static float x[3072];
    for (int hwc = 0; hwc < 2; hwc++) {
        hn_dataset *ds =
            data_open("cifar10:%s,scale=1/255,mean=0.5:0.25:0.125,std=2:4:8,order=bgr%s", path,
                      hwc ? ",layout=nhwc" : "");
        data_fill(ds, 0, 1, 3, hwc ? DIMS(32, 32, 3) : DIMS(3, 32, 32), x);
        static const double mean[] = {0.5, 0.25, 0.125}, std[] = {2, 4, 8};
        for (int c = 0; c < 3; c++)
            for (int p = 0; p < 1024; p++)
                assert_true(x[hwc ? p * 3 + c : c * 1024 + p] ==
                            (float)((at(0, 2 - c, p) * (1.0 / 255) - mean[c]) / std[c]));
        hn_dataset_close(ds);
    }
}

static void test_errors(void **state) {
    (void)state;
    data_expect_error(HONE_E_FORMAT, "has 3072 bytes, which is not a number of CIFAR-10 records",
                      "cifar10:%s",
                      scratch_put("short.bin", memset((char[3072]){0}, 0, 3072), 3072));
    data_expect_error(HONE_E_FORMAT, "not a number", "cifar10:%s",
                      scratch_put_text("empty.bin", ""));
    const char *path = put_records("a.bin", 2);
    static unsigned char bad[3073] = {10};
    data_expect_error(HONE_E_FORMAT, "record 0 has label 10", "cifar10:%s",
                      scratch_put("bad.bin", bad, sizeof bad));
    char spec[600];
    snprintf(spec, sizeof spec, "cifar10:%s", path);
    data_count_down(spec);
    hn_dataset *ds = data_open("cifar10:%s,mean=1:2", path);
    hn_dataset_want want = {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = DIMS(3, 32, 32)};
    float x[1];
    hn_error err;
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 1, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "have 2 values, the input has 3 channels"));
    hn_dataset_close(ds);
}

static void test_real(void **state) {
    (void)state;
    const char *path = scratch_asset("data/cifar10/test_batch.bin.xz");
    if (path == NULL) skip();
    hn_dataset *ds = data_open_packed("cifar10:%s", path);
    if (ds == NULL) skip();
    assert_int_equal(hn_dataset_count(ds), 10000);
    static float x[3072];
    static int64_t labels[10000];
    int64_t sum = 0;
    assert_int_equal(hn_dataset_labels(ds, 0, 10000, labels, NULL), HONE_OK);
    for (int i = 0; i < 10000; i++) sum += labels[i];
    assert_int_equal(sum, 45000);
    data_fill(ds, 9999, 1, 3, DIMS(3, 32, 32), x);
    assert_true(x[3069] == 94 && x[3070] == 58 && x[3071] == 26);
    assert_int_equal(labels[9999], 7);
    hn_dataset_close(ds);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_layouts),
        TEST(test_values),
        TEST(test_errors),
        TEST(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
