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

typedef struct lines {
    int64_t n, all, package_bytes;
    int64_t until; /* the line after which it stops; 0: none */
    char last[100];
} lines;

static bool on_line(void *ctx, int64_t i, int64_t n, const char *line, hone_model *m) {
    lines *l = ctx;
    assert_int_equal(i, ++l->n);
    l->all = n;
    snprintf(l->last, sizeof l->last, "%s", line);
    ASSERT_OK(hone_model_packaged_bytes(m, NULL, &l->package_bytes, &err), err);
    return i != l->until;
}

/* Each line of a recipe is told, with the model as it is then. */
static void lines_of_a_recipe_are_told(void **state) {
    (void)state;
    static const char recipe[] = "hone recipe 2\nprune sparsity=0.8\ncluster clusters=16\n";
    hone_model *m = NULL, *made = NULL;
    hone_package *p = NULL;
    hone_transform_options o;
    lines told = {0};
    int64_t whole = 0;
    hone_transform_options_init(&o);
    o.line = on_line;
    o.line_ctx = &told;
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    ASSERT_OK(hone_model_packaged_bytes(m, NULL, &whole, &err), err);
    ASSERT_OK(hone_model_transform(&made, m, recipe, NULL, &o, NULL, &err), err);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.all, 2);
    assert_string_equal(told.last, "cluster clusters=16");
    assert_true(told.package_bytes < whole / 4);

    const char *path = scratch_path("small.hone");
    int64_t bytes = 0;
    ASSERT_OK(hone_model_packaged_bytes(made, NULL, &bytes, &err), err);
    ASSERT_OK(hone_model_package(made, path, NULL, &err), err);
    ASSERT_OK(hone_package_inspect(&p, path, &err), err);
    assert_int_equal(p->file_bytes, bytes);
    hone_package_destroy(p);
    hone_model_destroy(made);

    told = (lines){.until = 1};
    ASSERT_FAILS(hone_model_transform(&made, m, recipe, NULL, &o, NULL, &err), err, HONE_E_LIMIT,
                 "line 1 of 2");
    assert_int_equal(told.n, 1);
    hone_model_destroy(m);
}

/* ---- ready to run ---- */

/* The span of that name was told so many times. */
typedef struct spans {
    int passes, kept;
} spans;

static void on_span(void *ctx, const hone_span *span) {
    spans *s = ctx;
    s->passes += strcmp(span->name, "passes") == 0;
    s->kept += strcmp(span->name, "kept") == 0;
}

/* Runs the model twice, at two batch sizes; its outputs, how much was packed into memory, and what
 * was done at the start. */
static void outputs_of(const char *path, const char *isa, float *out, size_t *packed, spans *told) {
    hone_session_options o;
    hone_model *m = NULL;
    hone_session *s = NULL;
    hone_memory_use use;
    ASSERT_OK(hone_model_load(&m, path, NULL, &err), err);
    hone_session_options_init(&o);
    o.isa = isa;
    *told = (spans){0};
    hone_span_listen(on_span, told);
    ASSERT_OK(hone_session_create(&s, m, &o, &err), err);
    for (int batch = 1; batch < 3; batch++) {
        hone_value in = {.name = "image", .dtype = HONE_DTYPE_F32, .rank = 4};
        in.dims[0] = batch, in.dims[1] = 1, in.dims[2] = in.dims[3] = 28;
        ASSERT_OK(hone_value_fill(&in, HONE_FILL_RANDOM, 5, &err), err);
        hone_value y = {.name = "logits", .data = out, .bytes = 20 * sizeof *out};
        ASSERT_OK(hone_session_run(s, 1, &in, 1, &y, &err), err);
        hone_value_release(&in, 1);
        out += 20;
        if (batch > 1) continue;
        use = hone_session_memory(s);
        *packed = use.weights_bytes;
    }
    hone_span_listen(NULL, NULL);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

static void ready_to_run(void **state) {
    (void)state;
    static float plain[40], ready[40];
    const char *path = scratch_path("ready.hone");
    size_t packed, none;
    spans told;
    hone_package_options o;
    hone_package *p = NULL;
    hone_package_options_init(&o);
    assert_null(o.ready);
    o.ready = "";
    ASSERT_OK(hone_package_write(path, DIGITS, &o, &err), err);
    ASSERT_OK(hone_package_inspect(&p, path, &err), err);
    assert_int_equal(p->n_ready, 1);
    assert_null(p->ready[0].unused);
    assert_true(p->ready[0].packed > 0);
    assert_true(p->ready[0].bytes > 0 && p->ready[0].bytes < p->file_bytes);
    char isa[32];
    snprintf(isa, sizeof isa, "%s", p->ready[0].isa);
    hone_package_destroy(p);

    outputs_of(DIGITS, NULL, plain, &packed, &told);
    assert_true(packed > 0);
    assert_int_equal(told.kept, 0);
    int passes = told.passes;
    outputs_of(path, NULL, ready, &none, &told);
    assert_memory_equal(plain, ready, sizeof plain);
    assert_int_equal(told.kept, 1);
    assert_int_equal(told.passes, 2); /* those that sizes allow, for each plan */
    assert_true(passes > 2);
    assert_true(none < packed / 10); /* constants that lie badly are copied, none is packed */

    /* Another instruction set packs for itself. */
    if (strcmp(isa, "portable") == 0) return;
    outputs_of(DIGITS, "portable", plain, &packed, &told);
    outputs_of(path, "portable", ready, &none, &told);
    assert_memory_equal(plain, ready, sizeof plain);
    assert_int_equal(told.kept, 0);
    assert_int_equal(none, packed);

    /* Two of them in one package. */
    snprintf(isa + strlen(isa), sizeof isa - strlen(isa), ",portable");
    o.ready = isa;
    ASSERT_OK(hone_package_write(path, DIGITS, &o, &err), err);
    outputs_of(path, "portable", ready, &none, &told);
    assert_memory_equal(plain, ready, sizeof plain);
    assert_int_equal(told.kept, 1);
    assert_true(none < packed / 10);
    o.ready = "abacus";
    ASSERT_FAILS(hone_package_write(path, DIGITS, &o, &err), err, HONE_E_ARG, "abacus");
}

/* The other ways to a package, and a model that was changed since. */
static void ready_models_that_change(void **state) {
    (void)state;
    const char *path = scratch_path("ready.hone");
    hone_package_options o;
    hone_session *s = NULL;
    hone_model *m = NULL;
    hone_package *p = NULL;
    int64_t bytes;
    hone_package_options_init(&o);
    o.ready = "";
    o.ready_dims = "batch=4";
    ASSERT_OK(hone_model_load(&m, DIGITS, NULL, &err), err);
    ASSERT_OK(hone_model_package(m, path, &o, &err), err);
    ASSERT_OK(hone_model_packaged_bytes(m, &o, &bytes, &err), err);
    hone_model_destroy(m);
    ASSERT_OK(hone_package_inspect(&p, path, &err), err);
    assert_int_equal(p->file_bytes, bytes);
    hone_package_destroy(p);

    spans told = {0};
    ASSERT_OK(hone_model_load(&m, path, NULL, &err), err);
    hone_dim_setting fix = {"image", 0, "4"};
    ASSERT_OK(hone_model_set_dims(m, &fix, 1, &err), err);
    hone_span_listen(on_span, &told);
    ASSERT_OK(hone_session_create(&s, m, NULL, &err), err);
    hone_span_listen(NULL, NULL);
    assert_int_equal(told.kept, 0);
    hone_session_destroy(s);
    hone_model_destroy(m);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(packaged_from_a_file),     TEST(packaged_from_memory),       TEST(loaded_from_memory),
        TEST(work_can_be_stopped),      TEST(lines_of_a_recipe_are_told), TEST(ready_to_run),
        TEST(ready_models_that_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
