#include "engine/tune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "support/scratch.h"
#include "support/text_model.h"

/* On two lanes every step leaves a choice: all lanes or one. */
static const char *const text =
    "m (float[48,40] a, float[40,56] b) => (float[48,56] y) {\n"
    "  c = MatMul(a, b)\n"
    "  y = Softmax(c)\n"
    "}";

enum { N_A = 48 * 40, N_B = 40 * 56, N_Y = 48 * 56 };

typedef struct warnings {
    int n;
    char last[300];
} warnings;

/* A pool of more threads than there are cores warns of that. */
static void keep(void *ctx, hone_log_level level, const char *line) {
    warnings *w = ctx;
    if (level > HONE_LOG_WARN || strstr(line, "thread") != NULL) return;
    w->n++;
    snprintf(w->last, sizeof w->last, "%s", line);
}

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = ctx;
    return HONE_OK;
}

/* One run with a tuner (or NULL) on two lanes. */
static hone_status run(hn_model *m, hn_tuner *tuner, float *y, hn_error *err) {
    static float a[N_A], b[N_B];
    hn_rng rng;
    hn_rng_init(&rng, 7);
    for (int i = 0; i < N_A; i++) a[i] = (float)hn_rng_normal(&rng);
    for (int i = 0; i < N_B; i++) b[i] = (float)hn_rng_normal(&rng);
    hn_allocator *usual = hn_allocator_default();
    hn_pool *pool;
    hn_engine *e = NULL;
    hn_tensor *x[2];
    assert_int_equal(hn_pool_create(&pool, 2, usual, NULL), HONE_OK);
    assert_int_equal(
        hn_tensor_create_borrowed(&x[0], usual, HONE_DTYPE_F32, 2, (int64_t[]){48, 40}, a, NULL),
        HONE_OK);
    assert_int_equal(
        hn_tensor_create_borrowed(&x[1], usual, HONE_DTYPE_F32, 2, (int64_t[]){40, 56}, b, NULL),
        HONE_OK);
    hn_engine_options o = {
        .alloc = &model_mem, .pool = pool, .isa = hn_isa_available(), .tuner = tuner};
    hone_status status = hn_engine_create(&e, m, &o, err);
    if (status == HONE_OK)
        status = hn_engine_run(e, (const hn_tensor *const *)x, place, y, NULL, NULL, err);
    hn_engine_destroy(e);
    hn_tensor_unref(x[0]);
    hn_tensor_unref(x[1]);
    hn_pool_destroy(pool);
    return status;
}

/* The same with a tuner of its own; what it did. The result must be `wanted`, bit for bit. */
static hn_tuning tuned(hn_tune_effort effort, const char *path, const float *wanted) {
    static float y[N_Y];
    hn_error err;
    hn_tuner *t;
    assert_int_equal(hn_tuner_create(&t, effort, hn_isa_available(), path, &model_mem, &err),
                     HONE_OK);
    if (run(model_read(text), t, y, &err) != HONE_OK) fail_msg("%s", err.text);
    hn_tuning total = hn_tuner_total(t);
    hn_tuner_destroy(t);
    assert_memory_equal(y, wanted, sizeof y);
    return total;
}

static char *contents(const char *path) {
    static char buffer[8192];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    buffer[fread(buffer, 1, sizeof buffer - 1, f)] = '\0';
    fclose(f);
    return buffer;
}

static void what_was_measured_is_kept(void **state) {
    (void)state;
    static float plain[N_Y];
    warnings w = {0};
    hn_error err;
    const char *path = scratch_path("tuning.txt");
    hone_log_set(keep, &w, HONE_LOG_WARN);
    assert_int_equal(run(model_read(text), NULL, plain, &err), HONE_OK);
    hn_tuning first = tuned(HN_TUNE_FAST, path, plain);
    assert_true(first.measured >= 2 && first.measured == first.problems && first.known == 0);
    assert_true(first.ns > 0);
    assert_memory_equal(contents(path), "hone-tuning/1 hone=", 19);
    hn_tuning second = tuned(HN_TUNE_FULL, path, plain), third = tuned(HN_TUNE_OFF, path, plain);
    assert_true(second.measured == 0 && second.known == first.problems);
    assert_true(third.measured == 0 && third.known == first.problems && third.ns == 0);
    assert_int_equal(third.changed, first.changed);
    assert_int_equal(w.n, 0);
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
}

/* Lines may be edited; one that would change bits is passed over. */
static void the_file_decides_unless_bits_would_change(void **state) {
    (void)state;
    static float plain[N_Y];
    hn_error err;
    const char *path = scratch_path("tuning.txt");
    assert_int_equal(run(model_read(text), NULL, plain, &err), HONE_OK);
    tuned(HN_TUNE_FAST, path, plain);
    char edited[8192] = "", *line = contents(path), *end = strchr(line, '\n');
    size_t used = (size_t)(end - line) + 1;
    memcpy(edited, line, used);
    for (line = end + 1; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char family[64], problem[32];
        assert_int_equal(sscanf(line, "%63s %31s", family, problem), 2);
        used += (size_t)snprintf(edited + used, sizeof edited - used,
                                 "%s %s 2 ref one 1.0 edited\n", family, problem);
    }
    hn_tuning t = tuned(HN_TUNE_OFF, scratch_put_text("tuning.txt", edited), plain);
    assert_true(t.known >= 2);
    assert_int_equal(t.changed, 0);
}

static void a_bad_file_is_ignored_with_a_warning(void **state) {
    (void)state;
    static float plain[N_Y];
    warnings w = {0};
    hn_error err;
    const char *path = scratch_path("good.txt");
    assert_int_equal(run(model_read(text), NULL, plain, &err), HONE_OK);
    tuned(HN_TUNE_FAST, path, plain);
    char good[8192], bad[9000];
    snprintf(good, sizeof good, "%s", contents(path));
    size_t head = strcspn(good, "\n");
    hone_log_set(keep, &w, HONE_LOG_WARN);
    const char *const foreign[] = {"", "\n", "hone-tuning/1", "\177ELF\002",
                                   "hone-tuning/1 hone=0\nx y z\n"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        hn_tuning t = tuned(HN_TUNE_OFF, scratch_put_text("bad.txt", foreign[i]), plain);
        assert_int_equal(w.n, (int)i + 1);
        assert_non_null(strstr(w.last, "not a tuning cache"));
        assert_int_equal(t.known, 0);
    }
    /* Only a cache, or nothing, is written over. */
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        bool cache = foreign[i][0] == '\0' || foreign[i][0] == 'h';
        path = scratch_put_text("bad.txt", foreign[i]);
        assert_true(tuned(HN_TUNE_FAST, path, plain).measured > 0);
        if (cache)
            assert_memory_equal(contents(path), good, head);
        else
            assert_string_equal(contents(path), foreign[i]);
    }
    w.n = 5;
    /* The head of another CPU. */
    snprintf(bad, sizeof bad, "%.*s II%s", (int)head, good, good + head);
    tuned(HN_TUNE_OFF, scratch_put_text("bad.txt", bad), plain);
    assert_int_equal(w.n, 6);
    /* Rows that make no sense, among those that do; the last cut off. */
    snprintf(bad, sizeof bad, "%s%s", good,
             "conv_f32\nnone 12 2 ref one 1 x\nmatmul_f32 zz 2 ref one 1\n"
             "matmul_f32 12 0 ref one 1\nmatmul_f32 12 2 ref two 1\nmatmul_f32 12 2 re");
    hn_tuning t = tuned(HN_TUNE_OFF, scratch_put_text("bad.txt", bad), plain);
    assert_non_null(strstr(w.last, "6 lines make no sense"));
    assert_true(w.n == 7 && t.known >= 2);
    /* A file that cannot be written. */
    tuned(HN_TUNE_FAST, scratch_path("no/such/folder"), plain);
    assert_non_null(strstr(w.last, "not kept"));
    hone_log_set(NULL, NULL, HONE_LOG_WARN);
}

static void memory_may_run_out(void **state) {
    (void)state;
    const char *path = scratch_path("tuning.txt");
    hone_status status = HONE_E_NOMEM;
    for (int i = 0; status != HONE_OK; i++) {
        hn_error err;
        hn_tuner *t = NULL;
        atomic_store(&model_mem.fail_after, i);
        status = hn_tuner_create(&t, HN_TUNE_FAST, hn_isa_available(), path, &model_mem, &err);
        atomic_store(&model_mem.fail_after, -1);
        hn_tuner_destroy(status == HONE_OK ? t : NULL);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
    }
}

static void memory_may_run_out_while_measuring(void **state) {
    (void)state;
    static float y[N_Y];
    hone_status status = HONE_E_NOMEM;
    for (int i = 0; status != HONE_OK; i += 7) {
        hn_error err;
        hn_tuner *t;
        assert_int_equal(
            hn_tuner_create(&t, HN_TUNE_FAST, hn_isa_available(), NULL, &model_mem, &err), HONE_OK);
        hn_model *m = model_read(text);
        atomic_store(&model_mem.fail_after, i);
        status = run(m, t, y, &err);
        atomic_store(&model_mem.fail_after, -1);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        hn_tuner_destroy(t);
    }
}

static int setup(void **state) { return scratch_setup(state) != 0 ? -1 : model_setup(state); }
static int teardown(void **state) {
    return model_teardown(state) != 0 ? -1 : scratch_teardown(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_was_measured_is_kept),
        TEST(the_file_decides_unless_bits_would_change),
        TEST(a_bad_file_is_ignored_with_a_warning),
        TEST(memory_may_run_out),
        TEST(memory_may_run_out_while_measuring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
