#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "support/scratch.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static void sizes_are_told_or_refused(void **state) {
    (void)state;
    assert_int_equal(hone_value_bytes(HONE_DTYPE_F32, 2, DIMS(2, 3)), 24);
    assert_int_equal(hone_value_bytes(HONE_DTYPE_F32, 0, NULL), 4);
    assert_int_equal(hone_value_bytes(HONE_DTYPE_S4, 1, DIMS(5)), 3);
    assert_int_equal(hone_value_bytes(HONE_DTYPE_F32, 2, DIMS(0, 3)), 0);
    assert_true(hone_value_bytes(HONE_DTYPE_F32, 1, DIMS(-1)) == SIZE_MAX);
    assert_true(hone_value_bytes(HONE_DTYPE_F32, 2, DIMS(INT64_MAX, 2)) == SIZE_MAX);
    assert_true(hone_value_bytes(HONE_DTYPE_STRING, 1, DIMS(1)) == SIZE_MAX);
    assert_true(hone_value_bytes(HONE_DTYPE_F32, HONE_MAX_RANK + 1, DIMS(1)) == SIZE_MAX);
    assert_true(hone_value_bytes(HONE_DTYPE_F32, -1, DIMS(1)) == SIZE_MAX);
}

static void releasing_leaves_the_callers_own_alone(void **state) {
    (void)state;
    float data[1] = {7};
    hone_error err;
    hone_value v[2] = {{.dtype = HONE_DTYPE_F32, .data = data, .bytes = 4},
                       {.name = "own", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {3}}};
    ASSERT_OK(hone_value_fill(&v[1], HONE_FILL_ONES, 0, &err), err);
    hone_value_release(v, 2);
    assert_ptr_equal(v[0].data, data);
    assert_null(v[1].data);
    assert_null(v[1].owner);
    assert_int_equal(v[1].bytes, 0);
    assert_string_equal(v[1].name, "own"); /* so that a value can be used again */
    hone_value_release(v, 2);              /* twice is harmless */
    hone_value_release(NULL, 0);
    hone_free(NULL);
}

static void fill(hone_value *v, hone_dtype dtype, hone_fill how, uint64_t seed) {
    hone_error err;
    *v = (hone_value){.dtype = dtype, .rank = 2, .dims = {50, 40}};
    ASSERT_OK(hone_value_fill(v, how, seed, &err), err);
    assert_int_equal(v->bytes, hone_value_bytes(dtype, 2, v->dims));
}

static void values_are_filled(void **state) {
    (void)state;
    hone_value v, same, other;
    fill(&v, HONE_DTYPE_F32, HONE_FILL_ZEROS, 1);
    for (int i = 0; i < 2000; i++) assert_true(((float *)v.data)[i] == 0);
    hone_value_release(&v, 1);
    fill(&v, HONE_DTYPE_S64, HONE_FILL_ONES, 1);
    for (int i = 0; i < 2000; i++) assert_int_equal(((int64_t *)v.data)[i], 1);
    hone_value_release(&v, 1);

    fill(&v, HONE_DTYPE_F32, HONE_FILL_RANDOM, 1);
    fill(&same, HONE_DTYPE_F32, HONE_FILL_RANDOM, 1);
    fill(&other, HONE_DTYPE_F32, HONE_FILL_RANDOM, 2);
    assert_memory_equal(v.data, same.data, v.bytes);
    assert_memory_not_equal(v.data, other.data, v.bytes);
    double sum = 0, squares = 0;
    for (int i = 0; i < 2000; i++) {
        double x = ((float *)v.data)[i];
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / 2000) < 0.1 && fabs(squares / 2000 - 1) < 0.15);
    hone_value_release(&v, 1);
    hone_value_release(&same, 1);
    hone_value_release(&other, 1);

    fill(&v, HONE_DTYPE_S8, HONE_FILL_RANDOM, 3);
    int ones = 0;
    for (int i = 0; i < 2000; i++) {
        int x = ((signed char *)v.data)[i];
        assert_true(x == 0 || x == 1);
        ones += x;
    }
    assert_true(ones > 900 && ones < 1100);
    hone_value_release(&v, 1);
}

static void what_cannot_be_filled_is_refused(void **state) {
    (void)state;
    hone_error err;
    hone_value v = {.name = "x", .dtype = HONE_DTYPE_STRING};
    ASSERT_FAILS(hone_value_fill(&v, HONE_FILL_ZEROS, 1, &err), err, HONE_E_TYPE, "string");
    v.dtype = HONE_DTYPE_C64;
    ASSERT_FAILS(hone_value_fill(&v, HONE_FILL_ZEROS, 1, &err), err, HONE_E_TYPE, "c64");
    v = (hone_value){.name = "x", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {-2}};
    ASSERT_FAILS(hone_value_fill(&v, HONE_FILL_ZEROS, 1, &err), err, HONE_E_SHAPE, "'x'");
    v.dims[0] = 2;
    ASSERT_FAILS(hone_value_fill(&v, (hone_fill)7, 1, &err), err, HONE_E_ARG, "7");
    v.dims[0] = INT64_MAX / 8;
    ASSERT_FAILS(hone_value_fill(&v, HONE_FILL_ZEROS, 1, &err), err, HONE_E_NOMEM, "memory");
    assert_null(v.data);
}

static void npy_goes_both_ways(void **state) {
    (void)state;
    hone_error err;
    const char *path = scratch_path("v.npy");
    float data[6] = {1, 2, 3, 4, 5, 6};
    hone_value v = {.dtype = HONE_DTYPE_F32, .rank = 2, .dims = {2, 3}, .data = data, .bytes = 24};
    hone_value back;
    ASSERT_OK(hone_npy_write(&v, path, &err), err);
    ASSERT_OK(hone_npy_read(&back, path, &err), err);
    assert_int_equal(back.dtype, HONE_DTYPE_F32);
    assert_int_equal(back.rank, 2);
    assert_int_equal(back.dims[1], 3);
    assert_int_equal(back.bytes, 24);
    assert_memory_equal(back.data, data, 24);
    assert_string_equal(back.name, "");
    hone_value_release(&back, 1);
    assert_null(back.name);

    v = (hone_value){.dtype = HONE_DTYPE_S64, .rank = 1}; /* empty, without data */
    ASSERT_OK(hone_npy_write(&v, path, &err), err);
    ASSERT_OK(hone_npy_read(&back, path, &err), err);
    assert_int_equal(back.bytes, 0);
    hone_value_release(&back, 1);
}

static void npy_trouble_is_told(void **state) {
    (void)state;
    hone_error err;
    hone_value v = {.name = "kept"};
    ASSERT_FAILS(hone_npy_read(&v, scratch_path("none.npy"), &err), err, HONE_E_IO, "none.npy");
    ASSERT_FAILS(hone_npy_read(&v, scratch_put_text("bad.npy", "nonsense"), &err), err,
                 HONE_E_FORMAT, "bad.npy");
    assert_string_equal(v.name, "kept");
    v = (hone_value){.name = "v", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {2}};
    ASSERT_FAILS(hone_npy_write(&v, scratch_path("w.npy"), &err), err, HONE_E_ARG, "'v'");
    float data[3];
    v.data = data;
    v.bytes = sizeof data;
    ASSERT_FAILS(hone_npy_write(&v, scratch_path("w.npy"), &err), err, HONE_E_ARG, "12 bytes");
    v.dims[0] = -1;
    ASSERT_FAILS(hone_npy_write(&v, scratch_path("w.npy"), &err), err, HONE_E_ARG, "'v'");
    v.dims[0] = 3;
    ASSERT_FAILS(hone_npy_write(&v, scratch_path("no/w.npy"), &err), err, HONE_E_IO, "no/w.npy");
}

static void npz_goes_both_ways(void **state) {
    (void)state;
    hone_error err;
    const char *path = scratch_path("v.npz");
    float x[2] = {1, 2};
    int64_t label[3] = {7, 8, 9};
    hone_value v[2] = {
        {.name = "x", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {2}, .data = x, .bytes = 8},
        {.name = "label",
         .dtype = HONE_DTYPE_S64,
         .rank = 1,
         .dims = {3},
         .data = label,
         .bytes = 24}};
    ASSERT_OK(hone_npz_write(v, 2, path, &err), err);
    hone_value *back;
    size_t n;
    ASSERT_OK(hone_npz_read(&back, &n, path, &err), err);
    assert_int_equal(n, 2);
    assert_string_equal(back[0].name, "x");
    assert_string_equal(back[1].name, "label");
    assert_memory_equal(back[1].data, label, 24);
    hone_value_release(back, n);
    hone_free(back);

    back = NULL;
    ASSERT_FAILS(hone_npz_read(&back, &n, scratch_path("none.npz"), &err), err, HONE_E_IO, "none");
    ASSERT_FAILS(hone_npz_read(&back, &n, scratch_put_text("bad.npz", "PK"), &err), err,
                 HONE_E_FORMAT, "bad.npz");
    assert_null(back);
    v[1].name = NULL;
    ASSERT_FAILS(hone_npz_write(v, 2, path, &err), err, HONE_E_ARG, "value 1 has no name");
    v[1].name = "label";
    v[1].bytes = 8;
    ASSERT_FAILS(hone_npz_write(v, 2, path, &err), err, HONE_E_ARG, "'label'");
}

/* The first array is whole, the second is cut short: what was read of it must go again. */
static void a_damaged_member_fails_the_whole_npz(void **state) {
    (void)state;
    hone_error err;
    const char *path = scratch_path("v.npz");
    float x[2] = {1, 2};
    hone_value v[2] = {
        {.name = "x", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {2}, .data = x, .bytes = 8},
        {.name = "y", .dtype = HONE_DTYPE_F32, .rank = 1, .dims = {2}, .data = x, .bytes = 8}};
    ASSERT_OK(hone_npz_write(v, 2, path, &err), err);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    static unsigned char bytes[4096];
    size_t n = fread(bytes, 1, sizeof bytes, file), at = n;
    float second = 2;
    while (at > 4 && memcmp(bytes + at - 4, &second, 4) != 0) at--; /* the last element of y */
    assert_true(at > 4);
    fseek(file, (long)at - 4, SEEK_SET);
    fputc(1, file);
    fclose(file);
    hone_value *back = NULL;
    ASSERT_FAILS(hone_npz_read(&back, &n, path, &err), err, HONE_E_FORMAT, "y");
    assert_null(back);
}

static hone_difference differ(const float *a, const float *b, int64_t n) {
    hone_error err;
    hone_difference d;
    hone_value x = {.dtype = HONE_DTYPE_F32, .rank = 1, .dims = {n}, .data = (void *)(uintptr_t)a};
    hone_value y = x;
    y.data = (void *)(uintptr_t)b;
    x.bytes = y.bytes = (size_t)n * sizeof *a;
    ASSERT_OK(hone_value_difference(&x, &y, &d, &err), err);
    return d;
}

static void differences_are_shares_of_the_largest(void **state) {
    (void)state;
    hone_difference d = differ((float[]){1, 2, -6, 3}, (float[]){1, 2, -8, 4}, 4);
    assert_float_equal(d.max, 0.25, 0);
    assert_float_equal(d.mean, 3.0 / 4 / 8, 0);
    d = differ((float[]){INFINITY, NAN, 2}, (float[]){INFINITY, NAN, 4}, 3);
    assert_float_equal(d.max, 0.5, 0);
    d = differ((float[]){NAN, 1}, (float[]){1, 1}, 2);
    assert_true(isinf(d.max) && isinf(d.mean));
    d = differ((float[]){0, 0.5f}, (float[]){0, 0}, 2);
    assert_float_equal(d.max, 0.5, 0);
    d = differ(NULL, NULL, 0);
    assert_true(d.max == 0 && d.mean == 0);
    hone_error err;
    uint16_t bits[2] = {0x3f80, 0x4000}; /* bf16 1 and 2 */
    float two[2] = {1, 4};
    hone_value a = {.dtype = HONE_DTYPE_BF16, .rank = 1, .dims = {2}, .data = bits, .bytes = 4};
    hone_value b = {.dtype = HONE_DTYPE_F32, .rank = 1, .dims = {2}, .data = two, .bytes = 8};
    ASSERT_OK(hone_value_difference(&a, &b, &d, &err), err);
    assert_float_equal(d.max, 0.5, 0);
    b.dims[0] = 1;
    ASSERT_FAILS(hone_value_difference(&a, &b, &d, &err), err, HONE_E_SHAPE, "shapes differ");
    b.bytes = 3;
    ASSERT_FAILS(hone_value_difference(&a, &b, &d, &err), err, HONE_E_SHAPE, "it has 3 bytes");
    b.dtype = HONE_DTYPE_STRING;
    ASSERT_FAILS(hone_value_difference(&a, &b, &d, &err), err, HONE_E_TYPE, "holds no numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_told_or_refused),
        cmocka_unit_test(releasing_leaves_the_callers_own_alone),
        cmocka_unit_test(differences_are_shares_of_the_largest),
        cmocka_unit_test(values_are_filled),
        cmocka_unit_test(what_cannot_be_filled_is_refused),
        cmocka_unit_test_setup_teardown(npy_goes_both_ways, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(npy_trouble_is_told, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(npz_goes_both_ways, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_member_fails_the_whole_npz, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
