#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

#define BYTES(text) text, sizeof(text) - 1

static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        hone_dtype dtype;
        float want[2];
    } cases[] = {
        {BYTES("\0\0\x08\2\0\0\0\2\0\0\0\1\x01\xff"), HONE_DTYPE_U8, {1, 255}},
        {BYTES("\0\0\x09\2\0\0\0\2\0\0\0\1\x01\xff"), HONE_DTYPE_S8, {1, -1}},
        {BYTES("\0\0\x0b\2\0\0\0\2\0\0\0\1\x01\x00\xff\xfe"), HONE_DTYPE_S16, {256, -2}},
        {BYTES("\0\0\x0c\2\0\0\0\2\0\0\0\1\0\1\0\0\xff\xff\xff\xfe"), HONE_DTYPE_S32, {65536, -2}},
        {BYTES("\0\0\x0d\2\0\0\0\2\0\0\0\1\x3f\x80\0\0\xc0\0\0\0"), HONE_DTYPE_F32, {1, -2}},
        {BYTES("\0\0\x0e\2\0\0\0\2\0\0\0\1\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0"),
         HONE_DTYPE_F64,
         {1, -2}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        hn_dataset *ds = data_open("idx:%s", scratch_put("a.idx", cases[k].bytes, cases[k].n));
        float x[2];
        assert_int_equal(hn_dataset_count(ds), 2);
        assert_int_equal(hn_dataset_field_at(ds, 0)->dtype, cases[k].dtype);
        assert_int_equal(hn_dataset_field_at(ds, 0)->rank, 1);
        data_fill(ds, 0, 2, 1, DIMS(1), x);
        assert_memory_equal(x, cases[k].want, sizeof x);
        assert_false(hn_dataset_has_labels(ds));
        hn_dataset_close(ds);
    }
}

static const char two[] = "\0\0\x08\2\0\0\0\2\0\0\0\3abcdef";

static void test_labels(void **state) {
    (void)state;
    const char *images = scratch_put("x,1.idx", BYTES(two)); /* a comma, to be escaped */
    const char *labels = scratch_put("y.idx", BYTES("\0\0\x0c\1\0\0\0\2\0\0\0\7\xff\xff\xff\xff"));
    char spec[1200];
    snprintf(spec, sizeof spec, "idx:%.*s\\,1.idx,labels=%s", (int)(strlen(images) - 6), images,
             labels);
    hn_dataset *ds = data_open("%s", spec);
    int64_t got[2];
    assert_true(hn_dataset_has_labels(ds));
    assert_int_equal(hn_dataset_labels(ds, 0, 2, got, NULL), HONE_OK);
    assert_int_equal(got[0], 7);
    assert_int_equal(got[1], -1);
    hn_dataset_close(ds);
    data_count_down(spec);
}

static void test_errors(void **state) {
    (void)state;
#define BAD(text, bytes) \
    data_expect_error(HONE_E_FORMAT, text, "idx:%s", scratch_put("bad.idx", BYTES(bytes)))
    BAD("is not an idx file", "");
    BAD("is not an idx file", "\1\0\x08\1\0\0\0\1a");
    BAD("idx type 0x0a", "\0\0\x0a\1\0\0\0\1a");
    BAD("has 0 axes", "\0\0\x08\0a");
    BAD("has 17 axes", "\0\0\x08\x11");
    BAD("ends inside its dims", "\0\0\x08\2\0\0\0\1\0\0");
    BAD("has 5 bytes of elements; its dims and type need 6", "\0\0\x08\2\0\0\0\2\0\0\0\3abcde");
    BAD("has 7 bytes of elements; its dims and type need 6", "\0\0\x08\2\0\0\0\2\0\0\0\3abcdefg");
    BAD("need over", "\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    BAD("has no samples", "\0\0\x08\1\0\0\0\0");
    BAD("a sample has no elements", "\0\0\x08\2\0\0\0\1\0\0\0\0");
#define BAD_LABELS(text, bytes)                                                                  \
    data_expect_error(HONE_E_FORMAT, text, "idx:%s,labels=%s", scratch_put("x.idx", BYTES(two)), \
                      scratch_put("y.idx", BYTES(bytes)))
    BAD_LABELS("has 1 labels for the 2 samples", "\0\0\x08\1\0\0\0\1a");
    BAD_LABELS("has 2 axes of u8", "\0\0\x08\2\0\0\0\2\0\0\0\1ab");
    BAD_LABELS("has 1 axes of f32", "\0\0\x0d\1\0\0\0\2abcdabcd");
    data_expect_error(HONE_E_IO, "cannot open", "idx:%s,labels=/no/such", scratch_path("x.idx"));
}

static void test_real(void **state) {
    (void)state;
    const char *images = scratch_asset("data/mnist/t10k-images-idx3-ubyte.gz");
    const char *labels = scratch_asset("data/mnist/t10k-labels-idx1-ubyte.gz");
    if (images == NULL || labels == NULL) skip();
    hn_dataset *ds = data_open_packed("idx:%s,labels=%s,scale=1/255", images, labels);
    if (ds == NULL) skip();
    assert_int_equal(hn_dataset_count(ds), 10000);
    static float x[784];
    double sum = 0;
    int64_t got[4];
    data_fill(ds, 9999, 1, 2, DIMS(784, 1), x);
    for (int i = 0; i < 784; i++) sum += x[i];
    assert_true(sum > 41832.9 / 255 && sum < 41833.1 / 255);
    assert_int_equal(hn_dataset_labels(ds, 0, 4, got, NULL), HONE_OK);
    assert_memory_equal(got, ((const int64_t[]){7, 2, 1, 0}), sizeof got);
    hn_dataset_close(ds);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_types),
        TEST(test_labels),
        TEST(test_errors),
        TEST(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
