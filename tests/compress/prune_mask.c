/* Masks of the user's: what they say, and nothing else; other names, shapes and types are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compress/compression.h"
#include "formats/npz.h"
#include "support/method_model.h"
#include "support/scratch.h"

static hn_error err;

typedef struct mask {
    const char *name;
    hone_dtype dtype;
    int rank;
    int64_t dims[2];
} mask;

/* Every third element stays; with `none`, none does. */
static hone_status prune(hn_model *m, const mask *of, bool none) {
    char path[] = "/tmp/hone_mask_XXXXXX", text[100];
    unsigned char data[64 * 4] = {0};
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    hn_array a = {.dtype = of->dtype, .rank = of->rank, .bytes = 1, .data = data};
    for (int i = 0; i < of->rank; i++) a.bytes *= (size_t)(a.dims[i] = of->dims[i]);
    if (!none)
        for (int64_t i = 0; i < (int64_t)a.bytes; i += 3) hn_store_f64(of->dtype, data, i, 1);
    a.bytes *= of->dtype == HONE_DTYPE_F32 ? sizeof(float) : 1;
    assert_int_equal(hn_npz_write(path, NULL, 1, &of->name, &a, &scratch_mem, &err), HONE_OK);
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    snprintf(text, sizeof text, "hone recipe 2; prune mask=%s", path);
    assert_int_equal(hn_recipe_read(&r, text, &arena, &err), HONE_OK);
    method_begin(&b, m);
    b.c.step = &r.steps[0];
    hone_status status = hn_transform_prune(&b.c, &err);
    method_end(&b);
    hn_arena_deinit(&arena);
    unlink(path);
    return status;
}

static hn_model *two_layers(void) {
    return method_model(
        "m (float[n,8] x, float[8,5] w, float[5,4] w2) => (float[n,4] y) {"
        " h = MatMul (x, w) y = MatMul (h, w2) }",
        1);
}

static void what_is_zero_goes(void **state) {
    (void)state;
    static const hone_dtype types[] = {HONE_DTYPE_F32, HONE_DTYPE_BOOL, HONE_DTYPE_U8};
    for (int t = 0; t < 3; t++) {
        hn_model *m = two_layers(), *was = method_copy(m);
        if (prune(m, &(mask){"w", types[t], 2, {8, 5}}, false) != HONE_OK) fail_msg("%s", err.text);
        const float *a = method_weight(was, "w"), *b = method_weight(m, "w");
        for (int i = 0; i < 40; i++) assert_true(b[i] == (i % 3 == 0 ? a[i] : 0));
        assert_memory_equal(method_weight(was, "w2"), method_weight(m, "w2"), 20 * sizeof(float));
        hn_model_destroy(was);
        hn_model_destroy(m);
    }
}

static void others_are_refused(void **state) {
    (void)state;
    static const struct {
        mask of;
        bool none;
        hone_status status;
        const char *message;
    } cases[] = {
        {{"w", HONE_DTYPE_U8, 2, {5, 8}},
         false,
         HONE_E_SHAPE,
         "mask 'w' is [5, 8], its weight [8, 5]"},
        {{"w", HONE_DTYPE_U8, 1, {40}}, false, HONE_E_SHAPE, "mask 'w' is [40], its weight [8, 5]"},
        {{"v", HONE_DTYPE_U8, 2, {8, 5}}, false, HONE_E_ARG, "has a weight 'v'"},
        {{"w", HONE_DTYPE_U8, 2, {8, 5}}, true, HONE_E_ARG, "leaves none of 40 weights"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_model *m = two_layers();
        assert_int_equal(prune(m, &cases[i].of, cases[i].none), cases[i].status);
        if (strstr(err.text, cases[i].message) == NULL) fail_msg("%s", err.text);
        hn_model_destroy(m);
    }
}

/* The recipe of a result names the mask by its hash; whoever repeats it gives the path. */
static void a_hash_is_no_path(void **state) {
    (void)state;
    hn_model *m = two_layers();
    hn_arena arena;
    hn_recipe r;
    method_bench b;
    hn_arena_init(&arena, &scratch_mem, HN_MEM_OTHER);
    assert_int_equal(
        hn_recipe_read(&r, "hone recipe 2; prune mask=sha256:0123456789abcdef", &arena, &err),
        HONE_OK);
    method_begin(&b, m);
    b.c.step = &r.steps[0];
    assert_int_equal(hn_transform_prune(&b.c, &err), HONE_E_ARG);
    assert_non_null(strstr(err.text, "SHA-256 is 0123456789ab...: give its path"));
    method_end(&b);
    hn_arena_deinit(&arena);
    hn_model_destroy(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_zero_goes),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(a_hash_is_no_path),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
