/* Packages through hone.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "support/scratch.h"

static hone_error err;

static void packaged_from_a_file(void **state) {
    (void)state;
    hone_package *p = NULL;
    hone_package_options o;
    int64_t coded = 0, tensors = 0, stored = 0;
    hone_package_options_init(&o);
    assert_false(o.fast);
    const char *path = scratch_path("digits.hone");
    ASSERT_OK(hone_package_write(path, DIGITS, &o, &err), err);
    ASSERT_OK(hone_package_inspect(&p, path, &err), err);
    assert_int_equal(p->format, 1);
    assert_int_equal(p->files, 1);
    assert_true(p->file_bytes < p->source_bytes);
    for (size_t i = 0; i < p->n_codes; i++) coded += p->codes[i].tensors;
    for (size_t i = 0; i < p->n_tensors; i++) {
        tensors += p->tensors[i].bytes;
        stored += p->tensors[i].stored_bytes;
        assert_string_equal(p->tensors[i].file, "");
        assert_int_equal(p->tensors[i].dtype, HONE_DTYPE_F32);
    }
    assert_string_equal(p->tensors[0].name, "stem_conv_weight");
    assert_int_equal(coded, p->n_tensors);
    assert_int_equal(tensors + p->graph_bytes, p->source_bytes);
    assert_true(stored + p->graph_stored_bytes < p->file_bytes);
    hone_package_destroy(p);

    ASSERT_FAILS(hone_package_inspect(&p, DIGITS, &err), err, HONE_E_FORMAT, "no .hone package");
    ASSERT_FAILS(hone_package_inspect(&p, "/no/such.hone", &err), err, HONE_E_IO, "/no/such.hone");
    hone_package_destroy(NULL);
}

/* A model that was changed since it was read: what comes back is what would have been saved. */
static void packaged_from_memory(void **state) {
    (void)state;
    hone_model *m = NULL;
    const char *path = scratch_path("simple.hone"), *saved = scratch_path("simple.onnx");
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    ASSERT_OK(hone_model_simplify(m, NULL, NULL, &err), err);
    ASSERT_OK(hone_model_save(m, saved, NULL, &err), err);
    ASSERT_OK(hone_model_package(m, path, NULL, &err), err);
    hone_model_destroy(m);
    ASSERT_OK(hone_package_unpack(path, scratch_path("back.onnx"), &err), err);
    static char a[1 << 18], b[1 << 18];
    FILE *x = fopen(saved, "rb"), *y = fopen(scratch_path("back.onnx"), "rb");
    assert_non_null(x);
    assert_non_null(y);
    size_t n = fread(a, 1, sizeof a, x);
    assert_int_equal(fread(b, 1, sizeof b, y), n);
    assert_memory_equal(a, b, n);
    fclose(x);
    fclose(y);
}

static void loaded_from_memory(void **state) {
    (void)state;
    hone_model *m = NULL;
    const char *path = scratch_path("external.hone");
    ASSERT_OK(hone_package_write(path, MODEL("external"), NULL, &err), err);
    static char bytes[4096];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    /* External data is in it, so no folder is needed. */
    ASSERT_OK(hone_model_load_memory(&m, bytes, n, &err), err);
    hone_model_destroy(m);
    bytes[n - 1] ^= 1;
    ASSERT_FAILS(hone_model_load_memory(&m, bytes, n, &err), err, HONE_E_FORMAT, "damaged");
}

static bool stop(void *ctx, int64_t done, int64_t total) {
    assert_true(done > 0 && done <= total);
    return --*(int *)ctx > 0;
}

static void work_can_be_stopped(void **state) {
    (void)state;
    hone_package_options o;
    int calls = 3;
    hone_package_options_init(&o);
    o.progress = stop;
    o.progress_ctx = &calls;
    ASSERT_FAILS(hone_package_write(scratch_path("p.hone"), DIGITS, &o, &err), err, HONE_E_LIMIT,
                 "stopped");
    assert_int_equal(calls, 0);
    assert_int_equal(scratch_count(), 0); /* nothing is left behind */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(packaged_from_a_file),
        TEST(packaged_from_memory),
        TEST(loaded_from_memory),
        TEST(work_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
