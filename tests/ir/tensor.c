#include "ir/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static hn_allocator alloc;
static hn_error err;

static int setup(void **state) {
    (void)state;
    hn_allocator_init(&alloc);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return atomic_load(&alloc.blocks) != 0;
}

static hn_tensor *make(hone_dtype t, int rank, const int64_t *dims) {
    hn_tensor *x = NULL;
    assert_int_equal(hn_tensor_create(&x, &alloc, HN_MEM_TENSOR, t, rank, dims, &err), HONE_OK);
    return x;
}

static void sizes(void **state) {
    (void)state;
    hn_tensor *x = make(HONE_DTYPE_U4, 2, (int64_t[]){3, 3});
    assert_int_equal(x->n, 9);
    assert_int_equal(x->bytes, 5);
    hn_tensor_unref(x);
    x = make(HONE_DTYPE_F64, 0, NULL);
    assert_int_equal(x->n, 1);
    assert_int_equal((uintptr_t)x->data % HN_ALIGN, 0);
    hn_tensor_unref(x);
    x = make(HONE_DTYPE_F32, 3, (int64_t[]){2, 0, INT64_MAX});
    assert_int_equal(x->n, 0);
    assert_non_null(x->data);
    hn_tensor_unref(x);
    x = NULL;
    int64_t negative[] = {2, -1}, huge[] = {INT64_MAX, 3};
    assert_int_equal(hn_tensor_create(&x, &alloc, HN_MEM_TENSOR, HONE_DTYPE_F32, 2, negative, &err),
                     HONE_E_SHAPE);
    assert_string_equal(err.text, "axis 1 of a tensor has the negative size -1");
    assert_int_equal(hn_tensor_create(&x, &alloc, HN_MEM_TENSOR, HONE_DTYPE_F32, 2, huge, &err),
                     HONE_E_SHAPE);
    assert_int_equal(hn_tensor_create(&x, &alloc, HN_MEM_TENSOR, HONE_DTYPE_F32, 17, huge, &err),
                     HONE_E_SHAPE);
    assert_int_equal(hn_tensor_create(&x, &alloc, HN_MEM_TENSOR, (hone_dtype)99, 0, NULL, &err),
                     HONE_E_TYPE);
    alloc.limit = 1000;
    assert_int_equal(
        hn_tensor_create(&x, &alloc, HN_MEM_TENSOR, HONE_DTYPE_F32, 1, (int64_t[]){1000}, &err),
        HONE_E_NOMEM);
    assert_null(x);
}

static void views_keep_their_base(void **state) {
    (void)state;
    hn_tensor *x = make(HONE_DTYPE_S32, 2, (int64_t[]){2, 3}), *v, *w;
    ((int32_t *)x->data)[5] = 42;
    assert_int_equal(hn_tensor_create_view(&v, x, 1, (int64_t[]){6}, &err), HONE_OK);
    assert_int_equal(hn_tensor_create_view(&w, v, 3, (int64_t[]){1, 6, 1}, &err), HONE_OK);
    hn_tensor_unref(x);
    hn_tensor_unref(v);
    assert_int_equal(hn_tensor_s64(w, 5), 42);
    char text[64];
    assert_string_equal(hn_tensor_text(w, text, sizeof text), "s32[1, 6, 1]");
    hn_tensor_unref(w);
}

static void strings(void **state) {
    (void)state;
    hn_str texts[] = {{"ab", 2}, {NULL, 0}, {"c\0d", 3}};
    hn_tensor *a, *b;
    assert_int_equal(hn_tensor_create_strings(&a, &alloc, 1, (int64_t[]){3}, texts, &err), HONE_OK);
    assert_int_equal(hn_tensor_create_strings(&b, &alloc, 1, (int64_t[]){3}, texts, &err), HONE_OK);
    assert_true(hn_tensor_equal(a, b));
    assert_memory_equal(((hn_str *)a->data)[2].p, "c\0d", 3);
    hn_tensor_unref(b);
    texts[1] = (hn_str){"x", 1};
    assert_int_equal(hn_tensor_create_strings(&b, &alloc, 1, (int64_t[]){3}, texts, &err), HONE_OK);
    assert_false(hn_tensor_equal(a, b));
    hn_tensor_unref(a);
    hn_tensor_unref(b);
}

static void sparse(void **state) {
    (void)state;
    hn_tensor *values, *at, *s, *d;
    float v[] = {5, 7};
    int64_t dims[] = {2, 3};
    assert_int_equal(hn_tensor_from_f32(&values, &alloc, 1, (int64_t[]){2}, v, &err), HONE_OK);
    assert_int_equal(hn_tensor_from_s64(&at, &alloc, HONE_DTYPE_S64, 2, (int64_t[]){2, 2},
                                        (int64_t[]){0, 1, 1, 2}, &err),
                     HONE_OK);
    assert_int_equal(hn_tensor_create_sparse(&s, &alloc, 2, dims, values, at, &err), HONE_OK);
    assert_int_equal(hn_tensor_dense(&d, s, &alloc, &err), HONE_OK);
    const float want[] = {0, 5, 0, 0, 0, 7};
    assert_memory_equal(d->data, want, sizeof want);
    hn_tensor_unref(d);
    ((int64_t *)at->data)[3] = 3; /* outside */
    assert_int_equal(hn_tensor_dense(&d, s, &alloc, &err), HONE_E_MODEL);
    assert_string_equal(err.text, "index 1 of a sparse tensor is outside its dims");
    hn_tensor_unref(s);

    assert_int_equal(hn_tensor_from_f32(&values, &alloc, 1, (int64_t[]){2}, v, &err), HONE_OK);
    assert_int_equal(
        hn_tensor_from_s64(&at, &alloc, HONE_DTYPE_S64, 1, (int64_t[]){2}, (int64_t[]){5, 0}, &err),
        HONE_OK);
    assert_int_equal(hn_tensor_create_sparse(&s, &alloc, 2, dims, values, at, &err), HONE_OK);
    assert_int_equal(hn_tensor_dense(&d, s, &alloc, &err), HONE_OK);
    assert_true(hn_tensor_f64(d, 0) == 7 && hn_tensor_f64(d, 5) == 5);
    hn_tensor_unref(d);
    hn_tensor_unref(s);
    hn_tensor *bad = NULL;
    values = make(HONE_DTYPE_F32, 1, (int64_t[]){2});
    at = make(HONE_DTYPE_S64, 1, (int64_t[]){3});
    assert_int_equal(hn_tensor_create_sparse(&bad, &alloc, 2, dims, values, at, &err),
                     HONE_E_SHAPE);
    hn_tensor_unref(values);
    hn_tensor_unref(at);
}

static void alignment(void **state) {
    (void)state;
    hn_tensor *x = make(HONE_DTYPE_F32, 1, (int64_t[]){4});
    hn_tensor odd = *x;
    assert_true(hn_tensor_aligned(x));
    odd.data = (char *)x->data + 1;
    assert_false(hn_tensor_aligned(&odd));
    odd.dtype = HONE_DTYPE_U8;
    assert_true(hn_tensor_aligned(&odd));
    hn_tensor_unref(x);
}

static void contents_can_be_dropped(void **state) {
    (void)state;
    hn_tensor *x = make(HONE_DTYPE_F32, 2, (int64_t[]){100, 100});
    hn_tensor *same = make(HONE_DTYPE_F32, 2, (int64_t[]){100, 100});
    size_t both = alloc.live;
    ((float *)same->data)[9999] = 3;
    hn_tensor_drop(x);
    assert_null(x->data);
    assert_int_equal(alloc.live, both - 40000);
    hn_tensor_refill(x, same);
    assert_true(hn_tensor_f64(x, 9999) == 3);
    assert_int_equal(alloc.live, both - 40000);
    hn_tensor_unref(same);
    assert_true(hn_tensor_f64(x, 9999) == 3);
    hn_tensor_unref(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(views_keep_their_base, setup, teardown),
        cmocka_unit_test_setup_teardown(strings, setup, teardown),
        cmocka_unit_test_setup_teardown(sparse, setup, teardown),
        cmocka_unit_test_setup_teardown(alignment, setup, teardown),
        cmocka_unit_test_setup_teardown(contents_can_be_dropped, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
