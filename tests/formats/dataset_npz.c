#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/data.h"

#include "formats/npz.h"

static int64_t ids[] = {5, 6, 0, 7, 8, 9};
static int64_t mask[] = {1, 1, 0, 1, 1, 1};
static unsigned char classes[] = {1, 0};

static hn_array array(hone_dtype dtype, int rank, int64_t n, int64_t m, void *data) {
    size_t bytes = (size_t)(n * (rank == 2 ? m : 1)) * (size_t)hone_dtype_bits(dtype) / 8;
    return (hn_array){.dtype = dtype, .rank = rank, .dims = {n, m}, .bytes = bytes, .data = data};
}

static const char *put(size_t n, const char *const *names, const hn_array *arrays) {
    const char *path = scratch_path("a.npz");
    assert_int_equal(hn_npz_write(path, NULL, n, names, arrays, &scratch_mem, NULL), HONE_OK);
    return path;
}

static void test_arrays(void **state) {
    (void)state;
    const char *names[] = {"input_ids", "label", "attention_mask"};
    const hn_array arrays[] = {array(HONE_DTYPE_S64, 2, 2, 3, ids),
                               array(HONE_DTYPE_U8, 1, 2, 0, classes),
                               array(HONE_DTYPE_S64, 2, 2, 3, mask)};
    const char *path = put(3, names, arrays);
    hn_dataset *ds = data_open("npz:%s", path);
    hn_error err;
    int field = -1;
    assert_int_equal(hn_dataset_count(ds), 2);
    assert_int_equal(hn_dataset_n_fields(ds), 2);
    assert_string_equal(hn_dataset_field_at(ds, 1)->name, "attention_mask");
    assert_int_equal(hn_dataset_find(ds, "attention_mask", 0, 2, &field, &err), HONE_OK);
    assert_int_equal(field, 1);
    assert_int_equal(hn_dataset_find(ds, "x", 0, 2, &field, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "input 'x'; there is 'input_ids', 'attention_mask'"));
    int64_t labels[2], length, x[4];
    assert_int_equal(hn_dataset_labels(ds, 0, 2, labels, &err), HONE_OK);
    assert_int_equal(labels[0], 1);
    assert_int_equal(labels[1], 0);
    /* The first sample is two tokens long, the second three. */
    assert_int_equal(hn_dataset_longest(ds, 1, 0, 1, &length, &err), HONE_OK);
    assert_int_equal(length, 2);
    assert_int_equal(hn_dataset_longest(ds, 1, 0, 2, &length, &err), HONE_OK);
    assert_int_equal(length, 3);
    hn_dataset_want want = {.dtype = HONE_DTYPE_S64, .rank = 1, .dims = DIMS(2), .cut = 2};
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 2, &want, x, &err), HONE_OK);
    assert_memory_equal(x, ((const int64_t[]){5, 6, 7, 8}), sizeof x);
    want.cut = 0;
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 2, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "a sample of input_ids is [3], the model wants [2]"));
    want.cut = 4;
    assert_int_equal(hn_dataset_fill(ds, 0, 0, 2, &want, x, &err), HONE_E_SHAPE);
    assert_non_null(strstr(err.text, "cannot be cut at 4"));
    hn_dataset_close(ds);
    char spec[600];
    snprintf(spec, sizeof spec, "npz:%s", path);
    data_count_down(spec);
}

static void test_targets(void **state) {
    (void)state;
    static float box[] = {1, 2, 3, 4};
    const char *names[] = {"target_box", "x", "label", "y"};
    const hn_array arrays[] = {
        array(HONE_DTYPE_F32, 2, 2, 2, box), array(HONE_DTYPE_S64, 2, 2, 3, ids),
        array(HONE_DTYPE_U8, 1, 2, 0, classes), array(HONE_DTYPE_S64, 2, 2, 3, mask)};
    const char *path = put(4, names, arrays);
    hn_dataset *ds = data_open("npz:%s", path);
    assert_int_equal(hn_dataset_n_fields(ds), 2);
    assert_int_equal(hn_dataset_n_targets(ds), 1);
    assert_string_equal(hn_dataset_target_at(ds, 0)->name, "target_box");
    float got[2];
    assert_int_equal(hn_dataset_targets(ds, 0, 1, 1, got, NULL), HONE_OK);
    assert_memory_equal(got, box + 2, sizeof got);
    hn_dataset_close(ds);
    /* Those given and no others, in the order of the file. */
    ds = data_open("npz:%s,targets=y:label", path);
    assert_false(hn_dataset_has_labels(ds));
    assert_int_equal(hn_dataset_n_targets(ds), 2);
    assert_string_equal(hn_dataset_target_at(ds, 0)->name, "label");
    assert_string_equal(hn_dataset_target_at(ds, 1)->name, "y");
    assert_string_equal(hn_dataset_field_at(ds, 0)->name, "target_box");
    int64_t tokens[3];
    assert_int_equal(hn_dataset_targets(ds, 1, 1, 1, tokens, NULL), HONE_OK);
    assert_memory_equal(tokens, mask + 3, sizeof tokens);
    hn_dataset_close(ds);
    data_expect_error(HONE_E_NOT_FOUND, "has 1 of the 2 arrays of targets=y:z",
                      "npz:%s,targets=y:z", path);
    data_expect_error(HONE_E_FORMAT, "has no array but labels and targets",
                      "npz:%s,targets=x:y:target_box", path);
    char spec[600];
    snprintf(spec, sizeof spec, "npz:%s,targets=y", path);
    data_count_down(spec);
}

static void test_no_labels(void **state) {
    (void)state;
    const char *name = "x";
    hn_array a = array(HONE_DTYPE_S64, 1, 6, 0, ids); /* samples may be single numbers */
    hn_dataset *ds = data_open("npz:%s", put(1, &name, &a));
    int field = -1;
    int64_t label;
    float x[6];
    hn_error err;
    assert_int_equal(hn_dataset_find(ds, "any name, for it is the only one", 0, 1, &field, &err),
                     HONE_OK);
    assert_int_equal(field, 0);
    assert_false(hn_dataset_has_labels(ds));
    assert_int_equal(hn_dataset_labels(ds, 0, 1, &label, &err), HONE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "has no labels"));
    data_fill(ds, 0, 6, 0, NULL, x);
    for (int i = 0; i < 6; i++) assert_true(x[i] == (float)ids[i]);
    hn_dataset_close(ds);
}

static void test_errors(void **state) {
    (void)state;
    const char *names[] = {"x", "label"};
#define BAD(status, text, n, ...) \
    data_expect_error(status, text, "npz:%s", put(n, names, (const hn_array[]){__VA_ARGS__}))
    hn_array x = array(HONE_DTYPE_S64, 2, 2, 3, ids), y = array(HONE_DTYPE_U8, 1, 2, 0, classes);
    BAD(HONE_E_FORMAT, "array 'label' has 1 samples, there are 2", 2, x,
        array(HONE_DTYPE_U8, 1, 1, 0, classes));
    BAD(HONE_E_FORMAT, "'label' is f64 with 1 axes", 2, x, array(HONE_DTYPE_F64, 1, 2, 0, ids));
    BAD(HONE_E_FORMAT, "'label' is s64 with 2 axes", 2, x, x);
    BAD(HONE_E_FORMAT, "has no samples", 1, array(HONE_DTYPE_S64, 0, 1, 0, ids), y);
    BAD(HONE_E_FORMAT, "has no samples", 1, array(HONE_DTYPE_S64, 1, 0, 0, ids), y);
    BAD(HONE_E_FORMAT, "array 'x': a sample has no elements", 2,
        array(HONE_DTYPE_S64, 2, 2, 0, ids), y);
    BAD(HONE_E_TYPE, "array 'x': samples of type c64", 2, array(HONE_DTYPE_C64, 1, 2, 0, ids), y);
    BAD(HONE_E_TYPE, "array 'x': samples of type u4", 2, array(HONE_DTYPE_U4, 1, 2, 0, classes), y);
    names[0] = "label";
    BAD(HONE_E_FORMAT, "has no array but labels", 1, y);
    data_expect_error(HONE_E_FORMAT, "no zip directory", "npz:%s",
                      scratch_put_text("bad.npz", "PK, but no archive"));
}

static void test_real(void **state) {
    (void)state;
    const char *path = scratch_asset("data/sst2/sst2_test_tokens.npz");
    if (path == NULL) skip();
    hn_dataset *ds = data_open_packed("npz:%s", path);
    if (ds == NULL) skip();
    assert_int_equal(hn_dataset_count(ds), 1821);
    static int64_t labels[1821];
    int64_t sum = 0, length = 0, x[64];
    int ids_field = -1, mask_field = -1;
    assert_int_equal(hn_dataset_labels(ds, 0, 1821, labels, NULL), HONE_OK);
    for (int i = 0; i < 1821; i++) sum += labels[i];
    assert_int_equal(sum, 909);
    assert_int_equal(hn_dataset_find(ds, "input_ids", 0, 2, &ids_field, NULL), HONE_OK);
    assert_int_equal(hn_dataset_find(ds, "attention_mask", 1, 2, &mask_field, NULL), HONE_OK);
    assert_int_equal(hn_dataset_longest(ds, mask_field, 2, 6, &length, NULL), HONE_OK);
    assert_int_equal(length, 35);
    hn_dataset_want want = {.dtype = HONE_DTYPE_S64, .rank = 1, .dims = DIMS(64)};
    assert_int_equal(hn_dataset_fill(ds, ids_field, 0, 1, &want, x, NULL), HONE_OK);
    sum = 0;
    for (int i = 0; i < 64; i++) sum += x[i];
    assert_int_equal(sum, 10866);
    hn_dataset_close(ds);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_arrays), TEST(test_targets), TEST(test_no_labels),
        TEST(test_errors), TEST(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
